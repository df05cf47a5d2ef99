/** Query-service dates without a zone: read and written in the gateway's zone (services sections 4.1 and 6). */

import { dayEndMs, dayStartMs, isDay, wallClockMs, zoneOffsetMs } from "../time/time-zone.ts";
import { DAY_MS } from "../time-units.ts";

const INSTANT = /^(\d{4}-\d{2}-\d{2}) (\d{2}):(\d{2}):(\d{2})$/;

/** The content of a date field: a whole day, or the time on a wall clock (as if it were UTC). */
export type QueryDate =
  | { readonly form: "day"; readonly day: string }
  | { readonly form: "instant"; readonly wallMs: number };

/** Null for anything but `yyyy-MM-dd` and `yyyy-MM-dd HH:mm:ss` that exist in the calendar. */
export function readDate(text: string): QueryDate | null {
  const trimmed = text.trim();
  if (isDay(trimmed)) return { form: "day", day: trimmed };
  const match = INSTANT.exec(trimmed);
  const [day, hour, minute, second] = [match?.[1], match?.[2], match?.[3], match?.[4]];
  if (day === undefined || !isDay(day)) return null;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return null;
  return { form: "instant", wallMs: Date.parse(`${day}T${hour}:${minute}:${second}Z`) };
}

/**
 * The instant at which a wall clock of the zone shows this time. A time that occurs twice is the earlier or the later
 * one as requested; one that does not exist is shifted forward by the gap.
 */
export function instantOf(wallMs: number, zone: string, which: "earlier" | "later"): number {
  const offsetBefore = zoneOffsetMs(wallMs - DAY_MS, zone);
  const candidates = [offsetBefore, zoneOffsetMs(wallMs, zone), zoneOffsetMs(wallMs + DAY_MS, zone)]
    .map((offset) => wallMs - offset)
    .filter((instant) => wallClockMs(instant, zone) === wallMs);
  if (candidates.length === 0) return wallMs - offsetBefore;
  return which === "earlier" ? Math.min(...candidates) : Math.max(...candidates);
}

/** First instant of a range that starts with this date, ms. */
export function startMs(date: QueryDate, zone: string): number {
  return date.form === "day" ? dayStartMs(date.day, zone) : instantOf(date.wallMs, zone, "earlier");
}

/**
 * First instant after a range that ends with this date, ms. Ranges of instants include both ends, and a second is the
 * whole second: responses show no milliseconds, so the date of a returned row finds that row again.
 */
export function endMs(date: QueryDate, zone: string): number {
  return date.form === "day"
    ? dayEndMs(date.day, zone)
    : instantOf(date.wallMs, zone, "later") + 1000;
}

/** True if the dates as written leave no time between them, even if the zone's clock changes then. */
export function isWrittenAfter(start: QueryDate, end: QueryDate): boolean {
  const startWallMs = start.form === "day" ? Date.parse(start.day) : start.wallMs;
  const endWallMs = end.form === "day" ? Date.parse(end.day) + DAY_MS - 1 : end.wallMs;
  return startWallMs > endWallMs;
}

/** Offsets are constant for at least a quarter of an hour in every zone. */
const OFFSET_SLOT_MS = 900_000;
/** Slots remembered: a year of quarter hours is 35,000. */
const SLOTS_MAX = 5_000;

/** 00 … 59. */
const TWO_DIGITS = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, "0"));

/**
 * Writes local times; caches offsets and the day's text, because looking up the zone's rules or making a date for every row
 * would cost more than the row.
 */
export class LocalTime {
  readonly #zone: string;
  readonly #offsets = new Map<number, number>();
  #last = { slot: Number.NaN, offset: 0 };
  #date = { day: Number.NaN, text: "" };

  constructor(zone: string) {
    this.#zone = zone;
  }

  /** `yyyy-MM-dd HH:mm:ss`. */
  dashed(ms: number): string {
    const localMs = ms + this.#offset(ms);
    const day = Math.floor(localMs / DAY_MS);
    if (day !== this.#date.day)
      this.#date = { day, text: new Date(day * DAY_MS).toISOString().slice(0, -14) };
    const seconds = Math.floor((localMs - day * DAY_MS) / 1000);
    const hour = TWO_DIGITS[Math.floor(seconds / 3600)];
    const minute = TWO_DIGITS[Math.floor(seconds / 60) % 60];
    return `${this.#date.text} ${hour}:${minute}:${TWO_DIGITS[seconds % 60]}`;
  }
  /** `yyyy/MM/dd HH:mm:ss`. */
  slashed(ms: number): string {
    return this.dashed(ms).replace("-", "/").replace("-", "/");
  }

  #offset(ms: number): number {
    const slot = Math.floor(ms / OFFSET_SLOT_MS);
    if (slot !== this.#last.slot) this.#last = { slot, offset: this.#offsetOf(slot) };
    return this.#last.offset;
  }

  #offsetOf(slot: number): number {
    const known = this.#offsets.get(slot);
    if (known !== undefined) return known;
    if (this.#offsets.size >= SLOTS_MAX) this.#offsets.clear();
    const offset = zoneOffsetMs(slot * OFFSET_SLOT_MS, this.#zone);
    this.#offsets.set(slot, offset);
    return offset;
  }
}
