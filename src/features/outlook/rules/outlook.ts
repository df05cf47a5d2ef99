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

import { median, medianDeviation } from "../../../core/lists/median.ts";
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
  /** Theil–Sen slope of the value in the window that says most; null with fewer than three weeks. */
  readonly slopePerDay: number | null;
  /** Day rows of that window. */
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

/** In order: a failed test that came furthest says most; `no_limit` is a growth that no limit is ahead of. */
const VERDICTS = [
  "too_few_days",
  "not_rising",
  "within_noise",
  "step",
  "too_far",
  "no_limit",
] as const;

/** What one window says. */
interface Judged {
  readonly verdict: DayRange | (typeof VERDICTS)[number];
  /** How far back the window reaches. */
  readonly weeks: number;
}

function judgeWindow(
  weeks: readonly Point[],
  newest: Point,
  limit: number | null,
  today: number,
  scatter: number,
): Judged["verdict"] {
  const logs = inLogarithm(weeks);
  const line = theilSen(logs, BOUNDS_WIDTH);
  if (line.slope <= 0 || mannKendall(logs) < KENDALL_MIN) return "not_rising";
  const rise = line.slope * (newest.x - (weeks[0]?.x ?? newest.x));
  const middle = weeks.length >> 1;
  const newer = theilSen(logs.slice(-middle)).slope;
  const older = theilSen(logs.slice(0, middle)).slope;
  if (rise < RISE_MIN || rise < SCATTERS_MIN * scatter) return "within_noise";
  if (Math.min(older, newer) < HALF_SHARE_MIN * line.slope) return "step";
  if (sumOfLine(logs, line.slope) > STEP_SHARE_MAX * sumOfBestStep(logs)) return "step";
  if (limit === null) return "no_limit";
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

/** The one that says most comes first: the range that begins first; of others the one of the shortest window. */
function saysMore(a: Judged, b: Judged): number {
  const [one, other] = [a.verdict, b.verdict];
  if (typeof one === "object" && typeof other === "object") return one.from - other.from;
  return rankOf(other) - rankOf(one);
}

const rankOf = (verdict: Judged["verdict"]) =>
  typeof verdict === "object" ? VERDICTS.length : VERDICTS.indexOf(verdict);

/** Those of the last `count` weeks before today. */
const lastWeeks = (weeks: readonly Point[], today: number, count: number) =>
  weeks.filter(({ x }) => x > today - MIDDLE_BACK - WEEK * count);

/** What the weeks before `today` say, without asking whether they said it for seven days. */
function look(weeks: readonly Point[], today: number, limit: number | null): Judged {
  const newest = weeks.at(-1);
  // A week that ended months ago says nothing of the present.
  if (newest?.x !== today - MIDDLE_BACK) return { verdict: "too_few_days", weeks: WEEKS_MAX };
  const scatter = scatterOf(weeks);
  const judged = WINDOWS_WEEKS.flatMap((count): Judged[] => {
    const window = lastWeeks(weeks, today, count);
    if (window.length < Math.max(6, count * (1 - MISSING_MAX))) return [];
    return [{ verdict: judgeWindow(window, newest, limit, today, scatter), weeks: count }];
  }).sort(saysMore);
  const most = judged[0] ?? { verdict: "too_few_days", weeks: LONGEST_WEEKS };
  if (typeof most.verdict === "string") return most;
  const ends = judged.flatMap(({ verdict }) => (typeof verdict === "object" ? [verdict.to] : []));
  const to = ends.includes(null) ? null : Math.max(...ends.map(Number));
  return { ...most, verdict: { from: most.verdict.from, to } };
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
  const newest = weeks.at(-1);
  const level = newest?.x === today - MIDDLE_BACK ? newest.y : null;
  const isBeyond = limit !== null && level !== null && level >= limit;
  const now = look(weeks, today, isBeyond ? null : limit);
  const window = level === null ? [] : lastWeeks(weeks, today, now.weeks);
  const answer = (outlook: DayRange | null, reason: OutlookReason | null): Outlook => ({
    level,
    slopePerDay: window.length < 3 ? null : theilSen(window).slope,
    days: used.filter(({ day }) => day >= today - WEEK * now.weeks).length,
    outlook,
    reason,
  });
  if (limit === null) return answer(null, "no_limit");
  if (isBeyond) return answer(null, "beyond_limit");
  if (isStanding) return answer(null, "standing");
  if (typeof now.verdict === "string") return answer(null, now.verdict);
  for (let day = today - 1; day > today - DAYS_IN_A_ROW; day -= 1)
    if (typeof look(weeksBefore(day, byDay), day, limit).verdict === "string")
      return answer(null, "within_noise");
  return answer(now.verdict, null);
}
