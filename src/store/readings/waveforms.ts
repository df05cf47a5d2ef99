import type { WaveformFiles } from "../../core/query/ports.ts";
import type { StoredWaveform } from "../../core/stored-reading.ts";
import { decodeSamples, WaveformDamage } from "../../lib/waveform-codec.ts";
import type { Database, Row } from "../database/database.ts";
import type { Streams } from "../database/streams.ts";
import type { PendingReading, PendingWaveform } from "./pending-response.ts";

const readSql = (
  table: string,
) => `SELECT stream, time_ms, reading_id, channel, axis, sample_rate_hz, calibration,
  recording_reason, sample_count, encoding, samples FROM ${table} WHERE file_id = ?`;
const hasSql = (table: string) => `SELECT 1 FROM ${table} WHERE file_id = ?`;
/** Samples move to the second for years; their file ids stay. */
const TABLES = ["waveforms", "kept_samples"];
const READ_SQL = TABLES.map(readSql);
const HAS_SQL = TABLES.map(hasSql);
const INSERT_SQL = `INSERT INTO waveforms (stream, time_ms, reading_id, channel, axis, sample_rate_hz,
  calibration, recording_reason, sample_count, encoding, samples) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Reported individually; on a disk with more damage than this the rest adds nothing. */
const DAMAGED_MAX = 1_000;

/** Handles a failed read: the write queue, which replaces a broken connection and repairs a damaged file. */
interface GuardedReads {
  read<T>(what: string, read: () => T): T;
}

/** The samples of a measurement, one row per axis. File ids are positive 32-bit numbers and never reused. */
export class Waveforms implements WaveformFiles {
  readonly #db: Database;
  readonly #streams: Streams;
  readonly #reads: GuardedReads;

  readonly #hasKept: boolean;
  readonly #onDamaged: (fileId: number, err: Error) => void;
  /** Files whose damage was reported. */
  readonly #damaged = new Set<number>();

  /** @param hasKept false for a store that an earlier version may have made */
  constructor(
    db: Database,
    streams: Streams,
    reads: GuardedReads,
    onDamaged: (fileId: number, err: Error) => void = () => {},
    hasKept = true,
  ) {
    this.#db = db;
    this.#hasKept = hasKept;
    this.#onDamaged = onDamaged;
    this.#streams = streams;
    this.#reads = reads;
  }

  /** Throws StoreFailure while the disk cannot be read. */
  has(fileId: number): boolean {
    return this.#rows(HAS_SQL, "find samples", fileId).length > 0;
  }

  /** Throws StoreFailure while the disk cannot be read. */
  read(fileId: number): StoredWaveform | null {
    const [row] = this.#rows(READ_SQL, "read samples", fileId);
    if (row === undefined) return null;
    const samples = this.#samplesOf(row, fileId);
    if (samples === null) return null;
    const { sensor } = this.#streams.get(row[0] as number);
    return {
      fileId,
      sensor,
      timeMs: row[1] as number,
      readingId: (row[2] as Buffer).toString("hex"),
      channel: row[3] as number,
      axis: row[4] as StoredWaveform["axis"],
      sampleRateHz: row[5] as number,
      calibration: row[6] as number,
      recordingReason: row[7] as number | null,
      samples,
    };
  }

  /** Of the first table that has some. */
  #rows(statements: readonly string[], what: string, fileId: number): Row[] {
    return this.#reads.read(what, () => {
      const [own = "", ...others] = statements;
      const rows = this.#db.read(own).all(fileId);
      if (rows.length > 0 || !this.#hasKept) return rows;
      return others.flatMap((sql) => this.#db.read(sql).all(fileId));
    });
  }

  /** Writes one axis and assigns its file id, inside the caller's transaction. */
  insert(stream: number, reading: PendingReading, waveform: PendingWaveform): void {
    const { lastInsertRowid } = this.#db
      .write(INSERT_SQL)
      .run(
        stream,
        reading.timeMs,
        Buffer.from(reading.id, "hex"),
        waveform.channel,
        waveform.axis,
        waveform.sampleRateHz,
        waveform.calibration,
        waveform.recordingReason,
        waveform.sampleCount,
        waveform.encoding,
        waveform.samples,
      );
    waveform.fileId = Number(lastInsertRowid);
  }

  /** Written ahead of its response: removed again unless the response is committed. */
  stage(fileId: number): void {
    this.#db.write("INSERT INTO staged_waveforms (file_id) VALUES (?)").run(fileId);
  }

  unstage(fileId: number): void {
    this.#db.write("DELETE FROM staged_waveforms WHERE file_id = ?").run(fileId);
  }

  /** Removes samples that no response has taken over. */
  deleteStaged(fileId: number): void {
    const { changes } = this.#db
      .write("DELETE FROM staged_waveforms WHERE file_id = ?")
      .run(fileId);
    if (changes > 0) this.delete(fileId);
  }

  delete(fileId: number): void {
    this.#db.write("DELETE FROM waveforms WHERE file_id = ?").run(fileId);
  }

  /** Removes what a response left behind when a crash interrupted it. */
  sweepStaged(): void {
    const staged = this.#db
      .write<{ file_id: number }>("SELECT file_id FROM staged_waveforms")
      .all();
    for (const { file_id } of staged) this.delete(file_id);
    if (staged.length > 0) this.#db.write("DELETE FROM staged_waveforms").run();
  }

  /** Null if the bytes are damaged: such samples are treated as deleted, and must not block whoever requests them. */
  #samplesOf(row: Row, fileId: number): Int16Array | null {
    try {
      return decodeSamples(row[9] as number, row[10] as Buffer, row[8] as number);
    } catch (error) {
      if (!(error instanceof WaveformDamage)) throw error;
      if (!this.#damaged.has(fileId) && this.#damaged.size < DAMAGED_MAX) {
        this.#damaged.add(fileId);
        this.#onDamaged(fileId, error);
      }
      return null;
    }
  }
}
