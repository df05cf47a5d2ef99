/** Labels of a time axis, by the clock of the gateway alone: the browser's own zone may change its clocks at other times. */
import { wallClockMs } from "../core/time-zone.ts";

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
const HOUR_S = 3_600;
const DAY_S = 24 * HOUR_S;

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
