/** The paper of a figure, its scales, and the marks along its axes. */

import { addDays, dayOf, dayStartMs, zoneOffsetMs } from "../time/time-zone.ts";
import { DAY_MS, MINUTE_MS } from "../time-units.ts";

import { digits } from "./units.ts";

export interface Tick {
  readonly at: number;
  readonly text: string;
}

interface Scale {
  readonly low: number;
  readonly high: number;
  readonly ticks: readonly number[];
}

/** Round ticks. */
export function axisOf(low: number, highest: number): Scale {
  const span = highest - low || 1;
  const power = 10 ** Math.floor(Math.log10(span / TICKS));
  const part = span / TICKS / power;
  const step = power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
  const [first, last] = [Math.floor(low / step), Math.ceil((low + span) / step)];
  const ticks = Array.from({ length: last - first + 1 }, (_, n) => (first + n) * step);
  return { low: first * step, high: last * step, ticks };
}

/** At most this many powers of ten below the highest. */
const DECADES_MAX = 8;

export function decades(low: number, highest: number): Scale {
  const last = Math.ceil(Math.log10(highest));
  const first = Math.max(last - DECADES_MAX, Math.min(last - 1, Math.floor(Math.log10(low))));
  const ticks = Array.from({ length: last - first + 1 }, (_, n) => 10 ** (first + n));
  return { low: 10 ** first, high: 10 ** last, ticks };
}

/** Ticks of an axis of plain numbers. */
export function roundTicks(from: number, to: number): Tick[] {
  return axisOf(from, to).ticks.map((at) => ({ at, text: digits(at) }));
}

export function yOf({ low, high }: Scale, height: number, isLog: boolean) {
  const of = isLog ? (value: number) => Math.log10(Math.max(value, low)) : (value: number) => value;
  return (value: number) =>
    TOP + (1 - (of(value) - of(low)) / (of(high) - of(low))) * (height - TOP - BOTTOM);
}

export function yAxis(
  { low, high, ticks }: Scale,
  y: (value: number) => number,
  unit: string,
): string {
  const lines = ticks.map(
    (tick) =>
      `<line x1="${LEFT}" x2="${LEFT + INNER}" y1="${at1(y(tick))}" y2="${at1(y(tick))}" stroke="#ddd"/><text x="${LEFT - 6}" y="${at1(y(tick) + 4)}" text-anchor="end">${digits(tick)}</text>`,
  );
  const middle = at1((y(low) + y(high)) / 2);
  return `${lines.join("")}<text transform="translate(13 ${middle}) rotate(-90)" text-anchor="middle">${escapeText(unit)}</text>`;
}

export function xTick(x: number, text: string, height: number): string {
  const foot = height - BOTTOM;
  return `<line x1="${at1(x)}" x2="${at1(x)}" y1="${foot}" y2="${foot + 4}" stroke="#555"/><text x="${at1(x)}" y="${foot + 16}" text-anchor="middle">${escapeText(text)}</text>`;
}

/** Steps within a day, ms. */
const STEPS_MS = [1, 5, 15, 30, 60, 180, 360, 720].map((minutes) => minutes * MINUTE_MS);

const TIME_TICKS = 7;

/** A handful of times of the zone: midnights by their date. */
export function timeTicks(fromMs: number, toMs: number, zone: string): Tick[] {
  const words = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat("en-GB", { timeZone: zone, ...options });
  const [date, time] = [
    words({ day: "numeric", month: "short" }),
    words({ hour: "2-digit", minute: "2-digit" }),
  ];
  const step = STEPS_MS.find((one) => (toMs - fromMs) / one <= TIME_TICKS);
  const every = Math.max(1, Math.ceil((toMs - fromMs) / DAY_MS / TIME_TICKS));
  const ticks: Tick[] = [];
  for (let day = dayOf(fromMs, zone); ; day = addDays(day, every)) {
    const startMs = dayStartMs(day, zone);
    if (startMs > toMs) return ticks;
    ticks.push({ at: startMs, text: date.format(startMs) });
    if (step === undefined) continue;
    const endMs = dayStartMs(addDays(day, 1), zone);
    let last = startMs;
    for (let elapsed = step; elapsed < DAY_MS; elapsed += step) {
      // By the clock on the wall, also on a day of 23 or 25 hours.
      const shiftMs = zoneOffsetMs(startMs, zone) - zoneOffsetMs(startMs + elapsed, zone);
      const at = startMs + elapsed + shiftMs;
      if (at <= last || at >= endMs) continue;
      ticks.push({ at, text: time.format(at) });
      last = at;
    }
  }
}

export const least = (values: readonly number[]) =>
  values.reduce((low, value) => Math.min(low, value), Infinity);

export const WIDTH = 720;

export const LEFT = 56;

const RIGHT = 84;

export const TOP = 12;

export const BOTTOM = 34;

export const INNER = WIDTH - LEFT - RIGHT;

const TICKS = 5;

export function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

export const at1 = (value: number) => value.toFixed(1);
