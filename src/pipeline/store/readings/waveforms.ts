import type { WaveformFiles } from "../../../core/query/ports.ts";
import type { StoredWaveform } from "../../../core/stored-reading.ts";
import { decodeSamples, WaveformDamage } from "../../../lib/waveform-codec.ts";
import type { Database } from "../database/database.ts";
import type { Streams } from "../database/streams.ts";
import type { PendingReading, PendingWaveform } from "./pending-response.ts";

interface WaveformRow extends Omit<StoredWaveform, "fileId" | "sensor" | "readingId" | "samples"> {
  readonly tableName: string;
  readonly stream: number;
  readonly id: Buffer;
  readonly sampleCount: number;
  readonly encoding: number;
  readonly packed: Buffer;
}

const readSql = (
  table: string,
) => `SELECT '${table}' AS tableName, stream, time_ms AS timeMs, reading_id AS id, channel, axis, sample_rate_hz AS sampleRateHz, calibration,
  recording_reason AS recordingReason, sample_count AS sampleCount, encoding, samples AS packed
  FROM ${table} WHERE file_id = ?`;
const hasSql = (table: string) => `SELECT 1 FROM ${table} WHERE file_id = ?`;
/** Samples move to the second for years; their file ids stay. */
const TABLES = ["waveforms", "kept_samples"];
const READ_SQL = TABLES.map(readSql);
const HAS_SQL = TABLES.map(hasSql);
const INSERT_SQL = `INSERT INTO waveforms (stream, time_ms, reading_id, channel, axis, sample_rate_hz,
  calibration, recording_reason, sample_count, encoding, samples) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Reported individually; on a disk with more damage than this the rest adds nothing. */
const DAMAGED_MAX = 1_000;

type DamageListener = (table: string, fileId: number) => void;

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
  readonly #onDamaged: DamageListener;
  /** Files whose damage was reported. */
  readonly #damaged = new Set<number>();

  /** @param hasKept false for a store that an earlier version may have made */
  constructor(
    db: Database,
    streams: Streams,
    reads: GuardedReads,
    onDamaged: DamageListener = () => {},
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
    return this.#row(HAS_SQL, "find samples", fileId) !== undefined;
  }

  /** Throws StoreFailure while the disk cannot be read. */
  read(fileId: number): StoredWaveform | null {
    const row = this.#row<WaveformRow>(READ_SQL, "read samples", fileId);
    if (row === undefined) return null;
    const samples = this.#samplesOf(row, fileId);
    if (samples === null) return null;
    const { stream, timeMs, id, channel, axis, sampleRateHz, calibration, recordingReason } = row;
    return {
      fileId,
      sensor: this.#streams.get(stream).sensor,
      timeMs,
      readingId: id.toString("hex"),
      channel,
      axis,
      sampleRateHz,
      calibration,
      recordingReason,
      samples,
    };
  }

  /** Of the first table that has some. */
  #row<T>(statements: readonly string[], what: string, fileId: number): T | undefined {
    return this.#reads.read(what, () => {
      for (const sql of this.#hasKept ? statements : statements.slice(0, 1)) {
        const row = this.#db.read<T>(sql).get(fileId);
        if (row !== undefined) return row;
      }
      return undefined;
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
  #samplesOf(row: WaveformRow, fileId: number): Int16Array | null {
    try {
      return decodeSamples(row.encoding, row.packed, row.sampleCount);
    } catch (error) {
      if (!(error instanceof WaveformDamage)) throw error;
      if (!this.#damaged.has(fileId) && this.#damaged.size < DAMAGED_MAX) {
        this.#damaged.add(fileId);
        this.#onDamaged(row.tableName, fileId);
      }
      return null;
    }
  }
}
