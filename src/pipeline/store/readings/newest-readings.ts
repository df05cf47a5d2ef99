import { isFlagged, type Reading } from "../../../core/reading.ts";
import type { JsonValue } from "../../../core/record.ts";
import { type Kind, streamKey } from "../../../core/sensor.ts";
import { type StoredReading, storedQuality, storedValues } from "../../../core/stored-reading.ts";

export interface NewestReading {
  readonly timeMs: number;
  readonly values: Readonly<Record<string, JsonValue>>;
  /** Values that are not good. */
  readonly quality: Readonly<Record<string, { readonly quality: string }>>;
}

/** The newest reading of each sensor and kind, parsed, for frequent readers. Read from the store on first use. */
export class NewestReadings {
  readonly #latest: (sensor: string, kind: Kind) => StoredReading | null;
  readonly #known = new Map<string, NewestReading | null>();

  constructor(latest: (sensor: string, kind: Kind) => StoredReading | null) {
    this.#latest = latest;
  }

  of(sensor: string, kind: Kind): NewestReading | null {
    const key = streamKey(sensor, kind);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const stored = this.#latest(sensor, kind);
    const newest =
      stored === null
        ? null
        : {
            timeMs: stored.timeMs,
            values: storedValues(stored),
            quality: storedQuality(stored),
          };
    this.#known.set(key, newest);
    return newest;
  }

  /** A reading is durable. Late ones, a second one of the newest time, and those dated in the future change nothing. */
  stored(reading: Reading): void {
    if (isFlagged(reading, "time_in_future")) return;
    const key = streamKey(reading.sensor, reading.kind);
    const known = this.#known.get(key);
    if (known !== undefined && (known === null || reading.timeMs > known.timeMs)) {
      const { timeMs, values, quality } = reading;
      this.#known.set(key, { timeMs, values, quality });
    }
  }
}
