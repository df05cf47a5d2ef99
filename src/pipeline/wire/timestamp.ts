import type { Timestamp } from "../../core/record.ts";

const WIRE_TIME = /^\\?\/Date\((-?\d+)([+-]\d{4})?\)\\?\/$/;
const ISO_TIME =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:([Zz])|([+-])(\d\d)(?::?(\d\d))?)$/;

/** Largest instant that a Date can hold, ms (ECMAScript time value). */
const INSTANT_MAX_MS = 8.64e15;
const OFFSET_MAX_MINUTES = 14 * 60;

/** Devices write earlier times for "unset" (services section 3.2). */
const EARLIEST_PLAUSIBLE_MS = Date.UTC(2000, 0, 1);

export function isPlausibleTime(ms: number): boolean {
  return ms >= EARLIEST_PLAUSIBLE_MS;
}

/**
 * Reads `/Date(ms±hhmm)/`; null for anything else. The offset never shifts the instant (signal-definitions section 9).
 */
export function parseWireTime(text: unknown): Timestamp | null {
  if (typeof text !== "string") return null;
  const match = WIRE_TIME.exec(text);
  if (!match) return null;
  const ms = Number(match[1]) + 0; // Adding zero turns -0 into 0.
  if (Math.abs(ms) > INSTANT_MAX_MS) return null;
  const zone = match[2];
  if (zone === undefined) return { ms, offsetMinutes: null };
  const offsetMinutes = offset(zone[0] ?? "+", Number(zone.slice(1, 3)), Number(zone.slice(3)));
  return offsetMinutes === null ? null : { ms, offsetMinutes };
}

/** Reads ISO 8601 with `Z` or an offset; null for text without a zone, which could be any instant (services 3.2). */
export function parseIsoTime(text: string): Timestamp | null {
  const match = ISO_TIME.exec(text.trim());
  if (!match) return null;
  const part = (index: number) => Number(match[index] ?? 0);
  const [year, month, day] = [part(1), part(2), part(3)];
  const [hour, minute, second] = [part(4), part(5), part(6)];
  if (hour > 23 || minute > 59 || second > 59) return null;
  const milliseconds = Number((match[7] ?? "").padEnd(3, "0").slice(0, 3));
  const local = new Date(0);
  local.setUTCFullYear(year, month - 1, day);
  local.setUTCHours(hour, minute, second, milliseconds);
  if (local.getUTCMonth() !== month - 1 || local.getUTCDate() !== day) return null;
  const offsetMinutes = match[8] ? 0 : offset(match[9] ?? "+", part(10), part(11));
  if (offsetMinutes === null) return null;
  return { ms: local.getTime() - offsetMinutes * 60_000, offsetMinutes };
}

/** Whether a text is an ISO date and time that says neither `Z` nor an offset. */
export function isWithoutZone(text: string): boolean {
  return !ISO_TIME.test(text.trim()) && ISO_TIME.test(`${text.trim()}Z`);
}

/** .NET's DateTimeOffset as its serialiser writes it: the instant is DateTime's, the offset is information. */
export function parseTimeWithOffset(value: unknown): Timestamp | null {
  if (typeof value !== "object" || value === null) return null;
  const time = parseWireTime(Reflect.get(value, "DateTime"));
  const minutes: unknown = Reflect.get(value, "OffsetMinutes");
  if (time === null || typeof minutes !== "number" || !Number.isInteger(minutes)) return null;
  if (Math.abs(minutes) > OFFSET_MAX_MINUTES) return null;
  return { ms: time.ms, offsetMinutes: minutes + 0 };
}

function offset(sign: string, hours: number, minutes: number): number | null {
  const total = hours * 60 + minutes;
  if (minutes > 59 || total > OFFSET_MAX_MINUTES) return null;
  return sign === "-" && total > 0 ? -total : total;
}
