/**
 * Background work of lanes besides leasing and settling, a slice at a time between other writes: rows for readings
 * stored before an uplink was added, the removal of lanes that are no longer configured, and backlog that is older than
 * its uplink wants.
 */

import type { Lane } from "../../core/delivery.ts";
import type { GatewayTime } from "../../core/gateway-time.ts";
import { isWaveform } from "../../core/lane-plan.ts";
import type { Logger } from "../../core/ports.ts";
import type { Database } from "../database/database.ts";
import type { Streams } from "../database/streams.ts";
import type { WriteQueue } from "../database/write-queue.ts";
import { hourOf } from "../readings/stored-reading.ts";
import type { SqliteGapLog } from "./gap-log.ts";
import type { LaneQueue, Place } from "./lane-queue.ts";
import type { SqliteOutbox } from "./outbox.ts";
import type { PendingRow } from "./outbox-rows.ts";

interface ChoreParts {
  readonly db: Database;
  readonly queue: WriteQueue;
  readonly outbox: SqliteOutbox;
  readonly gaps: SqliteGapLog;
  readonly streams: Streams;
  readonly age: Pick<GatewayTime, "now">;
  readonly logger: Logger;
  /** Counts dropped readings: `put` inside the transaction, `dropped` after it. */
  readonly counts: {
    put(reason: string, count: number): void;
    dropped(reason: string, count: number): void;
  };
}

/** Rows dropped in one transaction. */
const SLICE_ROWS = 200;

interface Filling {
  readonly lane: number;
  readonly fillSeq: number;
  readonly fillHour: number | null;
}
interface Leaving {
  readonly lane: number;
  readonly uplink: string;
  readonly format: Lane;
  readonly leaving: string;
}
interface Stored {
  readonly seq: number;
  readonly stream: number;
  readonly timeMs: number;
  readonly isFuture: number;
  readonly values: string;
  readonly attributes: string;
  readonly waveforms: string | null;
}

const FILLING_SQL =
  "SELECT lane, fill_seq AS fillSeq, fill_hour AS fillHour FROM lanes WHERE fill_seq IS NOT NULL AND leaving IS NULL";
const LEAVING_SQL = "SELECT lane, uplink, format, leaving FROM lanes WHERE leaving IS NOT NULL";
const HOUR_BEFORE_SQL = "SELECT hour FROM readings WHERE hour < ? ORDER BY hour DESC LIMIT 1";
// Newest first, so that the newest of each stream is found before older ones could take its place at a live topic.
const STORED_SQL = `SELECT seq, stream, time_ms AS timeMs, is_future AS isFuture, "values", attributes, waveforms
  FROM readings WHERE hour = ? AND seq <= ? ORDER BY time_ms DESC, seq DESC`;
const ROWS_SQL = `SELECT hour, stream, time_ms AS timeMs, seq FROM outbox WHERE lane = ?
  ORDER BY hour, stream, time_ms, seq LIMIT ?`;
const OLD_ROWS_SQL = `SELECT hour, stream, time_ms AS timeMs, seq FROM outbox
  WHERE lane = ? AND hour <= ? AND time_ms < ? ORDER BY hour, stream, time_ms, seq LIMIT ?`;
const DELETE_SQL =
  "DELETE FROM outbox WHERE lane = ? AND hour = ? AND stream = ? AND time_ms = ? AND seq = ?";
const ELSEWHERE_SQL = `SELECT 1 FROM lanes l JOIN outbox o ON o.lane = l.lane
  WHERE l.uplink = ? AND l.lane <> ? AND l.format IN ('json', 'plain', 'sparkplug')
  AND o.hour = ? AND o.stream = ? AND o.time_ms = ? AND o.seq = ? LIMIT 1`;

export class LaneChores {
  readonly #parts: ChoreParts;

  constructor(parts: ChoreParts) {
    this.#parts = parts;
  }

