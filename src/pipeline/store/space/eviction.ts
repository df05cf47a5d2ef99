import { EVENT_KIND } from "../../../core/delivery/event-kind.ts";
import { DAY_MS } from "../../../core/time-units.ts";
import type { Tx } from "../../../core/tx.ts";
import type { Keeping } from "../keeping.ts";
import { carriesSamples } from "../outbox/pending.ts";
import type { Place } from "../outbox/stream-queue.ts";
import type { ReadingCount } from "../readings/reading-count.ts";
import type { ReadingLogParts } from "../readings/reading-log-parts.ts";
import { hashOf, parseRefs } from "../readings/stored-reading.ts";
import { type Age, type EvictionWalk, nextRows, startWalk, WHATEVER_AGE } from "./eviction-walk.ts";

export interface EvictionParts
  extends Pick<
    ReadingLogParts,
    "db" | "pending" | "waveforms" | "identities" | "gaps" | "counting"
  > {
  readonly readings: ReadingCount;
  readonly keeping: Pick<Keeping, "mayGo"> | null;
}

/** Uplinks that may lose a reading; null for all of them. */
export type Tier = ReadonlySet<string> | null;

/** The result of one slice. */
export interface Slice {
  /** Readings or waveforms removed. */
  removed: number;
  /** Those of them that were still pending. */
  dropped: number;
  /** Newest time of a reading that was dropped, ms; null if there is none. */
  newestMs: number | null;
}
export type Cut = (tx: Tx, walk: EvictionWalk) => Slice;
export const emptySlice = (): Slice => ({ removed: 0, dropped: 0, newestMs: null });

interface Candidate extends Place {
  readonly id: Buffer;
  readonly isFuture: number;
  readonly waveforms: string | null;
}

/** Readings of others that one slice passes at most. */
const EXAMINED_ROWS_MAX = 500;
/**
 * Readings that are looked at together, most of them pending where a search for delivered ones takes long: each look
 * sorts a whole hour, which has a hundred thousand of two thousand sensors.
 */
const TOGETHER_ROWS = 4_000;

const HOUR_SQL = "SELECT hour FROM readings WHERE hour >= ? ORDER BY hour LIMIT 1";
/** The index alone says which: rows are read of those that are looked at, not of the whole hour. */
const rowsSql = (
  which = "",
) => `SELECT seq, stream, hour, time_ms AS timeMs, id, is_future AS isFuture, waveforms FROM readings
  WHERE seq IN (SELECT seq FROM readings WHERE hour = ? AND (time_ms, seq) > (?, ?) ${which} ORDER BY time_ms, seq LIMIT ?)
  ORDER BY time_ms, seq`;
const ROWS_SQL = rowsSql();
const EVENTS = `(SELECT stream FROM streams WHERE kind = '${EVENT_KIND}')`;
/**
 * Of a sensor whose clock is ahead: its readings' times say nothing about their age, and would outlive everybody's. They
 * go by when they were stored, before others. Where the box's own clock was behind, they were flagged by mistake and
 * stored in 1970: a time that is not ahead any more counts, too.
 */
const STORED_BEFORE = "stored_at_ms < ? AND (time_ms < ? OR time_ms > ?)";
const storedBefore = ({ untilMs, nowMs }: Age) => [untilMs, untilMs, nowMs + DAY_MS] as const;
const futureSql = (
  which: string,
) => `SELECT seq, stream, hour, time_ms AS timeMs, id, is_future AS isFuture, waveforms FROM readings
  WHERE is_future = 1 AND seq > ? AND ${STORED_BEFORE} ${which} ORDER BY seq LIMIT ?`;
const FUTURE_SQL = futureSql(`AND stream NOT IN ${EVENTS}`);
/** Events, too: a box clock that was ahead once dates all later ones ahead, so that their order holds. */
const FUTURE_OLD_SQL = futureSql("");
const FUTURE_WAVEFORMS_SQL = `SELECT r.seq AS readingSeq, w.file_id AS seq, w.stream, w.hour, w.time_ms AS timeMs,
  lower(hex(w.reading_id)) AS id FROM readings r
  CROSS JOIN waveforms w ON w.hour = r.hour AND w.stream = r.stream AND w.time_ms = r.time_ms AND w.reading_id = r.id
  WHERE r.is_future = 1 AND r.waveforms IS NOT NULL AND (r.seq, w.file_id) > (?, ?)
  AND r.stored_at_ms < ? AND (r.time_ms < ? OR r.time_ms > ?)
  AND w.file_id NOT IN (SELECT file_id FROM staged_waveforms) ORDER BY r.seq, w.file_id LIMIT ?`;
