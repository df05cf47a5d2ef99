import { isDamagedRecord } from "../../core/record/damaged-record.ts";
import type { WaveformRef } from "../../core/stored-reading.ts";
import type { Database } from "../../pipeline/store/database/database.ts";
import type { MeasurementPlace } from "../../pipeline/store/keeping.ts";
import { formatRefs, hourOf, parseRefs } from "../../pipeline/store/readings/stored-reading.ts";
import type { Rated, Rung } from "./rules/ladder.ts";

export interface KeptRow extends MeasurementPlace, Rated {}

/** The machine at the time of a measurement, for its row. */
export interface Facts extends Pick<Rated, "isRunning" | "speedRpm" | "usualRpm"> {
  readonly running: boolean | null;
}

/** The order in which measurements go when room is short; 1 to 3 are the rungs of the ladder. */
export const ALARM_RANK = 4;
export const MUST_STAY_RANK = 5;

interface Sample {
  readonly fileId: number;
  readonly channel: number;
  readonly axis: WaveformRef["axis"];
  readonly bytes: number;
}

const ID = "lower(hex(reading_id)) AS id";
const KEY = "stream = ? AND time_ms = ? AND reading_id = ?";
const SAMPLE_COLUMNS =
  "file_id, stream, time_ms, reading_id, channel, axis, sample_rate_hz, calibration, recording_reason, sample_count, encoding, samples";
const READING_COLUMNS = `seq, offset_minutes, stored_at_ms, unit_set, "values", quality, attributes, raw`;
const COMMITTED = "file_id NOT IN (SELECT file_id FROM staged_waveforms)";
const RATED = `stream, time_ms AS timeMs, ${ID}, counts_as_running AS isRunning, speed_rpm AS speedRpm, usual_rpm AS usualRpm`;

const SQL = {
  samples: `SELECT file_id AS fileId, channel, axis, length(samples) AS bytes FROM waveforms
    WHERE hour = ? AND ${KEY} AND ${COMMITTED} ORDER BY channel`,
  candidates: `SELECT DISTINCT time_ms AS timeMs, ${ID} FROM waveforms
    WHERE hour = ? AND stream = ? AND time_ms >= ? AND time_ms < ? AND ${COMMITTED}`,
  newest: `SELECT time_ms AS timeMs, ${ID} FROM waveforms
    WHERE hour = ? AND stream = ? AND time_ms <= ? AND ${COMMITTED} ORDER BY time_ms DESC, file_id DESC LIMIT 1`,
  hasReading: "SELECT 1 FROM readings WHERE hour = ? AND stream = ? AND time_ms = ? AND id = ?",
  texts: `SELECT "values", quality FROM readings WHERE hour = ? AND stream = ? AND time_ms = ? AND id = ?`,
  reading: `SELECT ${READING_COLUMNS} FROM readings WHERE hour = ? AND stream = ? AND time_ms = ? AND id = ?`,
  onRung: `SELECT ${RATED} FROM kept_measurements WHERE ladder = ? AND time_ms >= ? AND time_ms < ? AND stream = ?`,
  leaving: `SELECT ${RATED} FROM kept_measurements WHERE ladder = ? AND time_ms < ? ORDER BY time_ms LIMIT ?`,
  lowest: `SELECT stream, time_ms AS timeMs, ${ID} FROM kept_measurements WHERE rank < ? ORDER BY rank, time_ms LIMIT 1`,
  kept: `SELECT rank, bytes, waveforms FROM kept_measurements WHERE ${KEY}`,
  above: "SELECT total(bytes) AS bytes FROM kept_measurements WHERE (rank, time_ms) > (?, ?)",
  pins: "SELECT count(*) AS n FROM kept_marks WHERE why = 'pin'",
  held: "SELECT total(bytes) AS bytes FROM kept_marks WHERE why = 'pin'",
  markRank: `SELECT max(rank) AS rank FROM kept_marks WHERE ${KEY}`,
  rank: `UPDATE kept_measurements SET rank = max(ladder, ?) WHERE ${KEY}`,
} as const;

