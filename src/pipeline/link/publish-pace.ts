import type { Clock } from "../../core/ports.ts";
import { HOUR_MS } from "../../core/time-units.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";

/** The first guess where a platform has not documented what it lets through, publishes per second; halved while it is too many. */
const GUESS_PER_S = 40;

/**
 * Publishes per second of a link: what the platform documents. One that ends a session because of its rate would end each
 * following one by the same burst, so they are slower, for an hour.
 */
export class PublishPace {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #documented: TokenBucket;
  #learned: { readonly bucket: TokenBucket; readonly untilMs: number } | null = null;

  /** 0: nothing is documented. */
  constructor(clock: Pick<Clock, "monotonic">, ratePerS: number) {
    this.#clock = clock;
    this.#documented = new TokenBucket(clock, ratePerS);
  }

  /** For the next session. */
  get bucket(): TokenBucket {
    if (this.#learned !== null && this.#clock.monotonic() < this.#learned.untilMs)
      return this.#learned.bucket;
    this.#learned = null;
    return this.#documented;
  }

  /** A session was ended because it sent too much. */
  exceeded(): void {
    const rate = this.bucket.ratePerS || 2 * GUESS_PER_S;
    const bucket = new TokenBucket(this.#clock, Math.max(1, rate / 2));
    this.#learned = { bucket, untilMs: this.#clock.monotonic() + HOUR_MS };
  }
}
