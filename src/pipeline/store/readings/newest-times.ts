import type { RecentTimes } from "../../../core/time/recent-times.ts";
import type { Database } from "../database/database.ts";
import { hourOf } from "./stored-reading.ts";

/** Statements of the search, so that their query plans can be asserted. */
export const NEWEST_SQL = {
  streams: "SELECT stream FROM streams WHERE kind <> 'event'",
  previousHour: "SELECT hour FROM readings WHERE hour < ? ORDER BY hour DESC LIMIT 1",
  streamsOfHour: "SELECT DISTINCT stream FROM readings WHERE hour = ?",
  hasReading: "SELECT 1 FROM readings WHERE hour = ? AND stream = ? LIMIT 1",
  /** Of many streams, one row each: a statement for each of them takes twice the time. */
  newestInHour: `SELECT value AS stream, (SELECT time_ms FROM readings WHERE hour = ? AND stream = value AND is_future = 0
    ORDER BY time_ms DESC LIMIT 1) AS timeMs FROM json_each(?)`,
  recentInHour: `SELECT r.stream, r.time_ms, r.stored_at_ms, r.offset_minutes FROM json_each(?) CROSS JOIN readings r
    WHERE r.seq IN (SELECT seq FROM readings WHERE hour = ? AND stream = value AND is_future = 0
      ORDER BY time_ms DESC LIMIT ?)`,
} as const;

type RecentRow = readonly [
  stream: number,
  timeMs: number,
  storedAtMs: number,
  offsetMinutes: number | null,
];

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

  /** The newest stored readings of each of these streams, at most `count`. Those without any are omitted. */
  recent(streams: readonly number[], count: number): ReadonlyMap<number, RecentTimes> {
    const found = new Map<number, RecentRow[]>();
    for (const [hour, own] of this.byHour(streams)) this.#findRecent(own, hour, count, found);
    return new Map([...found].map(([stream, rows]) => [stream, recentTimes(rows, count)]));
  }

  /** Searches back from the hour that holds the newest of these streams. */
  #findRecent(
    streams: readonly number[],
    newestHour: number,
    count: number,
    found: Map<number, RecentRow[]>,
  ): void {
    let left = streams;
    let hour: number | null = newestHour;
    for (let hours = 0; hour !== null && hours < RECENT_HOURS_MAX; hours++) {
      const inHour = this.#db.readArrays<RecentRow>(NEWEST_SQL.recentInHour);
      for (const row of inHour.all(JSON.stringify(left), hour, count)) {
        const rows = found.get(row[0]);
        if (rows === undefined) found.set(row[0], [row]);
        else rows.push(row);
      }
      left = left.filter((stream) => (found.get(stream)?.length ?? 0) < count);
      if (left.length === 0 || this.#recentHoursLeft <= 0) break;
      this.#recentHoursLeft -= left.length;
      hour = previousHour(this.#db, hour);
    }
  }

  /** Hour of the newest reading that may still be stored and is not from the future; null if there is none. */
  hour(stream: number): number | null {
    const timeMs = this.#walked().get(stream)?.timeMs ?? null;
    return timeMs === null ? null : hourOf(timeMs);
  }

  /** Streams by the hour of their newest reading; those without any are omitted. */
  byHour(streams: readonly number[]): ReadonlyMap<number, readonly number[]> {
    const byHour = new Map<number, number[]>();
    for (const stream of streams) {
      const hour = this.hour(stream);
      if (hour === null) continue;
      const own = byHour.get(hour);
      if (own === undefined) byHour.set(hour, [stream]);
      else own.push(stream);
    }
    return byHour;
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
    const newest = db.readArrays<[stream: number, timeMs: number | null]>(NEWEST_SQL.newestInHour);
    const held = JSON.stringify(streamsOf(db, hour, missing));
    for (const [stream, timeMs] of newest.all(hour, held)) {
      const end = ends.get(stream) ?? { hour, timeMs: null };
      ends.set(stream, end);
      if (timeMs === null) continue;
      end.timeMs = timeMs;
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

/** @param rows of one stream, in any order and possibly more than are wanted */
function recentTimes(rows: readonly RecentRow[], count: number): RecentTimes {
  const newest = rows.toSorted((a, b) => b[1] - a[1]).slice(0, count);
  const storedAt = new Set(newest.map((row) => row[2]));
  return {
    timesMs: newest.map((row) => row[1]).reverse(),
    cameSingly: storedAt.size === newest.length,
    offsetMinutes: newest[0]?.[3] ?? null,
  };
}

function newer(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.max(one, other);
}
