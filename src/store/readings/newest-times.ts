import type { RecentTimes } from "../../core/recent-times.ts";
import type { Database } from "../database/database.ts";
import { hourOf } from "./stored-reading.ts";

/** Statements of the search, so that their query plans can be asserted. */
export const NEWEST_SQL = {
  streams: "SELECT stream FROM streams WHERE kind <> 'event'",
  previousHour: "SELECT hour FROM readings WHERE hour < ? ORDER BY hour DESC LIMIT 1",
  streamsOfHour: "SELECT DISTINCT stream FROM readings WHERE hour = ?",
  hasReading: "SELECT 1 FROM readings WHERE hour = ? AND stream = ? LIMIT 1",
  newestInHour: `SELECT time_ms AS timeMs FROM readings WHERE hour = ? AND stream = ? AND is_future = 0
    ORDER BY time_ms DESC LIMIT 1`,
  recentInHour: `SELECT time_ms AS timeMs, stored_at_ms AS storedAtMs FROM readings WHERE hour = ? AND stream = ? AND is_future = 0
    ORDER BY time_ms DESC LIMIT ?`,
} as const;

interface RecentRow {
  readonly timeMs: number;
  readonly storedAtMs: number;
}

/** Recent times are searched in at most this many hours with readings: enough for four of a sensor that sends daily. */
const RECENT_HOURS_MAX = 100;

/** And all of them together in this many, so that thousands with few readings do not delay the start by seconds. */
const RECENT_HOURS_IN_ALL = 40_000;

/** With this few left to find, each is looked up separately; with more, an hour's entries of the index are read. */
const FEW_STREAMS = 32;

/** Where the readings of a stream end. */
export interface End {
  /** Newest time that is not from the future, ms; null if all are. */
  timeMs: number | null;
  /** Hour of the newest reading, including those from the future. */
  hour: number;
}

/**
 * Where the readings of each sensor and kind end, determined by one search for all of them: after it, queries for a
 * sensor that has been silent for months, or was never stored, cost nothing. Only for the writing process: others do
 * not see what is stored later.
 */
export class NewestTimes {
  readonly #db: Database;
  /** By stream, as retention leaves it; null before the search. */
  #ends: Map<number, End> | null = null;
  /** Newest time ever stored since the first search. Retention does not change it. */
  readonly #times = new Map<number, number>();

  #recentHoursLeft: number;

  constructor(db: Database, recentHoursInAll = RECENT_HOURS_IN_ALL) {
    this.#db = db;
    this.#recentHoursLeft = recentHoursInAll;
  }

  /** Newest time that was stored, ms; null for a stream without readings. Those dated into the future do not count. */
  timeMs(stream: number): number | null {
    this.#walked();
    return this.#times.get(stream) ?? null;
  }

  /** The newest stored readings of a stream, at most `count`. */
  recent(stream: number, count: number): RecentTimes {
    const times: number[] = [];
    const storedAt = new Set<number>();
    let hour = this.hour(stream);
    for (let hours = 0; hour !== null && hours < RECENT_HOURS_MAX; hours++) {
      const inHour = this.#db.read<RecentRow>(NEWEST_SQL.recentInHour);
      for (const { timeMs, storedAtMs } of inHour.all(hour, stream, count - times.length)) {
        times.push(timeMs);
        storedAt.add(storedAtMs);
      }
      if (times.length >= count || this.#recentHoursLeft <= 0) break;
      this.#recentHoursLeft -= 1;
      hour = previousHour(this.#db, hour);
    }
    return { timesMs: times.reverse(), cameSingly: storedAt.size === times.length };
  }

  /** Hour of the newest reading that may still be stored and is not from the future; null if there is none. */
  hour(stream: number): number | null {
    const timeMs = this.#walked().get(stream)?.timeMs ?? null;
    return timeMs === null ? null : hourOf(timeMs);
  }

  /** No reading of this stream is after this hour; null if it has none. */
  lastHour(stream: number): number | null {
    return this.#walked().get(stream)?.hour ?? null;
  }

  /** The given hour was empty because of retention. Finds the ends of all streams again. */
  lookAgain(): void {
    this.#ends = findNewest(this.#db);
  }

  /** After the commit of readings: the newest hour, and the newest time that is not from the future. */
  stored(stream: number, hour: number, timeMs: number | null): void {
    if (this.#ends === null) return;
    const known = this.#ends.get(stream);
    // A late reading may be the only one that is stored: retention may have removed all newer ones.
    this.#ends.set(stream, {
      hour: Math.max(hour, known?.hour ?? hour),
      timeMs: newer(timeMs, known?.timeMs ?? null),
    });
    this.#remember(stream, timeMs);
  }

  /** The database was replaced. */
  clear(): void {
    this.#ends = null;
    this.#times.clear();
  }

  #remember(stream: number, timeMs: number | null): void {
    const newest = newer(timeMs, this.#times.get(stream) ?? null);
    if (newest !== null) this.#times.set(stream, newest);
  }

  #walked(): ReadonlyMap<number, End> {
    if (this.#ends !== null) return this.#ends;
    this.#ends = findNewest(this.#db);
    for (const [stream, { timeMs }] of this.#ends) this.#remember(stream, timeMs);
    return this.#ends;
  }
}

/**
 * Where the readings of each stream end, newest hour first. Streams whose newest reading is further back than
 * `hoursMax` hours with readings are omitted.
 */
export function findNewest(db: Database, hoursMax = Number.MAX_SAFE_INTEGER): Map<number, End> {
  const streams = db.read<{ stream: number }>(NEWEST_SQL.streams).all();
  const missing = new Set(streams.map(({ stream }) => stream));
  const ends = new Map<number, End>();
  let hour = Number.MAX_SAFE_INTEGER;
  for (let hours = 0; missing.size > 0 && hours < hoursMax; hours++) {
    const previous = previousHour(db, hour);
    if (previous === null) break;
    hour = previous;
    for (const stream of streamsOf(db, hour, missing)) {
      const row = db.read<{ timeMs: number }>(NEWEST_SQL.newestInHour).get(hour, stream);
      const end = ends.get(stream) ?? { hour, timeMs: null };
      ends.set(stream, end);
      if (row === undefined) continue;
      end.timeMs = row.timeMs;
      missing.delete(stream);
    }
  }
  return ends;
}

function streamsOf(db: Database, hour: number, missing: ReadonlySet<number>): number[] {
  if (missing.size <= FEW_STREAMS) {
    return [...missing].filter((stream) => db.read(NEWEST_SQL.hasReading).get(hour, stream));
  }
  const rows = db.read<{ stream: number }>(NEWEST_SQL.streamsOfHour).all(hour);
  return rows.map(({ stream }) => stream).filter((stream) => missing.has(stream));
}

function previousHour(db: Database, hour: number): number | null {
  return db.read<{ hour: number }>(NEWEST_SQL.previousHour).get(hour)?.hour ?? null;
}

function newer(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.max(one, other);
}
