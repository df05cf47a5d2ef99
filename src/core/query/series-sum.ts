/** Sums of one value over readings, for trends and hourly values. */
import type { Value } from "../reading.ts";

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
