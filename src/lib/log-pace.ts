/** Lets one log line a minute through for each class of a trouble, and counts what it holds back meanwhile. */
const LINE_MS = 60_000;
/** Classes remembered: kinds of topics and reasons, of which there are few. */
const CLASSES_MAX = 100;

export class LogPace {
  readonly #clock: { monotonic(): number };
  readonly #classes = new Map<string, { at: number; heldBack: number }>();

  constructor(clock: { monotonic(): number }) {
    this.#clock = clock;
  }

  /** Null where a line of this class went out less than a minute ago; else how many were held back since that one. */
  next(name: string): { readonly heldBack: number } | null {
    const now = this.#clock.monotonic();
    const known = this.#classes.get(name);
    if (known !== undefined && now - known.at < LINE_MS) {
      known.heldBack += 1;
      return null;
    }
    if (known === undefined && this.#classes.size >= CLASSES_MAX) this.#classes.clear();
    this.#classes.set(name, { at: now, heldBack: 0 });
    return { heldBack: known?.heldBack ?? 0 };
  }
}
