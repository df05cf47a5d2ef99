import type { Runtime } from "../../../core/ports.ts";
import { DAY_MS, HOUR_MS } from "../../../core/time-units.ts";
import type { Meta } from "../database/meta.ts";

/** A time that nothing else confirms is accepted after this long, ms. */
const BELIEVED_AFTER_MS = HOUR_MS;
/** Name in `meta`: the last time used by retention, ms. */
const MARK = "retention_clock_ms";

export interface RetentionClockParts extends Runtime {
  readonly meta: Pick<Meta, "get" | "set">;
  /** The gateway's clock, ms; null until a response has contained it. */
  readonly gatewayNow: () => number | null;
}

/**
 * The time by which readings age. The gateway's clock if there is one, otherwise the box's; a box that starts with its
 * clock weeks ahead would otherwise remove all history within seconds. A time more than a day ahead of the known one
 * counts once gateway and box agree on it, or after an hour; until then at most a day's worth of readings ages.
 */
export class RetentionClock {
  readonly #parts: RetentionClockParts;
  /** The last accepted time, and when it was accepted, monotonic ms. */
  #mark: { readonly ms: number; readonly at: number } | null = null;
  #doubtedSince: number | null = null;

  constructor(parts: RetentionClockParts) {
    this.#parts = parts;
  }

  /** ms since 1970. */
  now(): number {
    const { clock, logger } = this.#parts;
    const at = clock.monotonic();
    const box = clock.now();
    const gateway = this.#parts.gatewayNow();
    const claimed = gateway ?? box;
    const mark = this.#mark ?? this.#load(at);
    const expected = mark === null ? claimed : mark.ms + (at - mark.at);
    const isAgreed = gateway !== null && Math.abs(gateway - box) < DAY_MS;
    if (isAgreed || claimed <= expected + DAY_MS) return this.#believe(claimed, at);
    if (this.#doubtedSince === null) {
      this.#doubtedSince = at;
      logger.warn(
        { reported: new Date(claimed).toISOString(), expected: new Date(expected).toISOString() },
        "the clock jumped ahead; history is kept until gateway and box agree on the time, for at most an hour",
      );
    }
    if (at - this.#doubtedSince >= BELIEVED_AFTER_MS) return this.#believe(claimed, at);
    return expected + DAY_MS;
  }

  #believe(ms: number, at: number): number {
    this.#doubtedSince = null;
    this.#mark = { ms, at };
    this.#parts.meta.set(MARK, String(Math.round(ms)));
    return ms;
  }

  /** How long the process was away is unknown: the mark counts as of now. */
  #load(at: number): { readonly ms: number; readonly at: number } | null {
    const ms = Number(this.#parts.meta.get(MARK) ?? Number.NaN);
    if (!Number.isFinite(ms)) return null;
    this.#mark = { ms, at };
    return this.#mark;
  }
}
