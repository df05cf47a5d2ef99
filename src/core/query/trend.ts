import { type StoredReading, storedQuality, storedUnits, storedValues } from "../stored-reading.ts";
import { DAY_MS, HOUR_MS } from "../time-units.ts";
import type { HourPoint } from "./ports.ts";
import { addNumber, addSum, emptySum, numberOf, type SeriesSum } from "./series-sum.ts";
import type { Resolution, Trend, TrendLine, TrendSeries } from "./shown.ts";

export type TrendResult = Omit<Trend, "sensor" | "kind" | "formerSensors" | "sinceMs">;

export interface TrendRange {
  readonly fromMs: number;
  readonly toMs: number;
  /** Most buckets. */
  readonly buckets: number;
  /** Null: all values. */
  readonly names: readonly string[] | null;
}

export const SPAN_MS: Readonly<Record<Resolution, number>> = {
  readings: 1,
  hours: HOUR_MS,
  days: DAY_MS,
};

/** A sensor has at most 200 bands beside its speed; this limits what a malicious site file could cause. */
const SERIES_MAX = 256;

/** The resolution that fits a bucket of the range. */
export function resolutionFor({ fromMs, toMs, buckets }: TrendRange): Resolution {
  const bucketMs = (toMs - fromMs) / buckets;
  if (bucketMs >= DAY_MS) return "days";
  return bucketMs >= HOUR_MS ? "hours" : "readings";
}

interface Bucket {
  readonly index: number;
  /** Of its first number, ms. */
  timeMs: number;
  readonly sum: SeriesSum;
}

interface Drawn {
  readonly line: Growing<TrendLine>;
  open: Bucket | null;
  /** Bucket of its newest number. */
  newest: number;
}

/** Takes readings, hours or days in ascending time and keeps `buckets` points per value, for any number of them. */
export class TrendBuckets {
  readonly #resolution: Resolution;
  readonly #range: TrendRange;
  /** The first hour or day of the range, ms: they belong to the range in which they begin. */
  readonly #firstMs: number;
  /** Where the first bucket would begin, ms. */
  readonly #startMs: number;
  readonly #bucketMs: number;
  readonly #wanted: ReadonlySet<string> | null;
  /** By name, then unit. */
  readonly #values = new Map<string, Map<string | null, Drawn>>();
  /** Units by their text. */
  readonly #units = new Map<string, Readonly<Record<string, string>>>();
  /** Buckets of hours are whole UTC days: those that lie within the range may come as days. */
  readonly takesDays: boolean;
  #unitsNow: Readonly<Record<string, string>> = {};
  #readings = 0;

  constructor(resolution: Resolution, range: TrendRange) {
    const spanMs = SPAN_MS[resolution];
    this.#resolution = resolution;
    this.#range = range;
    this.#firstMs = Math.ceil(range.fromMs / spanMs) * spanMs;
    const spans = Math.ceil((range.toMs - range.fromMs) / spanMs);
    const bucketMs = Math.max(1, Math.ceil(spans / range.buckets)) * spanMs;
    this.takesDays = resolution === "hours" && bucketMs > DAY_MS;
    this.#bucketMs = this.takesDays ? Math.ceil(bucketMs / DAY_MS) * DAY_MS : bucketMs;
    this.#startMs = this.takesDays ? Math.floor(this.#firstMs / DAY_MS) * DAY_MS : this.#firstMs;
    this.#wanted = range.names === null ? null : new Set(range.names);
  }

