declare const ASKING: unique symbol;
/**
 * That something may be asked of the agent: aborted once something else is wanted, or the page is left. Every read of the API takes one, and only
 * those who put answers in order hand it out, by a wall.
 */
export type Asking = AbortSignal & { readonly [ASKING]: true };

/**
 * What a page reads from the agent again and again, one request after another: over a slow connection, none overtakes the one before, so that
 * each answer is shown. Every request ends, since Api limits its time.
 */
export class Refresh {
  readonly #ask: (asking: Asking) => Promise<() => void>;
  readonly #failed: (error: unknown) => void;
  readonly #timer: ReturnType<typeof setInterval> | undefined;
  /** Of the newest request. */
  #newest: AbortController | null = null;
  #isAsking = false;
  #isChanged = false;
  #isStopped = false;

  /**
   * @param ask returns what shows the answer
   * @param every the interval, and whether it may ask now; without one, only changes and choices ask
   */
  constructor(
    ask: (asking: Asking) => Promise<() => void>,
    failed: (error: unknown) => void,
    every?: { readonly ms: number; readonly isDue: () => boolean },
  ) {
    this.#ask = ask;
    this.#failed = failed;
    if (every === undefined) return;
    this.#timer = setInterval(() => {
      if (!this.#isAsking && every.isDue()) void this.#run();
    }, every.ms);
  }

  /** What is shown may have changed: asks, and once more if an answer is under way that does not know of it. */
  change(): void {
    if (!this.#isAsking) void this.#run();
    else this.#isChanged = true;
  }

  /** Something else is wanted, at once: an answer under way is for what was wanted before. */
  choose(): void {
    void this.#run();
  }

  readonly stop = (): void => {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.#newest?.abort();
  };

  async #run(): Promise<void> {
    if (this.#isStopped) return;
    this.#isChanged = false;
    this.#newest?.abort();
    this.#newest = new AbortController();
    const { signal } = this.#newest;
    this.#isAsking = true;
    try {
      const show = await this.#ask(signal as Asking);
      if (!signal.aborted) show();
    } catch (error) {
      if (!signal.aborted) this.#failed(error);
    }
    if (signal.aborted) return;
    this.#isAsking = false;
    if (this.#isChanged) void this.#run();
  }
}
