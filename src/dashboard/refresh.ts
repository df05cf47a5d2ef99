/**
 * What a page reads from the agent again and again, one request after another: over a slow connection, none overtakes the one before, so that
 * each answer is shown. Every request ends, since Api limits its time.
 */
export class Refresh {
  readonly #ask: (signal: AbortSignal) => Promise<() => void>;
  readonly #failed: (error: unknown) => void;
  readonly #timer: ReturnType<typeof setInterval> | undefined;
  #asking: AbortController | null = null;
  #isChanged = false;
  #isStopped = false;

  /**
   * @param ask returns what shows the answer
   * @param every the interval, and whether it may ask now; without one, only changes and choices ask
   */
  constructor(
    ask: (signal: AbortSignal) => Promise<() => void>,
    failed: (error: unknown) => void,
    every?: { readonly ms: number; readonly isDue: () => boolean },
  ) {
    this.#ask = ask;
    this.#failed = failed;
    if (every === undefined) return;
    this.#timer = setInterval(() => {
      if (this.#asking === null && every.isDue()) void this.#run();
    }, every.ms);
  }

  /** What is shown may have changed: asks, and once more if an answer is under way that does not know of it. */
  change(): void {
    if (this.#asking === null) void this.#run();
    else this.#isChanged = true;
  }

  /** Something else is wanted, at once: an answer under way is for what was wanted before. */
  choose(): void {
    this.#asking?.abort();
    void this.#run();
  }

  readonly stop = (): void => {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.#asking?.abort();
  };

  async #run(): Promise<void> {
    if (this.#isStopped) return;
    this.#isChanged = false;
    const asking = new AbortController();
    this.#asking = asking;
    const { signal } = asking;
    try {
      const show = await this.#ask(signal);
      if (!signal.aborted) show();
    } catch (error) {
      if (!signal.aborted) this.#failed(error);
    }
    if (signal.aborted) return;
    this.#asking = null;
    if (this.#isChanged) void this.#run();
  }
}
