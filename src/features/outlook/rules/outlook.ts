/**
 * When a rising value will reach its limit: a range of days, or the reason why none is told. A pure function of the day rows.
 *
 * It is made to be silent on a healthy machine, which is looked at every day for years: weekly medians take out weekdays and
 * the day-to-day memory of a process; a trend must be steep beside the scatter from week to week, stand in both halves of
 * its window, fit a line better than a step, and hold for seven days in a row. Mann–Kendall alone on daily medians tells 36
 * to 94 % of healthy years. `scripts/features/outlook/trial.ts` prints what this rule does on simulated machines.
 *
 * The range: a fault that grows by a share of itself each week reaches the limit sooner than one that grows evenly. `from`
 * follows the former at its steepest, `to` the latter at its slowest.
 */

import { median, medianDeviation } from "../../../core/median.ts";
import { mannKendall, type Point, theilSen } from "./robust.ts";
import type { OutlookReason } from "./words.ts";

/** One UTC day of one value on the running machine. */
export interface DayRow {
  /** Days since 1970-01-01 UTC. */
  readonly day: number;
  readonly median: number;
  /** Readings that the median was made of. */
  readonly count: number;
}

/** Days since 1970-01-01 UTC; `to` is null where the slowest growth that the data allow never gets there. */
interface DayRange {
  readonly from: number;
  readonly to: number | null;
}

export interface Outlook {
  /** Median of the newest week; null without one. */
  readonly level: number | null;
  /** Theil–Sen slope of the value; null with fewer than three weeks. */
  readonly slopePerDay: number | null;
  /** Day rows that it rests on. */
  readonly days: number;
  readonly outlook: DayRange | null;
  /** Why there is no outlook; null if there is one. */
  readonly reason: OutlookReason | null;
}

const WEEK = 7;
const WINDOWS_WEEKS = [6, 8, 12, 16];
const LONGEST_WEEKS = Math.max(...WINDOWS_WEEKS);
const WEEKS_MAX = 26;
/** Weeks of a window that may lack days, as a share: a plant stands over Christmas. */
const MISSING_MAX = 0.25;
const DAYS_OF_WEEK_MIN = 4;
const DAYS_IN_A_ROW = 7;
const KENDALL_MIN = 2.6;
const RISE_MIN = Math.log(1.25);
const SCATTERS_MIN = 8;
/** A normal distribution's standard deviation by its median absolute deviation. */
const SIGMA_PER_MAD = 1.4826;
const HALF_SHARE_MIN = 0.5;
const STEP_SHARE_MAX = 0.55;
const DAYS_AHEAD_MAX = 180;
/** z of 95 %; weeks that remember each other spread S by 1.4. */
const BOUNDS_WIDTH = 1.96 * 1.4;
const EARLY_SHARE = 2 / 3;
/** Day of a week's middle, back from the day after its end. */
const MIDDLE_BACK = 4;

/** Weekly medians of the value, by the day in the middle of the week, oldest first; `today` is not over and does not count. */
function weeksBefore(today: number, byDay: ReadonlyMap<number, number>): Point[] {
  const weeks: Point[] = [];
  for (let week = WEEKS_MAX - 1; week >= 0; week -= 1) {
    const end = today - WEEK * week;
    const values: number[] = [];
    for (let day = end - WEEK; day < end; day += 1) {
      const value = byDay.get(day);
      if (value !== undefined && value > 0) values.push(value);
    }
    if (values.length >= DAYS_OF_WEEK_MIN) weeks.push({ x: end - MIDDLE_BACK, y: median(values) });
  }
  return weeks;
}

const inLogarithm = (weeks: readonly Point[]) => weeks.map(({ x, y }) => ({ x, y: Math.log(y) }));

/** What one window of weeks says. */
function judgeWindow(
  weeks: readonly Point[],
  limit: number,
  today: number,
  scatter: number,
): DayRange | Exclude<OutlookReason, "no_limit" | "standing" | "beyond_limit"> {
  const logs = inLogarithm(weeks);
  const line = theilSen(logs, BOUNDS_WIDTH);
  if (line.slope <= 0 || mannKendall(logs) < KENDALL_MIN) return "not_rising";
  const [oldest, newest] = [weeks[0], weeks.at(-1)];
  if (oldest === undefined || newest === undefined) return "too_few_days";
  const rise = line.slope * (newest.x - oldest.x);
  const middle = weeks.length >> 1;
  const newer = theilSen(logs.slice(-middle)).slope;
  const older = theilSen(logs.slice(0, middle)).slope;
  if (rise < RISE_MIN || rise < SCATTERS_MIN * scatter) return "within_noise";
  if (Math.min(older, newer) < HALF_SHARE_MIN * line.slope) return "step";
  if (sumOfLine(logs, line.slope) > STEP_SHARE_MAX * sumOfBestStep(logs)) return "step";
  const even = theilSen(weeks, BOUNDS_WIDTH);
  const ahead = limit - newest.y;
  const grown = Math.log(limit / newest.y);
  // From the middle of the newest week, which is some days back.
  const past = today - newest.x;
  if (Math.min(ahead / even.slope, grown / line.slope) - past > DAYS_AHEAD_MAX) return "too_far";
  const from = newest.x + (EARLY_SHARE * grown) / Math.max(line.upper, newer);
  return {
    from: Math.max(today, Math.floor(from)),
    to: even.lower > 0 ? Math.max(today, Math.ceil(newest.x + ahead / even.lower)) : null,
  };
}

