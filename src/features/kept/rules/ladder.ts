/**
 * Which measurements stay for years (plant section 19): all of them for WAVEFORM_DAYS, then the best of each UTC day for 90
 * days, of each week until 820 days after that time, and of each month.
 */
import { DAY_MS } from "../../../core/time-units.ts";
export type Rung = 1 | 2 | 3;

/** What a measurement is rated by. */
export interface Rated {
  readonly timeMs: number;
  readonly id: string;
  /** Of a machine without a `running` signal every measurement counts as running. */
  readonly isRunning: boolean;
  /** Shaft speed at that time, r/min; null while unknown. */
  readonly speedRpm: number | null;
  /** The median speed of the running machine over 30 days, r/min; null while unknown. */
  readonly usualRpm: number | null;
}

/** How long one a day and one a week stay, after samples are whole no more, ms. */
const DAILY_MS = 90 * DAY_MS;
const WEEKLY_MS = 820 * DAY_MS;
/** 1970-01-01 was a Thursday; weeks begin on Mondays. */
const MONDAY_MS = 4 * DAY_MS;

export const DAY: Rung = 1;
export const WEEK: Rung = 2;
export const MONTH: Rung = 3;

/** Until when measurements have left a rung, ms. @param wholeUntilMs until when samples are whole no more */
export function rungEndMs(rung: Rung, wholeUntilMs: number): number {
  return wholeUntilMs - (rung === DAY ? DAILY_MS : WEEKLY_MS);
}

export interface Period {
  readonly fromMs: number;
  /** Excluded. */
  readonly toMs: number;
}

/** The day, week or month (UTC) of a time. */
export function periodOf(rung: Rung, timeMs: number): Period {
  if (rung === DAY) return spanOf(timeMs, DAY_MS, 0);
  if (rung === WEEK) return spanOf(timeMs, 7 * DAY_MS, MONDAY_MS);
  const time = new Date(timeMs);
  const [year, month] = [time.getUTCFullYear(), time.getUTCMonth()];
  return { fromMs: Date.UTC(year, month), toMs: Date.UTC(year, month + 1) };
}

function spanOf(timeMs: number, lengthMs: number, startMs: number): Period {
  const fromMs = startMs + Math.floor((timeMs - startMs) / lengthMs) * lengthMs;
  return { fromMs, toMs: fromMs + lengthMs };
}

/**
 * Whether one of two measurements of a period is kept rather than the other: of the running machine nearest to its usual
 * speed; without a speed the newest running; the newest where none ran. A total order.
 */
export function isBetter(one: Rated, other: Rated): boolean {
  if (one.isRunning !== other.isRunning) return one.isRunning;
  if (one.isRunning) {
    const [a, b] = [distance(one), distance(other)];
    if (a !== b) return a < b;
  }
  if (one.timeMs !== other.timeMs) return one.timeMs > other.timeMs;
  return one.id > other.id;
}

/** From the usual speed, r/min. */
function distance({ speedRpm, usualRpm }: Rated): number {
  if (speedRpm === null || usualRpm === null) return Number.POSITIVE_INFINITY;
  return Math.abs(speedRpm - usualRpm);
}

/** Null of nothing. */
export function bestOf<T extends Rated>(measurements: readonly T[]): T | null {
  return measurements.reduce<T | null>(
    (best, one) => (best === null || isBetter(one, best) ? one : best),
    null,
  );
}
