/** Exponential back-off with full jitter on the upper half, so that twenty boxes do not retry at once. */
export class Backoff {
  readonly #minMs: number;
  readonly #maxMs: number;
  readonly #random: () => number;
  #failures = 0;

  constructor(minMs: number, maxMs: number, random: () => number = Math.random) {
    this.#minMs = minMs;
    this.#maxMs = maxMs;
    this.#random = random;
  }

  get failures(): number {
    return this.#failures;
  }

  /** Delay before the next try, ms: doubles from min to max with each call until `reset`. */
  next(): number {
    const ceiling = Math.min(this.#maxMs, this.#minMs * 2 ** Math.min(this.#failures, 30));
    this.#failures += 1;
    return Math.round(ceiling * (0.5 + 0.5 * this.#random()));
  }

  reset(): void {
    this.#failures = 0;
  }
}