/** Events of alarms are given up when nothing else is left: there are few, and somebody may have to act on them. */
const GIVEN_UP_SQL = [
  FUTURE_SQL,
  rowsSql(`AND stream NOT IN ${EVENTS}`),
  rowsSql(`AND stream IN ${EVENTS}`),
];
const WAVEFORM_HOUR_SQL = "SELECT hour FROM waveforms WHERE hour >= ? ORDER BY hour LIMIT 1";
const WAVEFORM_ROWS_SQL = `SELECT file_id AS seq, stream, hour, time_ms AS timeMs, lower(hex(reading_id)) AS id FROM waveforms
  WHERE hour = ? AND (time_ms, file_id) > (?, ?)
  AND file_id NOT IN (SELECT file_id FROM staged_waveforms) ORDER BY time_ms, file_id LIMIT ?`;

/** Removes the oldest first, a slice at a time, inside the caller's transaction. */
export class Eviction {
  readonly #parts: EvictionParts;

  constructor(parts: EvictionParts) {
    this.#parts = parts;
  }

  /** Delivered readings of this age; removes `rowsMax` at most. */
  readings(tx: Tx, walk: EvictionWalk, age: Age, rowsMax: number): Slice {
    const { counting, pending, readings } = this.#parts;
    const slice = emptySlice();
    // As in a long outage: a search would look at all of them, in vain.
    if (pending.isAllPending(readings.count)) {
      walk.isOver = true;
      return slice;
    }
    const counted = counting?.leave();
    const { pass } = walk;
    for (const reading of this.#futureFirst(walk, age, TOGETHER_ROWS)) {
      if (pending.isPending(tx, reading) || this.#isStaying(reading)) continue;
      counted?.before(reading);
      this.#remove(tx, reading);
      slice.removed += 1;
      if (slice.removed < rowsMax) continue;
      // What comes after it is looked at again.
      const { hour, timeMs, seq } = reading;
      Object.assign(walk, { pass, hour, timeMs, seq, isOver: false });
      break;
    }
    counted?.write();
    return slice;
  }

  /**
   * The oldest readings, pending or not, each with a gap record; removes `rowsMax` at most. Each tier is the uplinks
   * that it may cost a reading, and is exhausted before the next; null costs everybody. A walk over all of them starts
   * at the oldest whatever was removed before: older ones may have been added since.
   */
  oldest(
    tx: Tx,
    walk: EvictionWalk,
    rowsMax: number,
    reason: string,
    tiers: readonly Tier[],
  ): Slice {
    const { counting, pending } = this.#parts;
    const counted = counting?.leave();
    const slice = emptySlice();
    const passes = GIVEN_UP_SQL.flatMap((sql) => tiers.map((tier) => ({ sql, tier })));
    if (tiers.includes(null)) Object.assign(walk, startWalk());
    for (let examined = 0; slice.removed < rowsMax && examined < EXAMINED_ROWS_MAX; ) {
      const pass = passes[walk.pass];
      if (pass === undefined) {
        walk.isOver = true;
        break;
      }
      const most = rowsMax - slice.removed;
      const found = this.#next(walk, WHATEVER_AGE, most, pass.sql);
      if (walk.isOver) Object.assign(walk, startWalk(walk.pass + 1));
      for (const reading of found) {
        // What is counted as lost must not arrive after all.
        if (pending.isUnderWay(reading) || this.#isSpared(tx, reading, pass.tier)) continue;
        if (this.#isStaying(reading)) continue;
        counted?.before(reading);
        this.#giveUp(tx, reading, reason, slice);
        this.#remove(tx, reading);
        slice.removed += 1;
      }
      if (pass.tier !== null) examined += found.length;
    }
    counted?.write();
    return slice;
  }

  #isSpared(tx: Tx, reading: Candidate, tier: Tier): boolean {
    const { pending } = this.#parts;
    return tier !== null && pending.isPending(tx, reading, ({ uplink }) => !tier.has(uplink.name));
  }

  #giveUp(tx: Tx, reading: Candidate, reason: string, slice: Slice): void {
    const { gaps, pending } = this.#parts;
    const lanes = pending.drop(tx, reading);
    if (lanes.length === 0) return;
    for (const uplink of new Set(lanes.map((lane) => lane.uplink.name)))
      gaps.add(tx, reading.stream, reading.timeMs, reason, uplink);
    slice.dropped += 1;
    // A record of a clock that ran ahead says nothing about the age of the others.
    if (reading.isFuture === 0)
      slice.newestMs = Math.max(slice.newestMs ?? reading.timeMs, reading.timeMs);
  }

  /** What is kept for years is moved out of the way; it stays while there is no space to move it. */
  #isStaying({ stream, timeMs, id, waveforms }: Candidate): boolean {
    if (waveforms === null) return false;
    const place = { stream, timeMs, id: id.toString("hex") };
    return this.#parts.keeping?.mayGo(place, null) === "waits";
  }

