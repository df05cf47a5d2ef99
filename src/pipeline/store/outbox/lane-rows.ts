/** What the disk holds of a lane, read when memory does not know it. */

import type { LaneDepth } from "../../../core/delivery/delivery.ts";
import { HOUR_MS } from "../../../core/time-units.ts";
import type { Database } from "../database/database.ts";
import { StoreFailure } from "../database/store-failure.ts";
import type { WriteQueue } from "../database/write-queue.ts";
import type { LaneQueue } from "./lane-queue.ts";
import type { Place, StreamQueue } from "./stream-queue.ts";

interface LiveMark {
  readonly stream: number;
  readonly timeMs: number;
}
interface PendingCount {
  readonly hour: number;
  /** Of the stream. */
  readonly number: number;
  readonly rows: number;
}

const MARKS_SQL = "SELECT stream, time_ms AS timeMs FROM live_marks WHERE lane = ?";
const COUNTS_SQL = `SELECT hour, stream AS number, count(*) AS rows FROM outbox WHERE lane = ?
  GROUP BY hour, stream`;

/** Reads the delivery state of the lanes: one pass over the index by hour, then one over the newest rows of the streams. */
export function loadLanes(db: Database, lanes: readonly LaneQueue[]): void {
  for (const lane of lanes) {
    for (const stream of lane.order) {
      stream.pending = 0;
      stream.candidate = null;
      stream.isParked = false;
      stream.passed = null;
    }
    lane.rowsVersion += 1;
  }
  for (const lane of lanes) {
    for (const mark of db.read<LiveMark>(MARKS_SQL).all(lane.number)) {
      const stream = lane.stream(mark.stream);
      stream.mark = Math.max(stream.mark, mark.timeMs);
    }
    findCandidates(db, lane, countRows(db, lane));
    // What is about to go live may have done so before the stop.
    for (const stream of lane.order)
      stream.perhapsMark = stream.candidate?.timeMs ?? Number.NEGATIVE_INFINITY;
  }
}

/** Returns the newest hour with rows of each stream that has any. */
function countRows(db: Database, lane: LaneQueue): ReadonlyMap<StreamQueue, number> {
  const newestHours = new Map<StreamQueue, number>();
  for (const { hour, number, rows } of db.read<PendingCount>(COUNTS_SQL).iterate(lane.number)) {
    const stream = lane.stream(number);
    if (stream.pending === 0) {
      stream.cursor = { stream: number, hour, timeMs: Number.MIN_SAFE_INTEGER, seq: -1 };
      stream.isExhausted = false;
    }
    stream.pending += rows;
    newestHours.set(stream, hour);
  }
  return newestHours;
}

/** As `newestPending` of each stream, which takes a statement for each. */
function findCandidates(
  db: Database,
  lane: LaneQueue,
  newestHours: ReadonlyMap<StreamQueue, number>,
): void {
  const byHour = new Map<number, Map<number, StreamQueue>>();
  for (const [stream, hour] of newestHours) {
    const own = byHour.get(hour) ?? new Map<number, StreamQueue>();
    byHour.set(hour, own.set(stream.stream, stream));
  }
  for (const [hour, streams] of byHour) {
    const numbers = JSON.stringify([...streams.keys()]);
    const rows = db.read<Omit<Place, "hour">>(NEWEST_OF_SQL);
    for (const row of rows.all(numbers, lane.number, hour, lane.number, hour)) {
      const stream = streams.get(row.stream);
      streams.delete(row.stream);
      if (stream !== undefined && row.timeMs > stream.mark) stream.candidate = { ...row, hour };
    }
    // All that is pending of these in that hour is dated in the future.
    for (const stream of streams.values())
      stream.candidate = newestPending(db, lane, stream, () => false, hour);
  }
}

const NEWEST_SQL = `SELECT time_ms AS timeMs, min(seq) AS seq FROM outbox
  WHERE lane = ? AND hour = ? AND stream = ? AND is_future = 0 GROUP BY time_ms ORDER BY time_ms DESC LIMIT 1`;
