import type { Clock } from "../core/ports.ts";

/** Lets `ratePerS` through, evenly, with bursts of a tenth of a second; 0 lets everything through. */
export class TokenBucket {
  /** 0 = as many as there are. */
  readonly ratePerS: number;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #burst: number;
  #tokens: number;
  #at: number;

  constructor(clock: Pick<Clock, "monotonic">, ratePerS: number) {
    this.#clock = clock;
    this.ratePerS = ratePerS;
    this.#burst = Math.max(1, ratePerS / 10);
    this.#tokens = this.#burst;
    this.#at = clock.monotonic();
  }

  get hasToken(): boolean {
    if (this.ratePerS === 0) return true;
    this.#fill();
    return this.#tokens >= 1;
  }
  /** Until the next token, ms; 0 if there is one. */
  get waitMs(): number {
    if (this.hasToken) return 0;
    return Math.ceil(((1 - this.#tokens) / this.ratePerS) * 1000);
  }
  /** May go below zero: an entry of several messages is sent completely and paid for afterwards. */
  take(count: number): void {
    if (this.ratePerS !== 0) this.#tokens -= count;
  }
  #fill(): void {
    const now = this.#clock.monotonic();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#at) / 1000) * this.ratePerS);
    this.#at = now;
  }
}
