import type { StoredReading } from "../stored-reading.ts";

/** One value over time, downsampled: the lowest and highest of every bucket that has any, so that no spike is lost. */
export interface TrendSeries {
  readonly unit: string | null;
  /** Middle of each bucket, or the reading's own time if a bucket contains one, ms. */
  readonly timesMs: number[];
  readonly min: number[];
  readonly max: number[];
  readonly mean: number[];
  /** Readings of the bucket whose value was not good. */
  readonly doubtful: number[];
}
export interface TrendResult {
  readonly fromMs: number;
  readonly toMs: number;
  readonly bucketMs: number;
  /** Readings examined. */
  readonly readings: number;
  readonly series: Readonly<Record<string, TrendSeries>>;
}
export interface Trend extends TrendResult {
  readonly sensor: string;
  readonly kind: string;
}

/** A sensor has at most about thirty values; this limits what a malicious site file could cause. */
const SERIES_MAX = 64;

const GOOD: Readonly<Record<string, unknown>> = {};

interface Bucket {
  index: number;
  timeMs: number;
  count: number;
  min: number;
  max: number;
  sum: number;
  doubtful: number;
}

/** Takes readings in ascending time and keeps `buckets` points per value, whatever the number of readings. */
export class TrendBuckets {
  readonly #fromMs: number;
  readonly #toMs: number;
  readonly #bucketMs: number;
  readonly #wanted: ReadonlySet<string> | null;
  readonly #series = new Map<string, { series: TrendSeries; open: Bucket | null }>();
  #readings = 0;

  constructor(fromMs: number, toMs: number, buckets: number, names: readonly string[] | null) {
    this.#fromMs = fromMs;
    this.#toMs = toMs;
    this.#bucketMs = Math.max(1, Math.ceil((toMs - fromMs) / buckets));
    this.#wanted = names === null ? null : new Set(names);
  }

  add(reading: StoredReading): void {
    this.#readings += 1;
    const values = JSON.parse(reading.values) as Record<string, unknown>;
    // Most readings are good throughout.
    const quality =
      reading.quality === "{}" ? GOOD : (JSON.parse(reading.quality) as Record<string, unknown>);
    const index = Math.floor((reading.timeMs - this.#fromMs) / this.#bucketMs);
    for (const [name, value] of Object.entries(values)) {
      if (this.#wanted !== null && !this.#wanted.has(name)) continue;
      const number = typeof value === "boolean" ? Number(value) : value;
      const entry = this.#entry(name, reading);
      if (entry === null) continue;
      if (entry.open !== null && entry.open.index !== index) this.#close(entry);
      entry.open ??= {
        index,
        timeMs: reading.timeMs,
        count: 0,
        min: Infinity,
        max: -Infinity,
        sum: 0,
        doubtful: 0,
      };
      if (Object.hasOwn(quality, name)) entry.open.doubtful += 1;
      if (typeof number !== "number") continue;
      entry.open.count += 1;
      entry.open.min = Math.min(entry.open.min, number);
      entry.open.max = Math.max(entry.open.max, number);
      entry.open.sum += number;
    }
  }

  result(): TrendResult {
    for (const entry of this.#series.values()) this.#close(entry);
    const shown = [...this.#series].filter(([, { series }]) => series.timesMs.length > 0);
    return {
      fromMs: this.#fromMs,
      toMs: this.#toMs,
      bucketMs: this.#bucketMs,
      readings: this.#readings,
      series: Object.fromEntries(shown.map(([name, { series }]) => [name, series])),
    };
  }

  #entry(name: string, reading: StoredReading) {
    const found = this.#series.get(name);
    if (found !== undefined) return found;
    if (this.#series.size >= SERIES_MAX) return null;
    const unit = (JSON.parse(reading.units) as Record<string, string>)[name] ?? null;
    const series: TrendSeries = { unit, timesMs: [], min: [], max: [], mean: [], doubtful: [] };
    const entry = { series, open: null as Bucket | null };
    this.#series.set(name, entry);
    return entry;
  }

  #close(entry: { series: TrendSeries; open: Bucket | null }): void {
    const { series, open } = entry;
    entry.open = null;
    // A bucket with only bad values is a gap in the line, never a zero.
    if (open === null || open.count === 0) return;
    const middle = this.#fromMs + (open.index + 0.5) * this.#bucketMs;
    series.timesMs.push(open.count === 1 ? open.timeMs : Math.round(middle));
    series.min.push(open.min);
    series.max.push(open.max);
    series.mean.push(open.sum / open.count);
    series.doubtful.push(open.doubtful);
  }
}
