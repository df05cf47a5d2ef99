import { dayEndMs, dayOf, dayStartMs, isDay, zoneOffsetMs } from "../core/time/time-zone.ts";

/** A time zone of the IANA database, as the simulated gateway's Windows would have it. */
export class TimeZone {
  readonly name: string;

  /** Throws RangeError for an unknown zone. */
  constructor(name: string) {
    this.name = name;
    zoneOffsetMs(0, name);
  }

  /** Offset from UTC valid at that instant, whole minutes. */
  offsetMinutes(ms: number): number {
    return Math.round(zoneOffsetMs(ms, this.name) / 60_000);
  }

  /** Calendar day at that instant, yyyy-MM-dd. */
  dayOf(ms: number): string {
    return dayOf(ms, this.name);
  }

  /** First instant of a calendar day, ms; NaN when it is no day. */
  startOf(day: string): number {
    return isDay(day) ? dayStartMs(day, this.name) : Number.NaN;
  }

  /** First instant after a calendar day, ms; NaN when it is no day. */
  endOf(day: string): number {
    return isDay(day) ? dayEndMs(day, this.name) : Number.NaN;
  }
}
