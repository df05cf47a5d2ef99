/** Growth by the time of measurement, not of storing: a backfill or a gateway's outage does not show the normal rate. */

import { DAY_MS, HOUR_MS } from "../../../core/time-units.ts";

/** A rate over less than this is a guess. */
const KNOWN_AFTER_MS = HOUR_MS;
/** Older data is dropped: a day includes all shifts. */
const SPAN_MS = DAY_MS;
const BUCKET_MS = 10 * 60_000;

export class Growth {
  /** Streams of which one complete response was stored: from then on, new readings were measured since. */
  readonly #begun = new Set<number>();
  /** Bytes by bucket of measurement time. */
  readonly #buckets = new Map<number, number>();
  #fromMs: number | null = null;
  #newestMs = Number.NEGATIVE_INFINITY;

  /**
   * A complete response of the stream is stored; `newestMs` null if it was empty. The first one sets the starting
   * point.
   */
  begin(stream: number, newestMs: number | null): void {
    if (this.#begun.has(stream)) return;
    this.#begun.add(stream);
    this.#fromMs ??= newestMs;
  }

  /** A reading was stored, with its samples. */
  note(stream: number, timeMs: number, bytes: number): void {
    if (!this.#begun.has(stream)) return;
    this.#fromMs ??= timeMs;
    if (timeMs <= this.#fromMs) return;
    const bucket = Math.floor(timeMs / BUCKET_MS);
    this.#buckets.set(bucket, (this.#buckets.get(bucket) ?? 0) + bytes);
    if (timeMs <= this.#newestMs) return;
    this.#newestMs = timeMs;
    this.#forget();
  }

  /** Bytes per hour over the last day; null until an hour has passed. */
  bytesPerHour(): number | null {
    if (this.#fromMs === null) return null;
    const spanMs = this.#newestMs - this.#fromMs;
    if (spanMs < KNOWN_AFTER_MS) return null;
    const bytes = [...this.#buckets.values()].reduce((sum, held) => sum + held, 0);
    return bytes > 0 ? (bytes / spanMs) * HOUR_MS : null;
  }

  /** Whole buckets only, so that the rest was measured since `#fromMs`. */
  #forget(): void {
    const first = Math.floor((this.#newestMs - SPAN_MS) / BUCKET_MS);
    if (this.#fromMs === null || this.#fromMs >= first * BUCKET_MS) return;
    this.#fromMs = first * BUCKET_MS;
    for (const bucket of this.#buckets.keys()) if (bucket < first) this.#buckets.delete(bucket);
  }
}
