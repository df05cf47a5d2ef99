/** Lets one log line a minute through for each class of a problem, and counts those it suppresses. */
const LINE_MS = 60_000;
/** Classes remembered: kinds of topics and reasons, of which there are few. */
const CLASSES_MAX = 100;

export class LogPace {
  readonly #clock: { monotonic(): number };
  readonly #classes = new Map<string, { at: number; heldBack: number }>();

  constructor(clock: { monotonic(): number }) {
    this.#clock = clock;
  }

  /**
   * Null if a line of this class was logged less than a minute ago; otherwise how many were suppressed since that one.
   */
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
