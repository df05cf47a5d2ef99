/** What hourly values keep of the readings of an hour or a day (plant section 19). */

import type { Reading, Value } from "../reading.ts";
import { intactMembers, storedUnits } from "../stored-reading.ts";

export const HOURS_PER_DAY = 24;

/** One value in one unit. Without a number, `count` is 0 and min, mean and max say nothing. */
export interface SeriesSum {
  readonly value: string;
  readonly unit: string | null;
  /** Numbers, good and uncertain. */
  count: number;
  min: number;
  mean: number;
  max: number;
  /** Uncertain ones among them. */
  uncertain: number;
  /** Readings whose value was bad. */
  bad: number;
}

/** A reading as it is stored: JSON texts. */
export interface ReadingTexts {
  readonly values: string;
  readonly units: string;
  readonly quality: string;
}

const ZONES = "ABCD";

/** Contacts are 0 and 1, zones A to D 1 to 4; null for what has no number. */
export function numberOf(name: string, value: Value): number | null {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return Number(value);
  if (typeof value !== "string" || value.length !== 1 || !name.endsWith("_zone")) return null;
  const zone = ZONES.indexOf(value);
  return zone < 0 ? null : zone + 1;
}

export const emptySum = (value: string, unit: string | null): SeriesSum => ({
  value,
  unit,
  count: 0,
  min: Number.POSITIVE_INFINITY,
  mean: 0,
  max: Number.NEGATIVE_INFINITY,
  uncertain: 0,
  bad: 0,
});

export function addNumber(sum: SeriesSum, number: number): void {
  sum.count += 1;
  sum.min = Math.min(sum.min, number);
  sum.max = Math.max(sum.max, number);
  // Two quotients: the difference of two large numbers may be no double.
  sum.mean += number / sum.count - sum.mean / sum.count;
}

export function addSum(sum: SeriesSum, more: Readonly<SeriesSum>): void {
  sum.uncertain += more.uncertain;
  sum.bad += more.bad;
  if (more.count === 0) return;
  sum.count += more.count;
  sum.min = Math.min(sum.min, more.min);
  sum.max = Math.max(sum.max, more.max);
  const share = more.count / sum.count;
  const step = (more.mean - sum.mean) * share;
  sum.mean = Number.isFinite(step) ? sum.mean + step : sum.mean * (1 - share) + more.mean * share;
}

export const seriesKey = (value: string, unit: string | null) => `${value}\n${unit ?? ""}`;

/** The sums of one sensor and kind. */
export class HourSums {
  /** Readings counted. */
  readings = 0;
  readonly #series = new Map<string, SeriesSum>();
  /** By the text of the units, then the name. */
  readonly #named = new Map<string, Map<string, SeriesSum>>();

  get series(): Iterable<SeriesSum> {
    return this.#series.values();
  }

  /**
   * A reading whose text is damaged counts, without values: it must not keep the others from being counted. False for
   * such a one.
   */
  add(reading: ReadingTexts): boolean {
    this.readings += 1;
    const members = intactMembers(reading);
    if (members !== null) this.#addValues(reading, members);
    return members !== null;
  }

  #addValues(
    reading: ReadingTexts,
    { values, quality: doubts }: Pick<Reading, "values" | "quality">,
  ): void {
    let named = this.#named.get(reading.units);
    if (named === undefined) {
      named = new Map();
      this.#named.set(reading.units, named);
    }
    for (const [name, value] of Object.entries(values)) {
      const doubt = Object.hasOwn(doubts, name) ? doubts[name]?.quality : null;
      const number = doubt === "bad" ? null : numberOf(name, value);
      if (number === null && doubt !== "bad") continue;
      let sum = named.get(name);
      if (sum === undefined) {
        const unit = storedUnits(reading)[name] ?? null;
        sum = this.of(name, unit);
        named.set(name, sum);
      }
      if (number === null) sum.bad += 1;
      else {
        addNumber(sum, number);
        if (doubt !== null) sum.uncertain += 1;
      }
    }
  }

  merge(other: HourSums): void {
    this.readings += other.readings;
    for (const sum of other.series) addSum(this.of(sum.value, sum.unit), sum);
  }

  of(value: string, unit: string | null): SeriesSum {
    const key = seriesKey(value, unit);
    let sum = this.#series.get(key);
    if (sum === undefined) {
      sum = emptySum(value, unit);
      this.#series.set(key, sum);
    }
    return sum;
  }
}
