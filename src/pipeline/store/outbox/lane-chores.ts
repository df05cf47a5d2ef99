/**
 * Background work of lanes besides leasing and settling, a slice at a time between other writes: rows for readings
 * stored before an uplink was added, the removal of lanes that are no longer configured, and backlog that is older than
 * its uplink wants.
 */

import type { Lane } from "../../../core/delivery/delivery.ts";
import { isWaveform } from "../../../core/delivery/lane-plan.ts";
import { parsedObject } from "../../../core/parsed-json.ts";
import type { Logger } from "../../../core/ports.ts";
import type { GatewayTime } from "../../../core/time/gateway-time.ts";
import type { Tx } from "../../../core/tx.ts";
import type { Database } from "../database/database.ts";
import type { Streams } from "../database/streams.ts";
import { oneStep } from "../database/write-job.ts";
import type { WriteQueue } from "../database/write-queue.ts";
import { NEWEST_SQL } from "../readings/newest-times.ts";
import { hourOf } from "../readings/stored-reading.ts";
import type { SqliteGapLog } from "./gap-log.ts";
import type { LaneQueue } from "./lane-queue.ts";
import type { Lanes } from "./lanes.ts";
import { DELETE_ROW_SQL, type Pending } from "./pending.ts";
import type { Place } from "./stream-queue.ts";
import type { PendingRow } from "./thinned-rows.ts";
import { takeAside } from "./thinning-state.ts";

interface ChoreParts {
  readonly db: Database;
  readonly queue: WriteQueue;
  readonly lanes: Lanes;
  readonly pending: Pending;
  readonly gaps: SqliteGapLog;
  readonly streams: Streams;
  readonly age: Pick<GatewayTime, "now">;
  readonly logger: Logger;
  /** Counts dropped readings. */
  readonly counts: { add(tx: Tx, reason: string, count: number): void };
}

/** Rows dropped in one transaction. */
const SLICE_ROWS = 200;

interface Filling {
  readonly lane: number;
  readonly fillSeq: number;
  readonly fillHour: number | null;
}
interface LeavingLane {
  readonly lane: number;
  readonly uplink: string;
  readonly format: Lane;
  readonly leaving: string;
}
interface StoredRow {
  readonly seq: number;
  readonly stream: number;
  readonly timeMs: number;
  readonly isFuture: number;
  readonly values: string;
  readonly quality: string;
  readonly attributes: string;
  readonly waveforms: string | null;
}

const FILLING_SQL =
  "SELECT lane, fill_seq AS fillSeq, fill_hour AS fillHour FROM lanes WHERE fill_seq IS NOT NULL AND leaving IS NULL";
const LEAVING_SQL = "SELECT lane, uplink, format, leaving FROM lanes WHERE leaving IS NOT NULL";
// Newest first, so that the newest of each stream is found before older ones could take its place at a live topic.
const STORED_SQL = `SELECT seq, stream, time_ms AS timeMs, is_future AS isFuture, "values", quality, attributes, waveforms
  FROM readings WHERE hour = ? AND seq <= ? ORDER BY time_ms DESC, seq DESC`;
const ROWS_SQL = `SELECT hour, stream, time_ms AS timeMs, seq FROM outbox WHERE lane = ?
  ORDER BY hour, stream, time_ms, seq LIMIT ?`;
const OLD_ROWS_SQL = `SELECT hour, stream, time_ms AS timeMs, seq FROM outbox
  WHERE lane = ? AND hour <= ? AND time_ms < ? ORDER BY hour, stream, time_ms, seq LIMIT ?`;
/** CROSS: SQLite would rather scan the whole outbox, for each row. */
export const ELSEWHERE_SQL = `SELECT 1 FROM lanes l CROSS JOIN outbox o ON o.lane = l.lane
  WHERE l.uplink = ? AND l.lane <> ? AND l.format IN ('json', 'plain', 'sparkplug')
  AND o.hour = ? AND o.stream = ? AND o.time_ms = ? AND o.seq = ? LIMIT 1`;

