/** The downsampled series of several values on one time axis, with gaps left open. */
import type { Trend } from "../core/query/shown.ts";

export interface TrendColumn {
  readonly mean: (number | null | undefined)[];
  readonly min: (number | null | undefined)[];
  readonly max: (number | null | undefined)[];
  /** The mean, if some reading behind it was not good. */
  readonly doubtful: (number | null | undefined)[];
}

/** More than this many intervals without a reading is a gap. */
const INTERVALS_MAX = 3;

/** Steps on either side that say which interval was in force at that time. */
const STEPS_AROUND = 9;

/** The usual time between points: used until the agent has learned the interval. */
function usualStepMs(steps: readonly number[]): number {
  return [...steps].sort((a, b) => a - b)[Math.floor(steps.length / 2)] ?? 0;
}

/** The interval at step k, which may have been changed there: the longer of those before and after. 0: too few steps. */
function intervalThen(steps: readonly number[], k: number): number {
  const before = steps.slice(Math.max(0, k - STEPS_AROUND), k);
  const after = steps.slice(k + 1, k + 1 + STEPS_AROUND);
  const sides = [before, after].filter((side) => side.length > 0);
  return Math.max(0, ...sides.map(usualStepMs));
}

/** Hours and days begin at their time; a line passes through their middle. */
export function centred(trend: Trend): Trend {
  if (trend.resolution === "readings") return trend;
  const series = Object.entries(trend.series).map(([name, one]) => [
    name,
    // The newest one is not over yet: its middle is that of what there is of it.
    {
      ...one,
      timesMs: one.timesMs.map((ms) => ms + Math.min(trend.bucketMs, trend.toMs - ms) / 2),
    },
  ]);
  return { ...trend, series: Object.fromEntries(series) };
}

/** `undefined` is "no point of this value here", null is "the line ends here". Times in s; an interval of 0 is unknown. */
export function alignTrend(
  trend: Trend,
  names: readonly string[],
  cadenceMs: number,
): { readonly x: number[]; readonly columns: TrendColumn[] } {
  const times = new Set<number>();
  const holes = names.map(() => new Set<number>());
  for (const [i, name] of names.entries()) {
    const at = trend.series[name]?.timesMs ?? [];
    const steps = at.slice(1).map((ms, k) => ms - (at[k] ?? ms));
    for (const [k, ms] of at.entries()) {
      times.add(ms);
      const next = at[k + 1];
      // Most steps are none, and need no second look.
      if (next === undefined || next - ms <= trend.bucketMs) continue;
      const stepMs = intervalThen(steps, k) || (cadenceMs > 0 ? cadenceMs : usualStepMs(steps));
      const holeMs = Math.max(INTERVALS_MAX * stepMs, 2 * trend.bucketMs + stepMs);
      if (next - ms <= holeMs) continue;
      const middle = Math.round((ms + next) / 2);
      times.add(middle);
      holes[i]?.add(middle);
    }
  }
  const sorted = [...times].sort((a, b) => a - b);
  const columns = names.map((name, i) => columnOf(trend, name, sorted, holes[i] ?? new Set()));
  return { x: sorted.map((ms) => ms / 1000), columns };
}

function columnOf(
  trend: Trend,
  name: string,
  times: readonly number[],
  holes: ReadonlySet<number>,
): TrendColumn {
  const column: TrendColumn = { mean: [], min: [], max: [], doubtful: [] };
  const series = trend.series[name];
  let next = 0;
  for (const ms of times) {
    if (series !== undefined && series.timesMs[next] === ms) {
      const mean = series.mean[next];
      column.mean.push(mean);
      column.min.push(series.min[next]);
      column.max.push(series.max[next]);
      column.doubtful.push((series.doubtful[next] ?? 0) > 0 ? mean : undefined);
      next += 1;
      continue;
    }
    const none = holes.has(ms) ? null : undefined;
    column.mean.push(none);
    column.min.push(none);
    column.max.push(none);
    column.doubtful.push(undefined);
  }
  return column;
}