  #remove(tx: Tx, reading: Candidate): void {
    const { db, identities, readings, waveforms } = this.#parts;
    for (const { fileId } of reading.waveforms === null ? [] : parseRefs(reading.waveforms)) {
      waveforms.delete(fileId);
    }
    db.write("DELETE FROM readings WHERE seq = ?").run(reading.seq);
    tx.onCommit(() => {
      readings.count -= 1;
    });
    identities.forget(tx, reading.stream, reading.timeMs, hashOf(reading.id.toString("hex")));
  }

  #futureFirst(walk: EvictionWalk, age: Age, rowsMax: number): Candidate[] {
    const isFirst = walk.pass === 0;
    const future = age === WHATEVER_AGE ? FUTURE_SQL : FUTURE_OLD_SQL;
    const found = this.#next(walk, age, rowsMax, isFirst ? future : ROWS_SQL);
    if (isFirst && walk.isOver) Object.assign(walk, startWalk(1));
    return found;
  }

  #next(walk: EvictionWalk, age: Age, rowsMax: number, sql: string): Candidate[] {
    if (sql === FUTURE_SQL || sql === FUTURE_OLD_SQL) {
      const rows = this.#parts.db
        .write<Candidate>(sql)
        .all(walk.seq, ...storedBefore(age), rowsMax);
      walk.seq = rows.at(-1)?.seq ?? walk.seq;
      walk.isOver = rows.length < rowsMax;
      return rows;
    }
    const { db } = this.#parts;
    return nextRows<Candidate>(db, walk, age.untilMs, rowsMax, HOUR_SQL, sql);
  }

  /** Waveforms of this age; with `mayGiveUp` also those that are still pending in a waveform lane. */
  waveforms(tx: Tx, walk: EvictionWalk, age: Age, rowsMax: number, mayGiveUp: boolean): Slice {
    const { keeping, pending, waveforms } = this.#parts;
    const slice = emptySlice();
    const rows =
      walk.pass === 0
        ? this.#futureWaveforms(walk, age, rowsMax)
        : nextRows<Place & { readonly id: string }>(
            this.#parts.db,
            walk,
            age.untilMs,
            rowsMax,
            WAVEFORM_HOUR_SQL,
            WAVEFORM_ROWS_SQL,
          );
    for (const { seq: fileId, ...place } of rows) {
      const fate = keeping?.mayGo(place, mayGiveUp ? null : age.untilMs) ?? "goes";
      if (fate === "stays") slice.removed += 1;
      if (fate !== "goes") continue;
      // The rows of one time: a reading's axes share its outbox row.
      const readings = this.#readingsAt(place);
      // What is counted as lost must not arrive after all.
      if (readings.some((at) => pending.isUnderWay(at, carriesSamples))) continue;
      const undelivered = readings.filter((at) => pending.isPending(tx, at, carriesSamples));
      if (undelivered.length > 0 && !mayGiveUp) continue;
      for (const at of undelivered) slice.dropped += pending.drop(tx, at, carriesSamples).length;
      waveforms.delete(fileId);
      slice.removed += 1;
    }
    return slice;
  }

  #futureWaveforms(
    walk: EvictionWalk,
    age: Age,
    rowsMax: number,
  ): (Place & { readonly id: string })[] {
    const rows = this.#parts.db
      .write<Place & { readonly id: string; readonly readingSeq: number }>(FUTURE_WAVEFORMS_SQL)
      .all(walk.seq, walk.timeMs, ...storedBefore(age), rowsMax);
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsMax) Object.assign(walk, startWalk(1));
    else Object.assign(walk, { seq: last.readingSeq, timeMs: last.seq });
    return rows;
  }

  #readingsAt(place: Omit<Place, "seq">): Place[] {
    return this.#parts.db
      .write<{ seq: number }>(
        "SELECT seq FROM readings WHERE hour = ? AND stream = ? AND time_ms = ?",
      )
      .all(place.hour, place.stream, place.timeMs)
      .map(({ seq }) => ({ ...place, seq }));
  }
}
