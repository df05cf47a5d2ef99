import type { Lane } from "../core/ports.ts";
import type { Database } from "./database.ts";
import type { SqliteGapLog } from "./gap-log.ts";
import type { Identities } from "./identities.ts";
import type { Place } from "./lane-queue.ts";
import type { SqliteOutbox } from "./outbox.ts";
import type { SqliteReadingLog } from "./reading-log.ts";
import { hashOf, parseRefs } from "./stored-reading.ts";
import type { Waveforms } from "./waveforms.ts";

export interface EvictionParts {
  readonly db: Database;
  readonly outbox: SqliteOutbox;
  readonly readings: SqliteReadingLog;
  readonly waveforms: Waveforms;
  readonly identities: Identities;
  readonly gaps: SqliteGapLog;
}

/** Where a walk from the oldest reading on has come to. */
export interface Walk {
  hour: number;
  timeMs: number;
  seq: number;
  isOver: boolean;
}

export const startWalk = (): Walk => ({ hour: -1e9, timeMs: -1e15, seq: -1, isOver: false });

/** What one slice did; `committed` makes memory follow once its transaction is. */
export interface Slice {
  /** Readings or waveforms removed. */
  removed: number;
  /** Those of them that were still owed. */
  givenUp: number;
  committed(): void;
}

interface Candidate extends Place {
  readonly id: Buffer;
  readonly waveforms: string | null;
}

const HOUR_SQL = "SELECT hour FROM readings WHERE hour >= ? ORDER BY hour LIMIT 1";
const ROWS_SQL = `SELECT seq, stream, hour, time_ms AS timeMs, id, waveforms FROM readings
  WHERE hour = ? AND (time_ms, seq) > (?, ?) ORDER BY time_ms, seq LIMIT ?`;
const WAVEFORM_HOUR_SQL = "SELECT hour FROM waveforms WHERE hour >= ? ORDER BY hour LIMIT 1";
const WAVEFORM_ROWS_SQL = `SELECT file_id AS seq, stream, hour, time_ms AS timeMs FROM waveforms
  WHERE hour = ? AND (time_ms, file_id) > (?, ?)
  AND file_id NOT IN (SELECT file_id FROM staged_waveforms) ORDER BY time_ms, file_id LIMIT ?`;
const WAVEFORM_LANES: readonly Lane[] = ["waveform", "sparkplugWaveform"];

/** Removes the oldest first, a slice at a time, inside the caller's transaction. */
export class Eviction {
  readonly #parts: EvictionParts;

  constructor(parts: EvictionParts) {
    this.#parts = parts;
  }

  /** Readings before `untilMs`: those that are delivered, or with `giveUpReason` any, each leaving a gap record. */
  readings(walk: Walk, untilMs: number, rowsMax: number, giveUpReason: string | null): Slice {
    const { gaps, identities, outbox, readings, waveforms, db } = this.#parts;
    const after: (() => void)[] = [];
    const slice: Slice = {
      removed: 0,
      givenUp: 0,
      committed: () => {
        readings.count -= slice.removed;
        for (const step of after) step();
      },
    };
    for (const reading of this.#next(walk, untilMs, rowsMax)) {
      if (giveUpReason === null) {
        if (outbox.rows.isOwed(reading)) continue;
      } else {
        const lanes = outbox.rows.drop(reading);
        if (lanes.length > 0) {
          gaps.add(reading.stream, reading.timeMs, giveUpReason);
          slice.givenUp += 1;
          after.push(() => outbox.rows.dropped(reading, lanes));
        }
      }
      for (const { fileId } of reading.waveforms === null ? [] : parseRefs(reading.waveforms)) {
        waveforms.delete(fileId);
      }
      db.write("DELETE FROM readings WHERE seq = ?").run(reading.seq);
      identities.forget(reading.stream, reading.timeMs, hashOf(reading.id.toString("hex")));
      slice.removed += 1;
    }
    return slice;
  }

  #next(walk: Walk, untilMs: number, rowsMax: number): Candidate[] {
    return this.#walk<Candidate>(walk, untilMs, rowsMax, HOUR_SQL, ROWS_SQL);
  }

  /** Waveforms before `untilMs`; with `mayGiveUp` also those that a waveform lane still owes. */
  waveforms(walk: Walk, untilMs: number, rowsMax: number, mayGiveUp: boolean): Slice {
    const { outbox, waveforms } = this.#parts;
    const after: (() => void)[] = [];
    const slice: Slice = {
      removed: 0,
      givenUp: 0,
      committed: () => {
        for (const step of after) step();
      },
    };
    const rows = this.#walk<Place>(walk, untilMs, rowsMax, WAVEFORM_HOUR_SQL, WAVEFORM_ROWS_SQL);
    for (const { seq: fileId, ...place } of rows) {
      // The rows of one time: a reading's axes share its outbox row.
      const owed = this.#readingsAt(place).filter((at) => outbox.rows.isOwed(at, WAVEFORM_LANES));
      if (owed.length > 0 && !mayGiveUp) continue;
      for (const at of owed) {
        const lanes = outbox.rows.drop(at, WAVEFORM_LANES);
        slice.givenUp += lanes.length;
        after.push(() => outbox.rows.dropped(at, lanes));
      }
      waveforms.delete(fileId);
      slice.removed += 1;
    }
    return slice;
  }

  #readingsAt(place: Omit<Place, "seq">): Place[] {
    return this.#parts.db
      .write<{ seq: number }>(
        "SELECT seq FROM readings WHERE hour = ? AND stream = ? AND time_ms = ?",
      )
      .all(place.hour, place.stream, place.timeMs)
      .map(({ seq }) => ({ ...place, seq }));
  }

  #walk<T extends Place>(
    walk: Walk,
    untilMs: number,
    rowsMax: number,
    hourSql: string,
    rowsSql: string,
  ): T[] {
    const { db } = this.#parts;
    for (;;) {
      const next = db.write<{ hour: number }>(hourSql).get(walk.hour);
      if (next === undefined || next.hour * 3_600_000 >= untilMs) {
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
}
