import type { Clock } from "../core/ports.ts";

interface Segment {
  readonly fromMs: number;
  readonly offsetMs: number;
}

/**
 * Two times: the plant's (true: used by physics and sensors, perhaps faster than real time) and the gateway's own
 * clock, which may be wrong and may be set. A record keeps the gateway's time at which it was taken.
 */
export class SimulatedClock {
  readonly #clock: Clock;
  #speed: number;
  #startMs: number;
  #startMonotonic: number;
  readonly #segments: Segment[];

  constructor(clock: Clock, options: { speed: number; startMs: number; offsetMs: number }) {
    this.#clock = clock;
    this.#speed = options.speed;
    this.#startMs = options.startMs;
    this.#startMonotonic = clock.monotonic();
    this.#segments = [{ fromMs: Number.NEGATIVE_INFINITY, offsetMs: options.offsetMs }];
  }

  /** The plant's time, ms UTC. */
  trueNow(): number {
    return Math.floor(
      this.#startMs + (this.#clock.monotonic() - this.#startMonotonic) * this.#speed,
    );
  }
  /** From now on the plant runs this many times faster than real time. */
  setSpeed(speed: number): void {
    this.#startMs = this.trueNow();
    this.#startMonotonic = this.#clock.monotonic();
    this.#speed = speed;
  }
  /** The time on the gateway's clock, ms UTC. */
  now(): number {
    return this.trueNow() + this.offsetMs;
  }
  get offsetMs(): number {
    return this.#segments.at(-1)?.offsetMs ?? 0;
  }
  offsetAt(trueMs: number): number {
    for (let i = this.#segments.length - 1; i >= 0; i--) {
      const segment = this.#segments[i];
      if (segment && trueMs >= segment.fromMs) return segment.offsetMs;
    }
    return 0;
  }
  /** Sets the gateway's clock: from now on it is wrong by this much. */
  setOffset(offsetMs: number): void {
    this.#segments.push({ fromMs: this.trueNow(), offsetMs });
  }
  /** The spans of true time in which the gateway's clock showed a time within [from, to). */
  trueRanges(fromMs: number, toMs: number): { fromMs: number; toMs: number }[] {
    return this.#segments
      .map((segment, i) => ({
        fromMs: Math.max(segment.fromMs, fromMs - segment.offsetMs),
        toMs: Math.min(
          this.#segments[i + 1]?.fromMs ?? Number.POSITIVE_INFINITY,
          toMs - segment.offsetMs,
        ),
      }))
      .filter((range) => range.fromMs < range.toMs);
  }
}
