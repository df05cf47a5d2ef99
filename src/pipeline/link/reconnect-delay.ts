/** A delay is never shorter than this part of its maximum: an attempt that fails at once must not become a busy loop. */
const SHORTEST_PART = 0.05;

export interface ReconnectDelayOptions {
  /** Longest pause after a session, ms. */
  readonly firstMs: number;
  /** Longest pause of all, ms. */
  readonly maxMs: number;
  readonly random?: () => number;
}

/**
 * The pause before each attempt to connect. It is drawn from the whole range up to a ceiling (full jitter), also after
 * a good session: when a broker restarts, all its clients lose it in the same moment, and the first pause keeps them
 * from returning in the same second. The ceiling doubles with each attempt, whichever address it goes to.
 */
export class ReconnectDelay {
  readonly #options: ReconnectDelayOptions;
  readonly #random: () => number;
  #attempts = 0;

  constructor(options: ReconnectDelayOptions) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
  }

  /** The next pause, ms. */
  next(): number {
    const { firstMs, maxMs } = this.#options;
    const ceiling = Math.min(maxMs, firstMs * 2 ** Math.min(30, this.#attempts));
    this.#attempts += 1;
    return Math.round(ceiling * (SHORTEST_PART + (1 - SHORTEST_PART) * this.#random()));
  }

  /** A session was good: the next pause is a first one again. */
  reset(): void {
    this.#attempts = 0;
  }
}
