/** Ticks and labels of a time axis, by the clock of the gateway alone: the browser's own zone may change its clocks at other times. */
import { instantOf } from "../core/query/dates.ts";
import { wallClockMs } from "../core/time/time-zone.ts";

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
const HOUR_S = 3_600;
const DAY_S = 24 * HOUR_S;

const DAYS_OF_YEAR = 365;
const DAYS_OF_MONTH = 28;

/**
 * Where ticks stand: at round times on the gateway's clock, so also on a day of 23 or 25 hours. An hour that comes twice has its ticks twice.
 * @param fromS, toS the axis, s @param stepS the distance wanted, s; from 28 days on whole months, from 365 on whole years
 * @returns instants, s, ascending
 */
export function timeTicks(fromS: number, toS: number, stepS: number, zone: string): number[] {
  const walls = wallsBetween(
    // The clock may have gone back meanwhile.
    wallClockMs(fromS * 1000, zone) - DAY_S * 1000,
    wallClockMs(toS * 1000, zone) + DAY_S * 1000,
    stepS,
  );
  const ticks = new Set<number>();
  for (const wallMs of walls) {
    for (const which of ["earlier", "later"] as const) {
      const at = instantOf(wallMs, zone, which);
      // An hour that the clocks skip has none.
      if (wallClockMs(at, zone) === wallMs && at >= fromS * 1000 && at <= toS * 1000)
        ticks.add(at / 1000);
    }
  }
  return [...ticks].sort((a, b) => a - b);
}

/** Round times of a clock, as if it were UTC, ms. */
function wallsBetween(fromMs: number, toMs: number, stepS: number): number[] {
  const walls: number[] = [];
  if (stepS < DAYS_OF_MONTH * DAY_S) {
    const stepMs = stepS * 1000;
    for (let at = Math.ceil(fromMs / stepMs) * stepMs; at <= toMs; at += stepMs) walls.push(at);
    return walls;
  }
  const isInYears = stepS >= DAYS_OF_YEAR * DAY_S;
  const months = isInYears
    ? 12 * Math.round(stepS / (DAYS_OF_YEAR * DAY_S))
    : Math.round(stepS / ((DAYS_OF_YEAR / 12) * DAY_S));
  const first = new Date(fromMs);
  const start = first.getUTCFullYear() * 12 + first.getUTCMonth();
  for (let month = Math.floor(start / months) * months; ; month += months) {
    const at = Date.UTC(Math.floor(month / 12), month % 12);
    if (at > toMs) return walls;
    walls.push(at);
  }
}

const two = (value: number) => String(value).padStart(2, "0");

/** Hours and days as on an operator's clock; the day, or the year, below where it is another one. @param at, stepS s */
export function timeLabels(at: readonly (number | null)[], stepS: number, zone: string): string[] {
  let before = "";
  return at.map((seconds) => {
    if (seconds === null) return "";
    const wall = new Date(wallClockMs(Math.round(seconds * 1000), zone));
    const day = `${wall.getUTCDate()} ${MONTHS[wall.getUTCMonth()]}`;
    const time = `${two(wall.getUTCHours())}:${two(wall.getUTCMinutes())}`;
    const isInDays = stepS >= DAY_S;
    const own = isInDays ? day : stepS >= 60 ? time : `${time}:${two(wall.getUTCSeconds())}`;
    const below = isInDays ? String(wall.getUTCFullYear()) : day;
    const text = below === before ? own : `${own}\n${below}`;
    before = below;
    return text;
  });
}