  addReading(reading: StoredReading): void {
    const { timeMs } = reading;
    this.#readings += 1;
    const doubts = storedQuality(reading);
    for (const [name, value] of Object.entries(storedValues(reading))) {
      if (this.#wanted !== null && !this.#wanted.has(name)) continue;
      const doubt = Object.hasOwn(doubts, name) ? doubts[name]?.quality : null;
      const bucket = this.#bucket(name, this.#unitOf(reading.units, name), timeMs);
      if (bucket === null) continue;
      if (doubt === "bad") bucket.sum.bad += 1;
      const number = doubt === "bad" ? null : numberOf(name, value);
      if (number === null) continue;
      if (bucket.sum.count === 0) bucket.timeMs = timeMs;
      addNumber(bucket.sum, number);
      if (doubt !== null) bucket.sum.uncertain += 1;
    }
  }

  addPoint({ startMs, readings, series }: HourPoint): void {
    this.#readings += readings;
    for (const more of series) {
      const bucket = this.#bucket(more.value, more.unit, startMs);
      if (bucket !== null) addSum(bucket.sum, more);
    }
  }

  /** The newest reading of the sensor, whose units are the current ones: a unit may have come back within a bucket. */
  endWith(newest: StoredReading): void {
    this.#unitsNow = storedUnits(newest);
  }

  result(): TrendResult {
    const series: Record<string, TrendSeries> = {};
    for (const [name, byUnit] of this.#values) {
      for (const drawn of byUnit.values()) this.#close(drawn);
      // Of two units in the newest bucket, that of the newest reading, else the one that came last.
      const isNow = ({ line }: Drawn) => Number(line.unit === (this.#unitsNow[name] ?? null));
      const [now, ...others] = [...byUnit.values()]
        .filter(({ line }) => line.timesMs.length > 0)
        .reverse()
        .sort((a, b) => b.newest - a.newest || isNow(b) - isNow(a));
      if (now === undefined) continue;
      series[name] = { ...now.line, formerly: others.reverse().map(({ line }) => line) };
    }
    const { fromMs, toMs } = this.#range;
    return {
      resolution: this.#resolution,
      fromMs,
      toMs,
      bucketMs: this.#bucketMs,
      readings: this.#readings,
      series,
    };
  }

  #unitOf(text: string, name: string): string | null {
    let units = this.#units.get(text);
    if (units === undefined) {
      units = storedUnits({ units: text });
      this.#units.set(text, units);
    }
    return Object.hasOwn(units, name) ? (units[name] ?? null) : null;
  }

  /** The bucket in which this time lies; null for one series too many. */
  #bucket(name: string, unit: string | null, timeMs: number): Bucket | null {
    let byUnit = this.#values.get(name);
    if (byUnit === undefined) {
      if (this.#values.size >= SERIES_MAX) return null;
      byUnit = new Map();
      this.#values.set(name, byUnit);
    }
    let drawn = byUnit.get(unit);
    if (drawn === undefined) {
      if (byUnit.size >= SERIES_MAX) return null;
      drawn = { line: emptyLine(unit), open: null, newest: -1 };
      byUnit.set(unit, drawn);
    }
    const index = Math.floor((timeMs - this.#startMs) / this.#bucketMs);
    if (drawn.open?.index !== index) {
      this.#close(drawn);
      drawn.open = { index, timeMs, sum: emptySum(name, unit) };
    }
    return drawn.open;
  }

  #close(drawn: Drawn): void {
    const { line, open } = drawn;
    drawn.open = null;
    // A bucket with only bad values is a gap in the line, never a zero.
    if (open === null || open.sum.count === 0) return;
    const { count, min, max, mean, uncertain, bad } = open.sum;
    drawn.newest = open.index;
    line.timesMs.push(this.#timeOf(open));
    line.min.push(min);
    line.max.push(max);
    line.mean.push(mean);
    line.count.push(count);
    line.uncertain.push(uncertain);
    line.bad.push(bad);
    line.doubtful.push(uncertain + bad);
  }

  #timeOf({ index, timeMs, sum }: Bucket): number {
    const startMs = this.#startMs + index * this.#bucketMs;
    if (this.#resolution !== "readings") return Math.max(startMs, this.#firstMs);
    return sum.count === 1 ? timeMs : Math.round(startMs + this.#bucketMs / 2);
  }
}

/** With lists that grow. */
type Growing<T> = { [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K] };

const emptyLine = (unit: string | null): Growing<TrendLine> => ({
  unit,
  timesMs: [],
  min: [],
  max: [],
  mean: [],
  count: [],
  uncertain: [],
  bad: [],
  doubtful: [],
});
