import { isDay } from "../core/time-zone.ts";

/** Offsets change at quarter hours of UTC at the finest, so one look-up serves a whole quarter. */
const QUARTER_MS = 900_000;
const CACHED_QUARTERS_MAX = 50_000;
const DAY_MS = 86_400_000;

/** A time zone of the IANA database, as the simulated gateway's Windows would have it. */
export class TimeZone {
  readonly name: string;
  readonly #format: Intl.DateTimeFormat;
  readonly #offsets = new Map<number, number>();

  /** Throws RangeError for an unknown zone. */
  constructor(name: string) {
    this.name = name;
    this.#format = new Intl.DateTimeFormat("en-US", {
      timeZone: name,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
    });
  }

  /** Offset from UTC valid at that instant, minutes. */
  offsetMinutes(ms: number): number {
    const quarter = Math.floor(ms / QUARTER_MS);
    const known = this.#offsets.get(quarter);
    if (known !== undefined) return known;
    const start = quarter * QUARTER_MS;
    const part: Record<string, number> = {};
    for (const { type, value } of this.#format.formatToParts(start)) part[type] = Number(value);
    const local = Date.UTC(
      part["year"] ?? 0,
      (part["month"] ?? 1) - 1,
      part["day"] ?? 1,
      part["hour"] ?? 0,
      part["minute"] ?? 0,
    );
    const offset = Math.round((local - start) / 60_000);
    if (this.#offsets.size >= CACHED_QUARTERS_MAX) this.#offsets.clear();
    this.#offsets.set(quarter, offset);
    return offset;
  }

  /** Calendar day at that instant, yyyy-MM-dd. */
  dayOf(ms: number): string {
    return new Date(ms + this.offsetMinutes(ms) * 60_000).toISOString().slice(0, 10);
  }

  /** First instant of a calendar day, ms; NaN if it is not a day. */
  startOf(day: string): number {
    const midnight = isDay(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN;
    if (Number.isNaN(midnight)) return Number.NaN;
    // Two rounds: the first guess may use the offset from the other side of a change.
    let start = midnight - this.offsetMinutes(midnight) * 60_000;
    start = midnight - this.offsetMinutes(start) * 60_000;
    // A midnight that does not exist or exists twice: move to the day's real edge.
    while (this.dayOf(start) < day) start += QUARTER_MS;
    while (this.dayOf(start - QUARTER_MS) >= day) start -= QUARTER_MS;
    return start;
  }

  /** First instant after a calendar day, ms. */
  endOf(day: string): number {
    const next = Date.parse(`${day}T00:00:00Z`) + DAY_MS;
    return this.startOf(new Date(next).toISOString().slice(0, 10));
  }
}
