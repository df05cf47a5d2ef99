import type { StoredReading } from "../stored-reading.ts";

/** One value over time, downsampled: the lowest and highest of every bucket that has any, so that no spike is lost. */
interface TrendSeries {
  readonly unit: string | null;
  /** Middle of each bucket, or the reading's own time if a bucket contains one, ms. */
  readonly timesMs: number[];
  readonly min: number[];
  readonly max: number[];
  readonly mean: number[];
  /** Readings of the bucket whose value was not good. */
  readonly doubtful: number[];
  /** The same value in other units, before its unit was changed; oldest first. */
  readonly formerly?: readonly TrendSeries[];
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
  /** The sensors that were in its place before, oldest first, and until when their readings count. */
  readonly formerSensors?: readonly { readonly sensor: string; readonly untilMs: number }[];
}

/** A sensor has at most about thirty values; this limits what a malicious site file could cause. */
const SERIES_MAX = 64;

const GOOD: Readonly<Record<string, unknown>> = {};

interface Entry {
  readonly series: TrendSeries;
  open: Bucket | null;
}

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
  /** By value, a series for each unit in which it came. */
  readonly #series = new Map<string, Entry[]>();
  #count = 0;
  #readings = 0;
  #units: { readonly text: string; readonly units: Readonly<Record<string, string>> } = {
    text: "{}",
    units: {},
  };

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
    const shown: [string, TrendSeries][] = [];
    for (const [name, entries] of this.#series) {
      for (const entry of entries) this.#close(entry);
      // The newest unit is that of the value; ascending times make it the one that ends last.
      const filled = entries
        .map(({ series }) => series)
        .filter(({ timesMs }) => timesMs.length > 0)
        .sort((a, b) => (a.timesMs.at(-1) ?? 0) - (b.timesMs.at(-1) ?? 0));
      const newest = filled.pop();
      if (newest === undefined) continue;
      shown.push([name, filled.length === 0 ? newest : { ...newest, formerly: filled }]);
    }
    return {
      fromMs: this.#fromMs,
      toMs: this.#toMs,
      bucketMs: this.#bucketMs,
      readings: this.#readings,
      series: Object.fromEntries(shown),
    };
  }

  #entry(name: string, { units }: StoredReading): Entry | null {
    const unit = this.#unit(units, name);
    const entries = this.#series.get(name) ?? [];
    const found = entries.find(({ series }) => series.unit === unit);
    if (found !== undefined) return found;
    if (this.#count >= SERIES_MAX) return null;
    this.#count += 1;
    const series: TrendSeries = { unit, timesMs: [], min: [], max: [], mean: [], doubtful: [] };
    const entry = { series, open: null };
    this.#series.set(name, [...entries, entry]);
    return entry;
  }

  /** Few texts of units differ, so the last one is nearly always this one. */
  #unit(text: string, name: string): string | null {
    if (this.#units.text !== text) this.#units = { text, units: JSON.parse(text) };
    return this.#units.units[name] ?? null;
  }

  #close(entry: Entry): void {
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