  /** All due work, until it is done or `isStopping`. Rejects if the disk fails; the rest is done the next time. */
  async run(isStopping: () => boolean): Promise<void> {
    for (const leaving of this.#rows<Leaving>(LEAVING_SQL)) await this.#leave(leaving, isStopping);
    for (const lane of this.#parts.outbox.lanes) await this.#age(lane, isStopping);
    for (const { lane } of this.#rows<Filling>(FILLING_SQL)) {
      const queue = this.#parts.outbox.lanes.find(({ number }) => number === lane);
      while (queue !== undefined && !isStopping() && (await this.#fillHour(queue)));
    }
  }

  #rows<T>(sql: string): T[] {
    const { db, queue } = this.#parts;
    return queue.read("check lanes", () => db.write<T>(sql).all());
  }

  /** One hour of readings stored before the lane was added. False if nothing is left. */
  async #fillHour(lane: LaneQueue): Promise<boolean> {
    const { outbox } = this.#parts;
    const rows: PendingRow[] = [];
    let isOver = true;
    await this.#write("queue stored readings for an uplink", SLICE_ROWS, () =>
      this.#file(lane, rows, (over) => {
        isOver = over;
      }),
    );
    outbox.rows.inserted(rows);
    return !isOver;
  }

  *#file(
    lane: LaneQueue,
    rows: PendingRow[],
    done: (isOver: boolean) => void,
  ): Generator<void, void, void> {
    const { db, outbox } = this.#parts;
    rows.length = 0;
    const state = db.write<Filling>(`${FILLING_SQL} AND lane = ?`).get(lane.number);
    const next =
      state &&
      db.write<{ hour: number }>(HOUR_BEFORE_SQL).get(state.fillHour ?? Number.MAX_SAFE_INTEGER);
    done(next === undefined);
    if (state === undefined) return;
    if (next === undefined) {
      db.write("UPDATE lanes SET fill_seq = NULL, fill_hour = NULL WHERE lane = ?").run(
        lane.number,
      );
      return;
    }
    for (const stored of db.write<Stored>(STORED_SQL).all(next.hour, state.fillSeq)) {
      const row = this.#asRow(stored, next.hour);
      outbox.rows.insertInto(lane, row);
      if (row.lanes.length > 0) rows.push(row);
      yield;
    }
    db.write("UPDATE lanes SET fill_hour = ? WHERE lane = ?").run(next.hour, lane.number);
  }

  #asRow(stored: Stored, hour: number): PendingRow {
    const { seq, stream, timeMs, values, attributes, waveforms } = stored;
    return {
      seq,
      stream,
      hour,
      timeMs,
      isFuture: stored.isFuture !== 0,
      owed: {
        stream: this.#parts.streams.get(stream),
        values,
        recordingReason: waveforms === null ? undefined : recordingReasonOf(attributes),
      },
      lanes: [],
    };
  }

  /** Drops the pending readings of a lane that is no longer configured, then its marks, then its number. */
  async #leave(lane: Leaving, isStopping: () => boolean): Promise<void> {
    const { db, gaps } = this.#parts;
    for (;;) {
      if (isStopping()) return;
      let given = 0;
      let isOver = false;
      await this.#write("drop the pending readings of an uplink", SLICE_ROWS, () => {
        const rows = db.write<Place>(ROWS_SQL).all(lane.lane, SLICE_ROWS);
        given = this.#giveUp(lane, rows, lane.leaving, (place) => this.#delete(lane.lane, place));
        isOver = rows.length < SLICE_ROWS;
        if (!isOver) return;
        db.write("DELETE FROM live_marks WHERE lane = ?").run(lane.lane);
        db.write("DELETE FROM lanes WHERE lane = ?").run(lane.lane);
      });
      if (given > 0) this.#parts.counts.dropped(countName(lane.format, lane.leaving), given);
      if (!isOver) continue;
      gaps.endEpisode();
      return;
    }
  }

  #delete(lane: number, { hour, stream, timeMs, seq }: Place): void {
    this.#parts.db.write(DELETE_SQL).run(lane, hour, stream, timeMs, seq);
  }

  /** Drops backlog that is older than its uplink wants. */
  async #age(lane: LaneQueue, isStopping: () => boolean): Promise<void> {
    const { age, db, outbox } = this.#parts;
    const oldestMs = lane.uplink.oldestMs(age.now());
    if (oldestMs === null) return;
    const owner = { lane: lane.number, uplink: lane.uplink.name, format: lane.lane };
    while (!isStopping()) {
      // What is counted as lost must not arrive after all.
      const due = () =>
        db
          .write<Place>(OLD_ROWS_SQL)
          .all(lane.number, hourOf(oldestMs), oldestMs, SLICE_ROWS)
          .filter(({ seq }) => !lane.isLeased(seq));
      if (this.#parts.queue.read("find old backlog", due).length === 0) return;
      let rows: Place[] = [];
      let given = 0;
      await this.#write("drop old backlog", SLICE_ROWS, () => {
        rows = due();
        given = this.#giveUp(owner, rows, "too_old", (place) =>
          outbox.rows.drop(place, (one) => one === lane),
        );
      });
      for (const place of rows) outbox.rows.dropped(place, [lane]);
      if (given > 0) this.#parts.counts.dropped(countName(lane.lane, "too_old"), given);
    }
  }

  /**
   * Inside a transaction. Returns how many count: one that is pending in another lane of the same uplink is not lost to
   * it.
   */
  #giveUp(
    { lane, uplink, format }: Omit<Leaving, "leaving">,
    rows: readonly Place[],
    reason: string,
    remove: (place: Place) => void,
  ): number {
    const { db, gaps, counts } = this.#parts;
    let given = 0;
    for (const place of rows) {
      remove(place);
      const { hour, stream, timeMs, seq } = place;
      const isElsewhere =
        !isWaveform(format) &&
        db.write(ELSEWHERE_SQL).get(uplink, lane, hour, stream, timeMs, seq) !== undefined;
      if (isElsewhere) continue;
      if (!isWaveform(format)) gaps.add(stream, timeMs, reason, uplink);
      given += 1;
    }
    if (given > 0) counts.put(countName(format, reason), given);
    return given;
  }

  #write(
    what: string,
    rows: number,
    work: () => Generator<void, void, void> | void,
  ): Promise<void> {
    const { queue, gaps } = this.#parts;
    return new Promise((resolve, reject) => {
      queue.enqueue(
        {
          what,
          rows,
          *run() {
            const slices = work();
            if (slices) yield* slices;
            yield;
          },
          committed: resolve,
          failed(failure) {
            gaps.endEpisode();
            reject(failure);
          },
        },
        0,
      );
    });
  }
}

const countName = (format: Lane, reason: string) =>
  isWaveform(format) ? `waveform_${reason}` : reason;

function recordingReasonOf(attributes: string): number | null {
  try {
    const { recording_reason: reason }: { recording_reason?: unknown } = JSON.parse(attributes);
    return typeof reason === "number" ? reason : null;
  } catch {
    return null;
  }
}
