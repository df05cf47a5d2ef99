import type { Measurement, MeasurementExtent } from "../../core/query/measurements.ts";
import type { StoredReading } from "../../core/stored-reading.ts";
import type {
  FoundMeasurement,
  KeepingParts,
  KeptList,
  MeasurementPlace,
} from "../../pipeline/store/keeping.ts";
import {
  parseRefs,
  type StoredReadingRow,
  toStoredReading,
} from "../../pipeline/store/readings/stored-reading.ts";
import { idOf } from "./kept-rows.ts";

interface KeptRow extends Omit<MeasurementPlace, "stream"> {
  readonly waveforms: string;
  /** The rung, or 0. */
  readonly ladder: number;
  readonly running: 0 | 1 | null;
  readonly speedRpm: number | null;
}

/** Of the reading, as text. */
const ID = "lower(hex(reading_id))";
const COLUMNS = `time_ms AS timeMs, ${ID} AS id, waveforms, ladder, running, speed_rpm AS speedRpm`;
const RANGE = "stream = ? AND time_ms >= ? AND time_ms < ?";
const SQL = {
  list: `SELECT ${COLUMNS} FROM kept_measurements
    WHERE ${RANGE} AND (time_ms, ${ID}) < (?, ?) ORDER BY time_ms DESC, reading_id DESC LIMIT ?`,
  byId: `SELECT ${COLUMNS} FROM kept_measurements WHERE reading_id = ? AND stream = ?`,
  next: `SELECT ${COLUMNS} FROM kept_measurements WHERE stream = ? AND time_ms > ? ORDER BY time_ms LIMIT 1`,
  times: `SELECT time_ms AS timeMs FROM kept_measurements WHERE ${RANGE}`,
  extent: `SELECT count(*) AS count, min(time_ms) AS oldestMs, max(time_ms) AS newestMs FROM kept_measurements WHERE ${RANGE}`,
  reading: `SELECT seq, stream, time_ms, reading_id, offset_minutes, stored_at_ms, unit_set, "values", quality,
    attributes, raw, waveforms FROM kept_measurements WHERE reading_id = ? AND stream = ?`,
  marks: `SELECT why, max(note) AS note FROM kept_marks WHERE stream = ? AND time_ms = ? AND reading_id = ? GROUP BY why`,
} as const;

type KeptMark = Measurement["kept"][number];
/** After every measurement. */
const END = { timeMs: Number.MAX_SAFE_INTEGER - 1, reading: "" };

/** Lists what stays. */
export class KeptMeasurements implements KeptList {
  readonly #parts: KeepingParts;

  constructor(parts: KeepingParts) {
    this.#parts = parts;
  }

  list(stream: number, { fromMs, toMs, before, limit }: Parameters<KeptList["list"]>[1]) {
    const { timeMs, reading } = before ?? END;
    return this.#parts.db
      .read<KeptRow>(SQL.list)
      .all(stream, fromMs, Math.min(toMs, timeMs + 1), timeMs, reading, limit)
      .map((row) => foundOf(stream, row));
  }

  extents(stream: number, fromMs: number, toMs: number): MeasurementExtent[] {
    return this.#parts.db.read<MeasurementExtent>(SQL.extent).all(stream, fromMs, toMs);
  }

  find(stream: number, reading: string): FoundMeasurement | null {
    const row = this.#parts.db.read<KeptRow>(SQL.byId).get(idOf(reading), stream);
    return row === undefined ? null : foundOf(stream, row);
  }

  next(stream: number, afterMs: number): FoundMeasurement | null {
    const row = this.#parts.db.read<KeptRow>(SQL.next).get(stream, afterMs);
    return row === undefined ? null : foundOf(stream, row);
  }

  times(stream: number, fromMs: number, toMs: number): number[] {
    const rows = this.#parts.db.read<{ timeMs: number }>(SQL.times).all(stream, fromMs, toMs);
    return rows.map(({ timeMs }) => timeMs);
  }

  readingOf(stream: number, reading: string): StoredReading | null {
    const [row] = this.#parts.db
      .readArrays<StoredReadingRow>(SQL.reading)
      .all(idOf(reading), stream);
    if (row === undefined) return null;
    const stored = toStoredReading(row, this.#parts.streams);
    return this.#parts.db.damaged.readable(stored, false, "kept_measurements");
  }

  marks({ stream, timeMs, id }: MeasurementPlace): KeptMark[] {
    return this.#parts.db.read<KeptMark>(SQL.marks).all(stream, timeMs, idOf(id));
  }
}

function foundOf(stream: number, row: KeptRow): FoundMeasurement {
  const { timeMs, id, waveforms, ladder, running, speedRpm } = row;
  return {
    stream,
    timeMs,
    id,
    channels: parseRefs(waveforms),
    ladder: ladder > 0,
    machine: { running: running === null ? null : running === 1, speedRpm },
  };
}
