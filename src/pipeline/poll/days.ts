import { addDays, dayEndMs, dayOf } from "../../core/time/time-zone.ts";
import { HOUR_MS } from "../../core/time-units.ts";

/** This long after its end a day is closed: it gets one last read and is then not read any more. */
const DAY_CLOSES_AFTER_MS = 26 * HOUR_MS;
/** Read interval between the late grace period and the closing of a day. */
const LATE_INTERVAL_MS = 30 * 60_000;

export interface DayRules {
  /** IANA zone of the gateway's calendar days. */
  readonly zone: string;
  readonly lateGraceMs: number;
  readonly backfillDays: number;
}

/** True at a time after a day has closed: no more records are added to it. */
export function isClosed(day: string, zone: string, atMs: number | null): boolean {
  return atMs !== null && atMs >= dayEndMs(day, zone) + DAY_CLOSES_AFTER_MS;
}

/** today: the current day · late: ended, still open for late records · missed: closed, but not read since it closed. */
type DayPhase = "today" | "late" | "missed";

export interface DayDue {
  readonly phase: DayPhase;
  /** Not before this instant of the gateway's clock, ms. For today the sensor's interval decides (next-read.ts). */
  readonly dueAtMs: number;
}

/**
 * The days that count as today: by the configured zone, and by the offset in the gateway's own records if that gives
 * another day (a wrong zone setting, or the minutes around midnight): then both are read.
 */
export function currentDays(
  gatewayNowMs: number,
  zone: string,
  recordOffsetMinutes: number | null,
): [string, ...string[]] {
  const byZone = dayOf(gatewayNowMs, zone);
  if (recordOffsetMinutes === null) return [byZone];
  const byRecord = new Date(gatewayNowMs + recordOffsetMinutes * 60_000).toISOString().slice(0, 10);
  return byRecord === byZone ? [byZone] : [byZone, byRecord];
}

/** Every day that may be due now, today first, then backwards. */
export function openDays(
  gatewayNowMs: number,
  rules: DayRules,
  recordOffsetMinutes: number | null,
): string[] {
  const current = currentDays(gatewayNowMs, rules.zone, recordOffsetMinutes);
  const today = current[0];
  // Two days back may still be a day that ended less than 26 h ago.
  const reach = Math.max(2, rules.backfillDays);
  const past = Array.from({ length: reach }, (_, index) => addDays(today, -1 - index));
  return [...current, ...past.filter((day) => !current.includes(day))];
}

/**
 * When a day should be read next; null if it needs no further read.
 * @param lastOkAtMs gateway time of its last good read by this process, null if there was none
 * @param intervalMs the normal interval of this sensor
 */
export function dayDue(
  day: string,
  gatewayNowMs: number,
  rules: DayRules,
  lastOkAtMs: number | null,
  intervalMs: number,
  recordOffsetMinutes: number | null = null,
): DayDue | null {
  if (currentDays(gatewayNowMs, rules.zone, recordOffsetMinutes).includes(day)) {
    return { phase: "today", dueAtMs: lastOkAtMs === null ? 0 : lastOkAtMs + intervalMs };
  }
  const endMs = dayEndMs(day, rules.zone);
  if (gatewayNowMs < endMs) return null; // A future day.
  const closesMs = endMs + DAY_CLOSES_AFTER_MS;
  if (gatewayNowMs < closesMs) {
    if (lastOkAtMs === null || lastOkAtMs < endMs) return { phase: "late", dueAtMs: 0 };
    const step = gatewayNowMs < endMs + rules.lateGraceMs ? intervalMs : LATE_INTERVAL_MS;
    return { phase: "late", dueAtMs: Math.min(lastOkAtMs + step, closesMs) };
  }
  const isInReach = day >= addDays(dayOf(gatewayNowMs, rules.zone), -rules.backfillDays);
  if (lastOkAtMs !== null && lastOkAtMs >= closesMs) return null;
  // A day that this process has read gets its closing read even if BACKFILL_DAYS is 0.
  return isInReach || lastOkAtMs !== null ? { phase: "missed", dueAtMs: 0 } : null;
}
