/** A walk through what the store holds, from the oldest on, an hour at a time. */
import { HOUR_MS } from "../../../core/time-units.ts";
import type { Database } from "../database/database.ts";
import type { Place } from "../outbox/stream-queue.ts";

/** Current position of a walk from the oldest reading on. */
export interface EvictionWalk {
  /** Which of several passes over the readings it is in; in the first, of those from the future, only `seq` counts. */
  pass: number;
  hour: number;
  timeMs: number;
  seq: number;
  isOver: boolean;
}

export const startWalk = (pass = 0): EvictionWalk => ({
  pass,
  hour: -1e9,
  timeMs: -1e15,
  seq: -1,
  isOver: false,
});

/** What is old. */
export interface Age {
  /** Readings before it, ms. */
  readonly untilMs: number;
  /** ms since 1970. */
  readonly nowMs: number;
}

export const WHATEVER_AGE: Age = { untilMs: Number.MAX_SAFE_INTEGER, nowMs: 0 };

/**
 * The next rows of the walk, of one hour, before `untilMs`. The walk then stands behind them, or is over.
 * @param hourSql the first hour from the given one on
 * @param rowsSql rows of an hour behind a time and number, oldest first
 */
export function nextRows<T extends Place>(
  db: Pick<Database, "write">,
  walk: EvictionWalk,
  untilMs: number,
  rowsMax: number,
  hourSql: string,
  rowsSql: string,
): T[] {
  for (;;) {
    const next = db.write<{ hour: number }>(hourSql).get(walk.hour);
    if (next === undefined || next.hour * HOUR_MS >= untilMs) {
      walk.isOver = true;
      return [];
    }
    if (next.hour !== walk.hour) Object.assign(walk, { hour: next.hour, timeMs: -1e15, seq: -1 });
    const rows = db.write<T>(rowsSql).all(walk.hour, walk.timeMs, walk.seq, rowsMax);
    const last = rows.at(-1);
    if (last === undefined) {
      Object.assign(walk, { hour: walk.hour + 1, timeMs: -1e15, seq: -1 });
      continue;
    }
    Object.assign(walk, { timeMs: last.timeMs, seq: last.seq });
    return rows.filter(({ timeMs }) => timeMs < untilMs);
  }
}
