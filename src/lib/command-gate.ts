import type { Clock, Logger } from "../core/ports.ts";

/** Messages examined per second; a person sends one, a script that configures a site ten. */
const LOOKED_AT_PER_S = 20;
/** At most one warning about dropped commands per this time, ms. */
const WARN_EVERY_MS = 10_000;

/** Keeps a flood of requests from blocking the loop: beyond its rate they are counted and not even parsed. */
export class CommandGate {
  readonly #clock: Clock;
  readonly #logger: Logger;
  #second = Number.NaN;
  #seen = 0;
  #ignored = 0;
  #warnedAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** True if the next message may be examined. */
  pass(): boolean {
    const now = this.#clock.monotonic();
    const second = Math.floor(now / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#seen = 0;
    }
    this.#seen += 1;
    if (this.#seen <= LOOKED_AT_PER_S) return true;
    this.#ignored += 1;
    if (now - this.#warnedAt >= WARN_EVERY_MS) {
      this.#logger.warn(
        { ignored: this.#ignored, perSecond: LOOKED_AT_PER_S },
        "commands exceed the rate limit; the excess is dropped without a response",
      );
      this.#warnedAt = now;
      this.#ignored = 0;
    }
    return false;
  }
}