export class KeptRows {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /* ---------- samples that are not kept yet ---------- */

  /** Measurements with samples. @param toMs excluded */
  candidates(stream: number, fromMs: number, toMs: number): MeasurementPlace[] {
    const found: MeasurementPlace[] = [];
    const statement = this.#db.write<Omit<MeasurementPlace, "stream">>(SQL.candidates);
    for (let hour = hourOf(fromMs); hour <= hourOf(toMs - 1); hour++)
      for (const row of statement.all(hour, stream, fromMs, toMs)) found.push({ stream, ...row });
    return found;
  }

  /** The newest measurement at or before a time, and not older than that; null if there is none. */
  newestBefore(stream: number, timeMs: number, spanMs: number): MeasurementPlace | null {
    const statement = this.#db.write<Omit<MeasurementPlace, "stream">>(SQL.newest);
    for (let hour = hourOf(timeMs); hour >= hourOf(timeMs - spanMs); hour--) {
      const row = statement.get(hour, stream, timeMs);
      if (row !== undefined) return { stream, ...row };
    }
    return null;
  }

  hasReading({ stream, timeMs, id }: MeasurementPlace): boolean {
    const row = this.#db.write(SQL.hasReading).get(hourOf(timeMs), stream, timeMs, idOf(id));
    return row !== undefined;
  }

  /** Whether all axes of the record are damaged: nothing can be compared with it. */
  isDamaged({ stream, timeMs, id }: MeasurementPlace): boolean {
    const at = [hourOf(timeMs), stream, timeMs, idOf(id)];
    const row = this.#db.write<{ values: string; quality: string }>(SQL.texts).get(...at);
    return row !== undefined && isDamagedRecord(row);
  }

  hasSamples(place: MeasurementPlace): boolean {
    return this.#samples(place).length > 0;
  }

