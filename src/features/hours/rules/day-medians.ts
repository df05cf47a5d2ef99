/** Day rows for outlooks (plant section 19): medians of what the running machine showed on a UTC day. */

import { median } from "../../../core/lists/median.ts";
import { isOfDamage } from "../../../core/quality.ts";
import type { DayMedians } from "../../../core/query/day-medians.ts";
import type { Kind, Sensor } from "../../../core/sensor.ts";
import {
  type StoredReading,
  storedQuality,
  storedUnits,
  storedValues,
} from "../../../core/stored-reading.ts";
import { valueMount } from "../../../core/value-mount.ts";

/** Kinds that have values with an outlook. */
export const OUTLOOK_KINDS: readonly Kind[] = ["accel", "bands"];

export function hasOutlook(kind: Kind, value: string): boolean {
  if (kind === "bands") return value !== "speed_rpm";
  return kind === "accel" && value.endsWith("_vel_rms");
}

/** Collects the readings of one sensor, kind and day. */
export class DayMedianMaker {
  readonly #sensor: Sensor;
  readonly #kind: Kind;
  readonly #values = new Map<string, { readonly numbers: number[]; unit: string | null }>();
  #readings = 0;

  constructor(sensor: Sensor, kind: Kind) {
    this.#sensor = sensor;
    this.#kind = kind;
  }

  /** @param isRunning false for a reading of a machine that stands, or of which that is unknown */
  add(reading: StoredReading, isRunning: boolean): void {
    this.#readings += 1;
    if (!isRunning) return;
    const units = storedUnits(reading);
    const quality = storedQuality(reading);
    for (const [name, value] of Object.entries(storedValues(reading))) {
      if (typeof value !== "number" || !hasOutlook(this.#kind, name)) continue;
      if (isOfDamage(quality[name])) continue;
      const unit = units[name] ?? null;
      const known = this.#values.get(name);
      // The day on which a unit changes belongs to the new one.
      if (known === undefined || known.unit !== unit)
        this.#values.set(name, { numbers: [value], unit });
      else known.numbers.push(value);
    }
  }

  /**
   * @param signals readings of the running signal; null without one
   * @param known the row made before: where the sensor was by then, a day that is made anew says too
   */
  result(day: number, signals: number | null = null, known?: DayMedians): DayMedians {
    const values = [...this.#values].map(([name, { numbers, unit }]) => {
      const mount = known?.values[name]?.mount ?? valueMount(this.#sensor, name);
      return [name, { median: median(numbers), count: numbers.length, unit, mount }];
    });
    const readings = this.#readings;
    const counts = signals === null ? { readings } : { readings, signals };
    return { day, ...counts, values: Object.fromEntries(values) };
  }
}
