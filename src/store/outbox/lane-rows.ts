/** What the disk holds of a lane, read when memory does not know it. */

import { HOUR_MS } from "../../core/time-units.ts";
import type { Database } from "../database/database.ts";
import type { LaneQueue, Place, StreamQueue } from "./lane-queue.ts";

/** Reads the delivery state of the lanes: one pass over the index by hour, then a few seeks per stream. */
export function loadLanes(db: Database, lanes: readonly LaneQueue[]): void {
  for (const lane of lanes) {
    for (const stream of lane.order) {
      stream.pending = 0;
      stream.candidate = null;
      stream.isParked = false;
    }
    lane.rowsVersion += 1;
  }
  const newestHours = new Map<StreamQueue, { lane: LaneQueue; hour: number }>();
  for (const lane of lanes) {
    for (const row of db
      .read("SELECT stream, time_ms FROM live_marks WHERE lane = ?")
      .all(lane.number)) {
      const stream = lane.stream(row[0] as number);
      stream.mark = Math.max(stream.mark, row[1] as number);
    }
    countRows(db, lane, newestHours);
  }
  for (const [stream, { lane, hour }] of newestHours) {
    stream.candidate = newestPending(db, lane, stream, () => false, hour);
  }
}

function countRows(
  db: Database,
  lane: LaneQueue,
  newestHours: Map<StreamQueue, { lane: LaneQueue; hour: number }>,
): void {
  const groups = db
    .read("SELECT hour, stream, count(*) FROM outbox WHERE lane = ? GROUP BY hour, stream")
    .iterate(lane.number);
  for (const [hour, number, rows] of groups) {
    const stream = lane.stream(number as number);
    if (stream.pending === 0) {
      stream.cursor = {
        stream: stream.stream,
        hour: hour as number,
        timeMs: Number.MIN_SAFE_INTEGER,
        seq: -1,
      };
      stream.isExhausted = false;
    }
    stream.pending += rows as number;
    newestHours.set(stream, { lane, hour: hour as number });
  }
}

const NEWEST_SQL = `SELECT time_ms, seq FROM outbox
  WHERE lane = ? AND hour = ? AND stream = ? AND is_future = 0 ORDER BY time_ms DESC, seq DESC LIMIT 1`;
const PREVIOUS_HOUR_SQL =
  "SELECT hour FROM outbox WHERE lane = ? AND hour < ? ORDER BY hour DESC LIMIT 1";

/**
 * The newest pending row that may go live: newer than the live mark, not from the future. Searches back hour by hour.
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
    const [row] = db.read(NEWEST_SQL).all(lane.number, hour, stream.stream);
    if (row !== undefined) {
      const place = {
        stream: stream.stream,
        hour,
        timeMs: row[0] as number,
        seq: row[1] as number,
      };
      return place.timeMs > stream.mark && !isTaken(place.seq) ? place : null;
    }
    const [previous] = db.read(PREVIOUS_HOUR_SQL).all(lane.number, hour);
    // Below the mark nothing can be newer than it.
    if (previous === undefined || ((previous[0] as number) + 1) * HOUR_MS <= stream.mark) {
      return null;
    }
    hour = previous[0] as number;
  }
}

export const NEXT_HOUR_SQL =
  "SELECT hour FROM outbox WHERE lane = ? AND hour > ? ORDER BY hour LIMIT 1";
const OLDEST_SQL = `SELECT min(time_ms) FROM outbox
  WHERE lane = ? AND hour = ? AND seq NOT IN (SELECT value FROM json_each(?))`;

/** Time of the oldest row, ms. Rows whose settlement waits for its commit are on disk, but no longer pending. */
export function oldestPending(db: Database, lane: LaneQueue): number | null {
  const settled = [...lane.leases].filter(({ isSettled }) => isSettled);
  const seqs = JSON.stringify(settled.map(({ place }) => place.seq));
  let hour = Number.MIN_SAFE_INTEGER;
  for (;;) {
    const [next] = db.read(NEXT_HOUR_SQL).all(lane.number, hour);
    if (next === undefined) return null;
    hour = next[0] as number;
    const [row] = db.read(OLDEST_SQL).all(lane.number, hour, seqs);
    if (row !== undefined && row[0] !== null) return row[0] as number;
  }
}