/** Sum of the absolute residuals of the line of this slope through the medians. */
function sumOfLine(points: readonly Point[], slope: number): number {
  return sumOfLevel(points.map(({ x, y }) => y - slope * x));
}

function sumOfLevel(values: readonly number[]): number {
  const level = median(values);
  return values.reduce((sum, value) => sum + Math.abs(value - level), 0);
}

/** The same of the best two levels, one after the other. */
function sumOfBestStep(points: readonly Point[]): number {
  const values = points.map(({ y }) => y);
  let best = Number.POSITIVE_INFINITY;
  for (let at = 1; at < values.length; at += 1)
    best = Math.min(best, sumOfLevel(values.slice(0, at)) + sumOfLevel(values.slice(at)));
  return best;
}

/** From week to week, over half a year, in logarithms. */
function scatterOf(weeks: readonly Point[]): number {
  const logs = inLogarithm(weeks);
  const changes = logs.slice(1).map((week, at) => week.y - (logs[at]?.y ?? Number.NaN));
  return (SIGMA_PER_MAD * medianDeviation(changes)) / Math.SQRT2;
}

/** A failed test that came furthest says most. */
const FURTHEST: readonly OutlookReason[] = [
  "too_few_days",
  "not_rising",
  "within_noise",
  "step",
  "too_far",
];

/** What the days before `today` say, without asking whether they said it for a week. */
function look(
  byDay: ReadonlyMap<number, number>,
  today: number,
  limit: number,
): DayRange | OutlookReason {
  const weeks = weeksBefore(today, byDay);
  if (weeks.at(-1)?.x !== today - MIDDLE_BACK) return "too_few_days";
  const scatter = scatterOf(weeks);
  const told: DayRange[] = [];
  let furthest = 0;
  for (const count of WINDOWS_WEEKS) {
    const window = weeks.filter(({ x }) => x > today - MIDDLE_BACK - WEEK * count);
    if (window.length < Math.ceil(count * (1 - MISSING_MAX)) || window.length < 6) continue;
    const judged = judgeWindow(window, limit, today, scatter);
    if (typeof judged === "string") furthest = Math.max(furthest, FURTHEST.indexOf(judged));
    else told.push(judged);
  }
  if (told.length === 0) return FURTHEST[furthest] ?? "too_few_days";
  const latest = Math.max(...told.map(({ to }) => to ?? Number.POSITIVE_INFINITY));
  return {
    from: Math.min(...told.map(({ from }) => from)),
    to: latest === Number.POSITIVE_INFINITY ? null : latest,
  };
}

/**
 * The outlook of one value.
 *
 * @param rows its days since the last change of machine, point, class, axis or unit, in any order
 * @param limit the next limit above it, in the value's unit; null if none applies
 * @param today days since 1970-01-01 UTC; rows of it and after it do not count
 * @param isStanding the machine does not run now
 */
export function outlookOf(
  rows: readonly DayRow[],
  limit: number | null,
  today: number,
  isStanding = false,
): Outlook {
  const used = rows.filter(({ day }) => day < today && day >= today - WEEK * WEEKS_MAX);
  const byDay = new Map(used.map((row) => [row.day, row.median]));
  const weeks = weeksBefore(today, byDay);
  const longest = weeks.filter(({ x }) => x > today - MIDDLE_BACK - WEEK * LONGEST_WEEKS);
  // A week that ended months ago says nothing of the present.
  const newest = weeks.at(-1);
  const level = newest?.x === today - MIDDLE_BACK ? newest.y : null;
  const answer = (outlook: DayRange | null, reason: OutlookReason | null): Outlook => ({
    level,
    slopePerDay: longest.length < 3 ? null : theilSen(longest).slope,
    days: used.length,
    outlook,
    reason,
  });
  if (limit === null) return answer(null, "no_limit");
  if (level !== null && level >= limit) return answer(null, "beyond_limit");
  if (isStanding) return answer(null, "standing");
  const now = look(byDay, today, limit);
  if (typeof now === "string") return answer(null, now);
  for (let back = 1; back < DAYS_IN_A_ROW; back += 1)
    if (typeof look(byDay, today - back, limit) === "string") return answer(null, "within_noise");
  return answer(now, null);
}