  #samples({ stream, timeMs, id }: MeasurementPlace): Sample[] {
    return this.#db.write<Sample>(SQL.samples).all(hourOf(timeMs), stream, timeMs, idOf(id));
  }

  /** What a measurement with these samples takes once it is kept: whole pages, as blobs do. */
  bytesOf(place: MeasurementPlace): number {
    const { pageBytes } = this.#db;
    const pages = this.#samples(place).map(({ bytes }) => Math.ceil(bytes / pageBytes) + 1);
    return pages.reduce((sum, count) => sum + count, 2) * pageBytes;
  }

  /** Moves reading and samples to where retention does not look. False if either is gone. */
  take(place: MeasurementPlace, facts: Facts, ladder: Rung | 0): boolean {
    const { stream, timeMs, id } = place;
    const db = this.#db;
    const at = [hourOf(timeMs), stream, timeMs, idOf(id)];
    const reading = db.write<Record<string, unknown>>(SQL.reading).get(...at);
    const samples = this.#samples(place);
    if (reading === undefined || samples.length === 0) return false;
    const bytes = this.bytesOf(place);
    for (const { fileId } of samples) this.#move(fileId);
    db.write(
      `INSERT OR REPLACE INTO kept_measurements (stream, time_ms, reading_id, ladder, rank, bytes, running,
       counts_as_running, speed_rpm, usual_rpm, ${READING_COLUMNS}, waveforms)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ).run(
      stream,
      timeMs,
      idOf(id),
      ladder,
      ladder,
      bytes,
      facts.running === null ? null : Number(facts.running),
      Number(facts.isRunning),
      facts.speedRpm,
      facts.usualRpm,
      ...Object.values(reading),
      formatRefs(samples),
    );
    // Room is held for young pins; this one has it now.
    db.write(`UPDATE kept_marks SET bytes = 0 WHERE ${KEY}`).run(stream, timeMs, idOf(id));
    this.rerank(place);
    return true;
  }

  /** Deleted first: in a full file the pages of the one are those of the other. */
  #move(fileId: number): void {
    const row = this.#db
      .write<Record<string, unknown>>(`SELECT ${SAMPLE_COLUMNS} FROM waveforms WHERE file_id = ?`)
      .get(fileId);
    this.#db.write("DELETE FROM waveforms WHERE file_id = ?").run(fileId);
    this.#db
      .write(
        `INSERT OR REPLACE INTO kept_samples (${SAMPLE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(...Object.values(row ?? {}));
  }

  /* ---------- kept ones ---------- */

  kept({
    stream,
    timeMs,
    id,
  }: MeasurementPlace): { readonly rank: number; readonly bytes: number } | null {
    const row = this.#db.write<{ rank: number; bytes: number }>(SQL.kept);
    return row.get(stream, timeMs, idOf(id)) ?? null;
  }

  onRung(stream: number, rung: Rung, fromMs: number, toMs: number): KeptRow[] {
    return this.#rated(this.#db.write<KeptRow>(SQL.onRung).all(rung, fromMs, toMs, stream));
  }

  /** Those of a rung that are older than it reaches, oldest first. */
  leaving(rung: Rung, untilMs: number, rowsMax: number): KeptRow[] {
    return this.#rated(this.#db.write<KeptRow>(SQL.leaving).all(rung, untilMs, rowsMax));
  }

  #rated(rows: KeptRow[]): KeptRow[] {
    return rows.map((row) => ({ ...row, isRunning: Boolean(row.isRunning) }));
  }

  setRung({ stream, timeMs, id }: MeasurementPlace, rung: Rung | 0): void {
    this.#db
      .write(`UPDATE kept_measurements SET ladder = ? WHERE ${KEY}`)
      .run(rung, stream, timeMs, idOf(id));
    this.rerank({ stream, timeMs, id });
  }

  /** After its marks have changed. */
  rerank({ stream, timeMs, id }: MeasurementPlace): void {
    const at = [stream, timeMs, idOf(id)];
    this.#db.write(SQL.rank).run(this.markRank({ stream, timeMs, id }), ...at);
  }

  /** 0 without marks. */
  markRank({ stream, timeMs, id }: MeasurementPlace): number {
    const row = this.#db.write<{ rank: number | null }>(SQL.markRank).get(stream, timeMs, idOf(id));
    return row?.rank ?? 0;
  }

  /** The one that goes first; null if all that are left must stay. */
  lowest(belowRank: number): MeasurementPlace | null {
    return this.#db.write<MeasurementPlace>(SQL.lowest).get(belowRank) ?? null;
  }

  /** What goes later than a measurement of this rank and time, bytes. */
  bytesAbove(rank: number, timeMs: number): number {
    return this.#db.write<{ bytes: number }>(SQL.above).get(rank, timeMs)?.bytes ?? 0;
  }

  /** Held for young pins, bytes. */
  get bytesHeld(): number {
    return this.#db.write<{ bytes: number }>(SQL.held).get()?.bytes ?? 0;
  }

  get pins(): number {
    return this.#db.write<{ n: number }>(SQL.pins).get()?.n ?? 0;
  }

  remove({ stream, timeMs, id }: MeasurementPlace): void {
    const at = [stream, timeMs, idOf(id)];
    const row = this.#db.write<{ waveforms: string }>(SQL.kept).get(...at);
    for (const { fileId } of row === undefined ? [] : parseRefs(row.waveforms))
      this.#db.write("DELETE FROM kept_samples WHERE file_id = ?").run(fileId);
    this.#db.write(`DELETE FROM kept_measurements WHERE ${KEY}`).run(...at);
    this.unmark({ stream, timeMs, id });
  }

  /** Removes every mark of a measurement. */
  unmark({ stream, timeMs, id }: MeasurementPlace): void {
    this.#db.write(`DELETE FROM kept_marks WHERE ${KEY}`).run(stream, timeMs, idOf(id));
  }
}

export const idOf = (hex: string) => Buffer.from(hex, "hex");
