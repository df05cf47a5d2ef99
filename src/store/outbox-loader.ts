import type { Database } from "./database.ts";
import type { LaneQueue, Place, StreamQueue } from "./lane-queue.ts";
import { HOUR_MS } from "./stored-reading.ts";

/** Reads the delivery state of the lanes: one pass over the index by hour, then a few seeks per stream. */
export function loadLanes(db: Database, lanes: readonly LaneQueue[]): void {
  const byNumber = new Map(lanes.map((lane) => [lane.number, lane]));
  for (const lane of lanes) {
    for (const stream of lane.order) {
      stream.pending = 0;
      stream.candidate = null;
      stream.staged = null;
      stream.isParked = false;
    }
    lane.rowsVersion += 1;
  }
  for (const row of db.read("SELECT lane, stream, time_ms FROM live_marks").all()) {
    const stream = byNumber.get(row[0] as number)?.stream(row[1] as number);
    if (stream !== undefined) stream.mark = Math.max(stream.mark, row[2] as number);
  }
  const newestHours = countRows(db, byNumber);
  for (const [stream, { lane, hour }] of newestHours) {
    stream.candidate = newestPending(db, lane, stream, () => false, hour);
  }
}

function countRows(
  db: Database,
  lanes: ReadonlyMap<number, LaneQueue>,
): Map<StreamQueue, { lane: LaneQueue; hour: number }> {
  const newestHours = new Map<StreamQueue, { lane: LaneQueue; hour: number }>();
  const groups = db
    .read("SELECT lane, hour, stream, count(*) FROM outbox GROUP BY lane, hour, stream")
    .iterate();
  for (const [laneNumber, hour, number, rows] of groups) {
    const lane = lanes.get(laneNumber as number);
    if (lane === undefined) continue;
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
  return newestHours;
}

const NEWEST_SQL = `SELECT time_ms, seq FROM outbox
  WHERE lane = ? AND hour = ? AND stream = ? AND is_future = 0 ORDER BY time_ms DESC, seq DESC LIMIT 1`;
const PREVIOUS_HOUR_SQL =
  "SELECT hour FROM outbox WHERE lane = ? AND hour < ? ORDER BY hour DESC LIMIT 1";

/** The newest pending row that may go live: newer than the live mark, not of the future. Walks back hour by hour. */
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
    // Once below the mark nothing can be newer than it.
    if (previous === undefined || ((previous[0] as number) + 1) * HOUR_MS <= stream.mark) {
      return null;
    }
    hour = previous[0] as number;
  }
}
