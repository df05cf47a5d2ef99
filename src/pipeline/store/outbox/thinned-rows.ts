/** Stored readings of which an uplink gets only some: read within the transaction that decides which. */
import { periodOf } from "../../../core/delivery/thinning.ts";
import { HOUR_MS } from "../../../core/time-units.ts";
import type { Database } from "../database/database.ts";
import type { Streams } from "../database/streams.ts";
import { hourOf } from "../readings/stored-reading.ts";
import type { PendingContent } from "./lane-uplink.ts";
import type { Place } from "./stream-queue.ts";

/** A row about to be written with its reading. */
export interface PendingRow extends Place {
  readonly isFuture: boolean;
  /** Of the reading, for selections. */
  readonly content: PendingContent;
}

/** None is dated in the future: such readings are not thinned. */
interface HeldRow {
  readonly seq: number;
  readonly stream: number;
  readonly hour: number;
  readonly timeMs: number;
  readonly values: string;
  readonly quality: string;
}

const COLUMNS = `seq, stream, hour, time_ms AS timeMs, "values", quality`;
const ONE_SQL = `SELECT ${COLUMNS} FROM readings WHERE seq = ?`;
const BY_ID_SQL = `SELECT ${COLUMNS} FROM readings WHERE hour = ? AND stream = ? AND time_ms = ? AND id = ?
  AND is_future = 0`;
const NEWER_SQL = `SELECT 1 FROM readings WHERE hour = ? AND stream = ? AND (time_ms, seq) > (?, ?)
  AND time_ms < ? AND is_future = 0 LIMIT 1`;
const TIMES_SQL = `SELECT time_ms AS timeMs FROM readings WHERE hour = ? AND stream = ? AND time_ms <= ?
  ORDER BY time_ms DESC LIMIT ?`;

/** An interval is the median of this many steps; unknown while there are fewer than two. */
const STEPS = 9;
const UNKNOWN_INTERVAL_MS = 600_000;
const INTERVAL_HOURS = 24;

export class ThinnedRows {
  readonly #db: Database;
  readonly #streams: Streams;

  constructor(db: Database, streams: Streams) {
    this.#db = db;
    this.#streams = streams;
  }

  get(seq: number): PendingRow | undefined {
    const stored = this.#db.write<HeldRow>(ONE_SQL).get(seq);
    return stored && this.#asRow(stored);
  }

  withId(stream: number, timeMs: number, id: string): PendingRow | undefined {
    const stored = this.#db
      .write<HeldRow>(BY_ID_SQL)
      .get(hourOf(timeMs), stream, timeMs, Buffer.from(id, "hex"));
    return stored && this.#asRow(stored);
  }

  isNewestOfPeriod({ stream, timeMs, seq }: PendingRow, everyS: number): boolean {
    const endMs = (periodOf(timeMs, everyS) + 1) * everyS * 1000;
    for (let hour = hourOf(timeMs); hour * HOUR_MS < endMs; hour++) {
      const newer = this.#db.write(NEWER_SQL).get(hour, stream, timeMs, seq, endMs);
      if (newer !== undefined) return false;
    }
    return true;
  }

  /** Of the stream at that time. */
  intervalMs(stream: number, timeMs: number): number {
    const times: number[] = [];
    const first = hourOf(timeMs);
    for (let hour = first; hour > first - INTERVAL_HOURS && times.length <= STEPS; hour--)
      for (const row of this.#db
        .write<{ timeMs: number }>(TIMES_SQL)
        .all(hour, stream, timeMs, STEPS + 1 - times.length))
        times.push(row.timeMs);
    const steps = times.slice(1).map((time, i) => (times[i] ?? 0) - time);
    if (steps.length < 2) return UNKNOWN_INTERVAL_MS;
    return steps.sort((a, b) => a - b)[steps.length >> 1] ?? UNKNOWN_INTERVAL_MS;
  }

  #asRow({ values, quality, ...place }: HeldRow): PendingRow {
    const stream = this.#streams.get(place.stream);
    return {
      ...place,
      isFuture: false,
      content: { stream, values, quality, recordingReason: undefined },
    };
  }
}
