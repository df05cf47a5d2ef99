import { LANES, type Lane } from "../core/ports.ts";
import type { Database } from "./database.ts";
import type { LaneQueue, Place } from "./lane-queue.ts";

/** A row about to be written with its reading. */
export interface PendingRow extends Place {
  readonly isFuture: boolean;
  /** Its samples are wanted by the waveform lanes. */
  readonly hasWaveform: boolean;
}

const INSERT_SQL =
  "INSERT INTO outbox (lane, hour, stream, time_ms, seq, is_future) VALUES (?, ?, ?, ?, ?, ?)";
const DELETE_SQL =
  "DELETE FROM outbox WHERE lane = ? AND hour = ? AND stream = ? AND time_ms = ? AND seq = ?";

/** Live topics go forward only: what went live, or may have, is remembered. */
export const MARK_SQL = `INSERT INTO live_marks (lane, stream, time_ms) VALUES (?, ?, ?)
  ON CONFLICT DO UPDATE SET time_ms = max(time_ms, excluded.time_ms)`;

/** The rows behind the lanes, as the writers of readings and retention change them: on disk first, then in memory. */
export class OutboxRows {
  readonly #db: Database;
  readonly #lanes: ReadonlyMap<Lane, LaneQueue>;
  /** Newest row that is committed. */
  seqMax = 0;

  constructor(db: Database, lanes: ReadonlyMap<Lane, LaneQueue>) {
    this.#db = db;
    this.#lanes = lanes;
  }

  /** Writes a reading's rows, inside the transaction that writes the reading. */
  insert(row: PendingRow): void {
    for (const lane of this.#lanes.values()) {
      if ((lane.lane === "waveform" || lane.lane === "sparkplugWaveform") && !row.hasWaveform) {
        continue;
      }
      if (lane.isLiveOnly && !this.#supersede(lane, row)) continue;
      this.#db
        .write(INSERT_SQL)
        .run(lane.number, row.hour, row.stream, row.timeMs, row.seq, row.isFuture ? 1 : 0);
    }
  }

  /** A live-only lane keeps one row of a stream: the newest. False when this one is not it. */
  #supersede(lane: LaneQueue, row: PendingRow): boolean {
    const stream = lane.stream(row.stream);
    const rival = stream.staged ?? stream.candidate;
    const isNewest = row.timeMs > stream.mark && row.timeMs > (rival?.timeMs ?? -Infinity);
    if (row.isFuture || !isNewest) return false;
    if (rival !== null) {
      this.#db
        .write(DELETE_SQL)
        .run(lane.number, rival.hour, rival.stream, rival.timeMs, rival.seq);
    }
    stream.staged = row;
    return true;
  }

  /** The transaction that held these rows is committed. */
  inserted(rows: readonly PendingRow[]): void {
    for (const row of rows) this.seqMax = Math.max(this.seqMax, row.seq);
    for (const lane of this.#lanes.values()) {
      for (const row of rows) this.#remember(lane, row);
      if (rows.length === 0) continue;
      lane.rowsVersion += 1;
      lane.wake();
    }
  }

  #remember(lane: LaneQueue, row: PendingRow): void {
    const isWaveformLane = lane.lane === "waveform" || lane.lane === "sparkplugWaveform";
    if (isWaveformLane && !row.hasWaveform) return;
    const stream = lane.stream(row.stream);
    if (lane.isLiveOnly) {
      if (stream.staged?.seq !== row.seq) return;
      if (stream.candidate === null || stream.pending === 0) stream.pending += 1;
      stream.candidate = row;
      stream.staged = null;
      return;
    }
    stream.pending += 1;
    if (!row.isFuture && stream.isNewer(row.timeMs)) {
      const former = stream.candidate;
      stream.candidate = row;
      stream.isExhausted = false;
      if (former !== null) stream.rewind(former);
    } else stream.rewind(row);
  }

  /** The transaction is undone. */
  insertFailed(): void {
    for (const lane of this.#lanes.values()) {
      for (const stream of lane.order) stream.staged = null;
    }
  }

  /** True while any lane still owes this reading. */
  isOwed(place: Place, lanes: readonly Lane[] = LANES): boolean {
    for (const lane of this.#lanes.values()) {
      if (!lanes.includes(lane.lane)) continue;
      if ((lane.streams.get(place.stream)?.pending ?? 0) === 0) continue;
      // On the writing connection: a settlement of the same transaction counts.
      const row = this.#db
        .write(
          "SELECT 1 FROM outbox WHERE lane = ? AND hour = ? AND stream = ? AND time_ms = ? AND seq = ?",
        )
        .get(lane.number, place.hour, place.stream, place.timeMs, place.seq);
      if (row !== undefined) return true;
    }
    return false;
  }

  /** Deletes what is owed of a reading that is given up, inside a transaction; lanes whose row it was. */
  drop(place: Place, lanes: readonly Lane[] = LANES): Lane[] {
    const dropped: Lane[] = [];
    for (const lane of this.#lanes.values()) {
      if (!lanes.includes(lane.lane)) continue;
      const { changes } = this.#db
        .write(DELETE_SQL)
        .run(lane.number, place.hour, place.stream, place.timeMs, place.seq);
      if (changes === 0) continue;
      dropped.push(lane.lane);
      // It may be on its way, or have arrived unproven: nothing older may go live after it.
      if (lane.streams.get(place.stream)?.candidate?.seq === place.seq) {
        this.#db.write(MARK_SQL).run(lane.number, place.stream, place.timeMs);
      }
    }
    return dropped;
  }

  /** Memory follows a committed `drop`. */
  dropped(place: Place, lanes: readonly Lane[]): void {
    for (const name of lanes) {
      const lane = this.#lanes.get(name);
      if (lane === undefined) continue;
      const stream = lane.stream(place.stream);
      stream.pending = Math.max(0, stream.pending - 1);
      lane.parked.delete(place.seq);
      lane.rowsVersion += 1;
      if (stream.candidate?.seq !== place.seq) continue;
      stream.candidate = null;
      stream.mark = Math.max(stream.mark, place.timeMs);
    }
  }
}