export class LaneChores {
  readonly #parts: ChoreParts;

  constructor(parts: ChoreParts) {
    this.#parts = parts;
  }

  /** All due work, until it is done or `isStopping`. Rejects if the disk fails; the rest is done the next time. */
  async run(isStopping: () => boolean): Promise<void> {
    for (const leaving of this.#rows<LeavingLane>(LEAVING_SQL))
      await this.#leave(leaving, isStopping);
    for (const { number } of this.#parts.lanes.all) await this.#age(number, isStopping);
    await this.#endPeriods();
    for (const { lane } of this.#rows<Filling>(FILLING_SQL))
      while (!isStopping() && (await this.#fillHour(lane)));
  }

  /** By its number, whenever it is needed: uplinks may be removed, or change their format, during any wait. */
  #lane(number: number): LaneQueue | undefined {
    return this.#parts.lanes.all.find((lane) => lane.number === number);
  }

  #rows<T>(sql: string): T[] {
    const { db, queue } = this.#parts;
    return queue.read("check lanes", () => db.write<T>(sql).all());
  }

  /** What an uplink with `everyS` holds of a period that nothing followed. */
  async #endPeriods(): Promise<void> {
    const { age, pending, queue } = this.#parts;
    const now = age.now();
    if (!queue.read("check periods", () => pending.hasDue(now))) return;
    await this.#write("queue the newest of a period", (tx) => pending.insertDue(tx, now));
  }

  /** One hour of readings stored before the lane was added. False if nothing is left. */
  #fillHour(number: number): Promise<boolean> {
    const what = "queue stored readings for an uplink";
    const run = (tx: Tx) => this.#file(tx, number);
    return this.#parts.queue.enqueue({ what, rows: SLICE_ROWS, run }, 0);
  }

  *#file(tx: Tx, number: number): Generator<void, boolean, void> {
    const { db, pending } = this.#parts;
    const lane = this.#lane(number);
    const state = db.write<Filling>(`${FILLING_SQL} AND lane = ?`).get(number);
    if (lane === undefined || state === undefined) return false;
    const next = db
      .write<{ hour: number }>(NEWEST_SQL.previousHour)
      .get(state.fillHour ?? Number.MAX_SAFE_INTEGER);
    if (next === undefined) {
      db.write("UPDATE lanes SET fill_seq = NULL, fill_hour = NULL WHERE lane = ?").run(
        lane.number,
      );
      return false;
    }
    for (const stored of db.write<StoredRow>(STORED_SQL).all(next.hour, state.fillSeq)) {
      pending.fill(tx, lane, this.#asRow(stored, next.hour));
      yield;
    }
    db.write("UPDATE lanes SET fill_hour = ? WHERE lane = ?").run(next.hour, lane.number);
    return true;
  }

  #asRow(stored: StoredRow, hour: number): PendingRow {
    const { seq, stream, timeMs, values, quality, attributes, waveforms } = stored;
    return {
      seq,
      stream,
      hour,
      timeMs,
      isFuture: stored.isFuture !== 0,
      content: {
        stream: this.#parts.streams.get(stream),
        values,
        quality,
        recordingReason: waveforms === null ? undefined : recordingReasonOf(attributes),
      },
    };
  }

