/** Day rows for outlooks (plant section 19): medians of what the running machine showed on a UTC day. */

import { median } from "../median.ts";
import { isOfDamage } from "../quality.ts";
import type { Kind, Sensor } from "../sensor.ts";
import { type StoredReading, storedQuality, storedUnits, storedValues } from "../stored-reading.ts";

/** Of one value. */
interface DayMedian {
  readonly median: number;
  /** Readings that it was made of. */
  readonly count: number;
  readonly unit: string | null;
  /** Machine, point, class and axis by then: with another one, an outlook begins anew. */
  readonly mount: string;
}

export interface DayMedians {
  /** Days since 1970-01-01 UTC. */
  readonly day: number;
  /** Readings stored of the day when this was made, running or not. */
  readonly readings: number;
  /** Those of the machine's running signal by then, of that day and the one before; absent without one. */
  readonly signals?: number;
  readonly values: Readonly<Record<string, DayMedian>>;
}

export interface DayMediansOf extends DayMedians {
  readonly sensor: string;
  readonly kind: Kind;
}

export interface DayMedianStore {
  /** How often rows have changed since the start: what was computed of them before is old. */
  readonly changes: number;
  /** Days from `fromDay` up to, without, `toDay`, ascending; those that were never made are left out. */
  of(sensor: string, kind: Kind, fromDay: number, toDay: number): readonly DayMedians[];
  put(rows: readonly DayMediansOf[]): Promise<void>;
  dropBefore(day: number): Promise<void>;
}

/** Kinds that have values with an outlook. */
export const OUTLOOK_KINDS: readonly Kind[] = ["accel", "bands"];

export function hasOutlook(kind: Kind, value: string): boolean {
  if (kind === "bands") return value !== "speed_rpm";
  return kind === "accel" && value.endsWith("_vel_rms");
}

/** What must stay the same while days belong to one row of an outlook. */
export function valueMount(sensor: Sensor, value: string): string {
  const { location, machineClass, limits, sampleRateFactor = 1 } = sensor;
  const channel = value.slice(0, value.indexOf("_"));
  const axis = sensor.channels[channel]?.axis ?? null;
  const mount = [location?.machine, location?.point, machineClass, limits, axis];
  return JSON.stringify(sampleRateFactor === 1 ? mount : [...mount, sampleRateFactor]);
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
