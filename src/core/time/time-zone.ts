/** Calendar days of an IANA zone. Days are calendar days: 23 or 25 h long at a daylight-saving change. */

import { DAY_MS, HOUR_MS } from "../time-units.ts";

const formatters = new Map<string, Intl.DateTimeFormat>();

function formatter(zone: string): Intl.DateTimeFormat {
  let found = formatters.get(zone);
  if (!found) {
    found = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      era: "short",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    });
    formatters.set(zone, found);
  }
  return found;
}

/**
 * A zone's offset is looked up for a span of this length at a time, ms: a look-up costs as much as parsing a small
 * response.
 */
const SPAN_MS = 900_000;

/** Spans and days remembered per zone: those of a year's days, and of the minutes around now. */
const REMEMBERED_MAX = 2_048;

/** Offsets of spans into which no change falls, ms, by zone and span. */
const spans = new Map<string, Map<number, number>>();
/** First instants of days, ms, by zone and day. */
const dayStarts = new Map<string, Map<string, number>>();

/** Keeps a map within its limit; what is dropped is looked up again. */
function remember<K, V>(table: Map<string, Map<K, V>>, zone: string, key: K, value: V): V {
  let known = table.get(zone);
  if (known === undefined) table.set(zone, (known = new Map()));
  if (known.size >= REMEMBERED_MAX) known.clear();
  known.set(key, value);
  return value;
}

/** The time on a wall clock in the zone at an instant, as if it were UTC, ms. */
export function wallClockMs(ms: number, zone: string): number {
  const span = Math.floor(ms / SPAN_MS);
  const known = spans.get(zone)?.get(span);
  if (known !== undefined) return ms + known;
  const startMs = span * SPAN_MS;
  const offsetMs = formattedMs(startMs, zone) - startMs;
  const endMs = startMs + SPAN_MS;
  if (formattedMs(endMs, zone) - endMs !== offsetMs) return formattedMs(ms, zone);
  return ms + remember(spans, zone, span, offsetMs);
}

function formattedMs(ms: number, zone: string): number {
  const part: Record<string, string> = {};
  for (const { type, value } of formatter(zone).formatToParts(ms)) part[type] = value;
  const year = part["era"] === "BC" ? 1 - Number(part["year"]) : Number(part["year"]);
  const date = new Date(0);
  date.setUTCFullYear(year, Number(part["month"]) - 1, Number(part["day"]));
  date.setUTCHours(Number(part["hour"]), Number(part["minute"]), Number(part["second"]));
  return date.getTime() + (((ms % 1000) + 1000) % 1000);
}

/** 2026-11-23 08:49:00 on a wall clock in the zone. */
export function wallClockText(ms: number, zone: string): string {
  return new Date(wallClockMs(ms, zone)).toISOString().slice(0, 19).replace("T", " ");
}

/** Offset of the zone from UTC at an instant, ms (east positive). */
export function zoneOffsetMs(ms: number, zone: string): number {
  return wallClockMs(ms, zone) - ms;
}

/** The calendar day, yyyy-MM-dd, that contains an instant. */
export function dayOf(ms: number, zone: string): string {
  return new Date(wallClockMs(ms, zone)).toISOString().slice(0, 10);
}

/** The day `count` calendar days later (earlier if negative). */
export function addDays(day: string, count: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + count * DAY_MS).toISOString().slice(0, 10);
}

/** First instant of a calendar day, ms. If midnight does not exist, the first instant after the gap. */
export function dayStartMs(day: string, zone: string): number {
  const known = dayStarts.get(zone)?.get(day);
  return known ?? remember(dayStarts, zone, day, firstInstantOf(day, zone));
}

function firstInstantOf(day: string, zone: string): number {
  const wall = Date.parse(`${day}T00:00:00Z`);
  // The offset before and after a change near this midnight; the earliest instant of the day counts.
  const candidates = [wall - DAY_MS, wall, wall + DAY_MS]
    .map((near) => wall - zoneOffsetMs(near, zone))
    .filter((instant) => wallClockMs(instant, zone) === wall);
  if (candidates.length > 0) return Math.min(...candidates);
  // Midnight falls into a gap: step to the first instant of the day.
  let low = wall - 15 * HOUR_MS - DAY_MS;
  let high = wall + 15 * HOUR_MS;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (dayOf(middle, zone) < day) low = middle;
    else high = middle;
  }
  return high;
}

/** First instant after a calendar day, ms. */
export function dayEndMs(day: string, zone: string): number {
  return dayStartMs(addDays(day, 1), zone);
}

/** True for an existing day, written yyyy-MM-dd. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const ms = Date.parse(`${text}T00:00:00Z`);
  return Number.isFinite(ms) && new Date(ms).toISOString().slice(0, 10) === text;
}