  /** Drops the pending readings of a lane that is no longer configured, then its marks, then its number. */
  async #leave(lane: LeavingLane, isStopping: () => boolean): Promise<void> {
    const { db, gaps } = this.#parts;
    while (!isStopping()) {
      const isOver = await this.#write("drop the pending readings of an uplink", (tx) => {
        const rows = db.write<Place>(ROWS_SQL).all(lane.lane, SLICE_ROWS);
        this.#giveUp(tx, lane, rows, lane.leaving, (place) => this.#delete(lane.lane, place));
        if (rows.length === SLICE_ROWS || !this.#giveUpHeld(tx, lane)) return false;
        db.write("DELETE FROM live_marks WHERE lane = ?").run(lane.lane);
        db.write("DELETE FROM lanes WHERE lane = ?").run(lane.lane);
        return true;
      });
      if (!isOver) continue;
      gaps.endEpisode();
      return;
    }
  }

  /** What was held for an uplink that was removed, up to its periods' ends. True once nothing is left. */
  #giveUpHeld(tx: Tx, { lane, uplink, leaving }: LeavingLane): boolean {
    const { counts, db, gaps } = this.#parts;
    const { states, held } = takeAside(db, lane, SLICE_ROWS);
    for (const { stream, timeMs } of held) gaps.add(tx, stream, timeMs, leaving, uplink);
    if (held.length > 0) counts.add(tx, leaving, held.length);
    return states < SLICE_ROWS;
  }

  #delete(lane: number, { hour, stream, timeMs, seq }: Place): boolean {
    const { changes } = this.#parts.db.write(DELETE_ROW_SQL).run(lane, hour, stream, timeMs, seq);
    return changes > 0;
  }

  /** Drops backlog that is older than its uplink wants. */
  async #age(number: number, isStopping: () => boolean): Promise<void> {
    const due = () => this.#tooOld(number);
    while (!isStopping() && this.#parts.queue.read("find old backlog", due).length > 0)
      await this.#write("drop old backlog", (tx) => this.#dropOld(tx, number));
  }

  #tooOld(number: number): Place[] {
    const lane = this.#lane(number);
    const oldestMs = lane?.uplink.oldestMs(this.#parts.age.now()) ?? null;
    if (lane === undefined || oldestMs === null) return [];
    const rows = this.#parts.db
      .write<Place>(OLD_ROWS_SQL)
      .all(number, hourOf(oldestMs), oldestMs, SLICE_ROWS);
    // What is counted as lost must not arrive after all.
    return rows.filter(({ seq }) => !lane.isLeased(seq));
  }

  #dropOld(tx: Tx, number: number): void {
    const lane = this.#lane(number);
    if (lane === undefined) return;
    const owner = { lane: number, uplink: lane.uplink.name, format: lane.lane };
    const isThis = (one: LaneQueue) => one.number === number;
    this.#giveUp(
      tx,
      owner,
      this.#tooOld(number),
      "too_old",
      (place) => this.#parts.pending.drop(tx, place, isThis).length > 0,
    );
  }

  /** Only what is not pending in another lane of the same uplink is lost to it. */
  #giveUp(
    tx: Tx,
    { lane, uplink, format }: Omit<LeavingLane, "leaving">,
    rows: readonly Place[],
    reason: string,
    remove: (place: Place) => boolean,
  ): void {
    const { db, gaps, counts } = this.#parts;
    let lost = 0;
    for (const place of rows) {
      if (!remove(place)) continue;
      const { hour, stream, timeMs, seq } = place;
      const isElsewhere =
        !isWaveform(format) &&
        db.write(ELSEWHERE_SQL).get(uplink, lane, hour, stream, timeMs, seq) !== undefined;
      if (isElsewhere) continue;
      if (!isWaveform(format)) gaps.add(tx, stream, timeMs, reason, uplink);
      lost += 1;
    }
    if (lost > 0) counts.add(tx, countName(format, reason), lost);
  }

  #write<T>(what: string, work: (tx: Tx) => T): Promise<T> {
    return this.#parts.queue.enqueue(oneStep(what, SLICE_ROWS, work), 0);
  }
}

const countName = (format: Lane, reason: string) =>
  isWaveform(format) ? `waveform_${reason}` : reason;

function recordingReasonOf(attributes: string): number | null {
  const reason = parsedObject(attributes)?.["recording_reason"];
  return typeof reason === "number" ? reason : null;
}
