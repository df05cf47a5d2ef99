/**
 * Robust statistics of short series: median, Theil–Sen slope with Sen's bounds, Mann–Kendall.
 *
 * Sources: P. K. Sen, "Estimates of the regression coefficient based on Kendall's tau", JASA 63 (1968); H. B. Mann,
 * "Nonparametric tests against trend", Econometrica 13 (1945).
 */
import { median } from "../../../core/lists/median.ts";
/** A point of a series; `x` rises. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Standard deviation of Mann–Kendall's S for `n` values without ties. */
function deviationOfS(n: number): number {
  return Math.sqrt((n * (n - 1) * (2 * n + 5)) / 18);
}

/** Mann–Kendall's z, with the continuity correction; above 0 where the series rises. */
export function mannKendall(points: readonly Point[]): number {
  let s = 0;
  points.forEach((later, at) => {
    for (const earlier of points.slice(0, at)) s += Math.sign(later.y - earlier.y);
  });
  return s === 0 ? 0 : (s - Math.sign(s)) / deviationOfS(points.length);
}

export interface Slope {
  readonly slope: number;
  readonly lower: number;
  readonly upper: number;
}

/**
 * The median of the slopes between all pairs, and Sen's bounds of it.
 *
 * @param width the bounds' half width: z times how much wider S spreads than in independent values
 */
export function theilSen(points: readonly Point[], width = 0): Slope {
  const slopes: number[] = [];
  points.forEach((later, at) => {
    for (const earlier of points.slice(0, at))
      slopes.push((later.y - earlier.y) / (later.x - earlier.x));
  });
  slopes.sort((a, b) => a - b);
  const ranks = width * deviationOfS(points.length);
  const rank = (at: number) => slopes[Math.min(slopes.length - 1, Math.max(0, at))] ?? Number.NaN;
  return {
    slope: median(slopes),
    lower: rank(Math.floor((slopes.length - ranks) / 2) - 1),
    upper: rank(Math.ceil((slopes.length + ranks) / 2)),
  };
}