const NEWEST_OF_SQL = `SELECT o.stream, o.time_ms AS timeMs, min(o.seq) AS seq FROM json_each(?) CROSS JOIN outbox o
  WHERE o.lane = ? AND o.hour = ? AND o.stream = value AND o.is_future = 0 AND o.time_ms =
    (SELECT max(time_ms) FROM outbox WHERE lane = ? AND hour = ? AND stream = value AND is_future = 0) GROUP BY value`;
const PREVIOUS_HOUR_SQL =
  "SELECT hour FROM outbox WHERE lane = ? AND hour < ? ORDER BY hour DESC LIMIT 1";

/**
 * The newest pending row that may go live: newer than the live mark, not from the future; of one time the first stored.
 * Searches back hour by hour.
 */
export function newestPending(
  db: Database,
  lane: LaneQueue,
  stream: StreamQueue,
  isTaken: (seq: number) => boolean,
  fromHour = Number.MAX_SAFE_INTEGER,
): Place | null {
  let hour = fromHour;
  for (;;) {
    const newest = db.read<Pick<Place, "timeMs" | "seq">>(NEWEST_SQL);
    const row = newest.get(lane.number, hour, stream.stream);
    if (row !== undefined) {
      const place = { stream: stream.stream, hour, ...row };
      return place.timeMs > stream.mark && !isTaken(place.seq) ? place : null;
    }
    const previous = db.read<{ hour: number }>(PREVIOUS_HOUR_SQL).get(lane.number, hour);
    // Below the mark nothing can be newer than it.
    if (previous === undefined || (previous.hour + 1) * HOUR_MS <= stream.mark) return null;
    hour = previous.hour;
  }
}

export const NEXT_HOUR_SQL =
  "SELECT hour FROM outbox WHERE lane = ? AND hour > ? ORDER BY hour LIMIT 1";
const OLDEST_SQL = `SELECT min(time_ms) AS timeMs FROM outbox
  WHERE lane = ? AND hour = ? AND seq NOT IN (SELECT value FROM json_each(?))`;

/** Time of the oldest row, ms. Rows whose settlement waits for its commit are on disk, but no longer pending. */
function oldestPending(db: Database, lane: LaneQueue): number | null {
  const settled = [...lane.leases].filter(({ isSettled }) => isSettled);
  const seqs = JSON.stringify(settled.map(({ place }) => place.seq));
  let hour = Number.MIN_SAFE_INTEGER;
  for (;;) {
    const next = db.read<{ hour: number }>(NEXT_HOUR_SQL).get(lane.number, hour);
    if (next === undefined) return null;
    hour = next.hour;
    const oldest = db.read<{ timeMs: number | null }>(OLDEST_SQL);
    const timeMs = oldest.get(lane.number, hour, seqs)?.timeMs ?? null;
    if (timeMs !== null) return timeMs;
  }
}

/** How much is pending in a lane, and since when; read from disk again once its rows have changed. */
export class LaneDepths {
  readonly #parts: { readonly db: Database; readonly queue: WriteQueue };
  readonly #known = new WeakMap<
    LaneQueue,
    { readonly version: number; readonly depth: LaneDepth }
  >();

  constructor(parts: { readonly db: Database; readonly queue: WriteQueue }) {
    this.#parts = parts;
  }

  of(lane: LaneQueue): LaneDepth {
    const known = this.#known.get(lane);
    if (known?.version === lane.rowsVersion) return known.depth;
    // While the disk is gone the counts are still right, the oldest is the last known one.
    const last = { readings: lane.undelivered, oldestTimeMs: known?.depth.oldestTimeMs ?? null };
    if (!this.#parts.db.isOpen) return last;
    if (lane.undelivered === 0) return { readings: 0, oldestTimeMs: null };
    try {
      const oldestTimeMs = this.#parts.queue.read(
        `read the age of the backlog of ${lane.name}`,
        () => oldestPending(this.#parts.db, lane),
      );
      const depth = { readings: lane.undelivered, oldestTimeMs };
      this.#known.set(lane, { version: lane.rowsVersion, depth });
      return depth;
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      return last;
    }
  }
}
