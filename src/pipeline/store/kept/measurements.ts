import {
  type Measurement,
  type MeasurementExtent,
  type MeasurementQuery,
  type MeasurementRange,
  type Measurements,
  PINS_MAX,
  type PinOutcome,
} from "../../../core/kept/ports.ts";
import type { StoredReading } from "../../../core/stored-reading.ts";
import type { Database } from "../database/database.ts";
import type { Streams } from "../database/streams.ts";
import type { WriteQueue } from "../database/write-queue.ts";
import { hourOf, type StoredReadingRow, toStoredReading } from "../readings/stored-reading.ts";
import type { Keeper } from "./keeper.ts";
import { idOf, type MeasurementPlace, MUST_STAY_RANK } from "./kept-rows.ts";
import {
  CHANNEL_COLUMNS,
  type Found,
  ID,
  KEPT_COLUMNS,
  type KeptMeasurementRow,
  keptOf,
  type MeasuredChannel,
  measurementsOf,
  newestFirst,
} from "./measurement-rows.ts";

interface MeasurementsParts {
  readonly db: Database;
  readonly streams: Streams;
  readonly queue: Pick<WriteQueue, "read" | "soon">;
  readonly keeper: Keeper;
}

type KeptMark = Measurement["kept"][number];
type Before = NonNullable<MeasurementQuery["before"]>;

const RANGE = "stream = ? AND time_ms >= ? AND time_ms < ?";
const COMMITTED = "file_id NOT IN (SELECT file_id FROM staged_waveforms)";
const SQL = {
  kept: `SELECT ${KEPT_COLUMNS} FROM kept_measurements
    WHERE ${RANGE} AND (time_ms, ${ID}) < (?, ?) ORDER BY time_ms DESC, reading_id DESC LIMIT ?`,
  keptById: `SELECT ${KEPT_COLUMNS} FROM kept_measurements
    WHERE reading_id = ? AND stream = ?`,
  keptNext: `SELECT ${KEPT_COLUMNS} FROM kept_measurements
    WHERE stream = ? AND time_ms > ? ORDER BY time_ms LIMIT 1`,
  keptTimes: `SELECT time_ms AS timeMs FROM kept_measurements WHERE ${RANGE}`,
  keptExtent: `SELECT count(*) AS count, min(time_ms) AS oldestMs, max(time_ms) AS newestMs FROM kept_measurements WHERE ${RANGE}`,
  reading: `SELECT seq, stream, time_ms, reading_id, offset_minutes, stored_at_ms, unit_set, "values", quality,
    attributes, raw, waveforms FROM kept_measurements WHERE reading_id = ? AND stream = ?`,
  hour: "SELECT hour FROM waveforms WHERE hour <= ? ORDER BY hour DESC LIMIT 1",
  young: `SELECT ${CHANNEL_COLUMNS} FROM waveforms WHERE hour = ? AND ${RANGE} AND ${COMMITTED}
    ORDER BY time_ms DESC, reading_id DESC, channel`,
  youngExtent: `SELECT count(DISTINCT reading_id) AS count, min(time_ms) AS oldestMs, max(time_ms) AS newestMs FROM waveforms
    WHERE hour = ? AND ${RANGE} AND ${COMMITTED}`,
  marks: `SELECT why, max(note) AS note FROM kept_marks WHERE stream = ? AND time_ms = ? AND reading_id = ? GROUP BY why`,
  pins: "SELECT count(*) AS n FROM kept_marks WHERE why = 'pin'",
} as const;

const END: Before = { timeMs: Number.MAX_SAFE_INTEGER - 1, reading: "" };

/** Lists measurements, young and kept, and takes pins. */
export class StoredMeasurements implements Measurements {
  readonly #parts: MeasurementsParts;

  constructor(parts: MeasurementsParts) {
    this.#parts = parts;
  }

  list(query: MeasurementQuery): readonly Measurement[] {
    const { sensor, limit, onlyKept = false } = query;
    const stream = this.#streamOf(sensor);
    if (stream === null) return [];
    return this.#parts.queue.read("list measurements", () => {
      const kept = this.#kept(stream, query).map((found) => this.#shown(sensor, found));
      const young: Measurement[] = [];
      for (const found of this.#young(stream, query)) {
        if (young.length >= limit) break;
        const shown = this.#shown(sensor, found);
        if (!onlyKept || shown.kept.length > 0) young.push(shown);
      }
      return [...kept, ...young].sort(newestFirst).slice(0, limit);
    });
  }

  extent({ sensor, fromMs, toMs }: MeasurementRange): MeasurementExtent | null {
    const stream = this.#streamOf(sensor);
    if (stream === null) return null;
    const { db, queue } = this.#parts;
    const some = queue
      .read("count measurements", () => [
        ...db.read<MeasurementExtent>(SQL.keptExtent).all(stream, fromMs, toMs),
        ...this.#youngExtents(stream, fromMs, toMs),
      ])
      .filter(({ count }) => count > 0);
    if (some.length === 0) return null;
    return {
      count: some.reduce((sum, { count }) => sum + count, 0),
      oldestMs: Math.min(...some.map(({ oldestMs }) => oldestMs)),
      newestMs: Math.max(...some.map(({ newestMs }) => newestMs)),
    };
  }

  find(sensor: string, reading: string): Measurement | null {
    const stream = this.#streamOf(sensor);
    if (stream === null) return null;
    return this.#parts.queue.read("find a measurement", () => {
      const found = this.#find(stream, reading);
      return found === null ? null : this.#shown(sensor, found);
    });
  }

  next(sensor: string, afterMs: number): Measurement | null {
    const stream = this.#streamOf(sensor);
    if (stream === null) return null;
    const { db, queue } = this.#parts;
    return queue.read("find a measurement", () => {
      const row = db.read<KeptMeasurementRow>(SQL.keptNext).get(stream, afterMs);
      const kept = row === undefined ? null : keptOf(stream, row);
      let young: Found | null = null;
      const range = { fromMs: afterMs + 1, toMs: kept?.timeMs ?? Number.MAX_SAFE_INTEGER };
      for (const found of this.#young(stream, range)) young = found;
      const next = young ?? kept;
      return next === null ? null : this.#shown(sensor, next);
    });
  }

  times({ sensor, fromMs, toMs }: MeasurementRange): readonly number[] {
    const stream = this.#streamOf(sensor);
    if (stream === null) return [];
    const { db, queue } = this.#parts;
    return queue.read("list measurements", () => {
      const kept = db.read<{ timeMs: number }>(SQL.keptTimes).all(stream, fromMs, toMs);
      const young = this.#youngExtents(stream, fromMs, toMs).filter(({ count }) => count > 0);
      return [...kept.map(({ timeMs }) => timeMs), ...young.map(({ oldestMs }) => oldestMs)];
    });
  }

  readingOf(sensor: string, reading: string): StoredReading | null {
    const stream = this.#streamOf(sensor);
    if (stream === null) return null;
    const { db, queue, streams } = this.#parts;
    const [row] = queue.read("read a measurement", () =>
      db.readArrays<StoredReadingRow>(SQL.reading).all(idOf(reading), stream),
    );
    if (row === undefined) return null;
    return db.damaged.readable(toStoredReading(row, streams), false, "kept_measurements");
  }

  /* ---------- pins ---------- */

  async pin(sensor: string, reading: string, note: string): Promise<PinOutcome> {
    const { db, keeper, queue } = this.#parts;
    return queue.soon("pin a measurement", () => {
      const place = this.#placeOf(sensor, reading);
      if (place === null) return "unknown";
      if (!keeper.isOn) return "gone";
      const { rows } = keeper;
      const at = [place.stream, place.timeMs, idOf(place.id)];
      const isPinned = db
        .write(
          `UPDATE kept_marks SET note = ? WHERE stream = ? AND time_ms = ? AND reading_id = ? AND why = 'pin'`,
        )
        .run(note, ...at).changes;
      if (isPinned > 0) return "done";
      const kept = rows.kept(place);
      const bytes = kept?.bytes ?? rows.bytesOf(place);
      const added = kept?.rank === MUST_STAY_RANK ? 0 : bytes;
      const taken = rows.bytesAbove(MUST_STAY_RANK, -1e15) + rows.bytesHeld;
      const pins = db.write<{ n: number }>(SQL.pins);
      if ((pins.get()?.n ?? 0) >= PINS_MAX || taken + added > keeper.limitBytes) return "full";
      db.write("INSERT INTO kept_marks VALUES (?, ?, ?, 'pin', '', ?, ?, ?)").run(
        ...at,
        note,
        MUST_STAY_RANK,
        kept === null ? bytes : 0,
      );
      rows.rerank(place);
      return "done";
    });
  }

  /** It leaves with the next thinning, unless something else keeps it. */
  async unpin(sensor: string, reading: string): Promise<PinOutcome> {
    const { db, keeper, queue } = this.#parts;
    return queue.soon("unpin a measurement", () => {
      const place = this.#placeOf(sensor, reading);
      if (place === null) return "unknown";
      db.write(
        "DELETE FROM kept_marks WHERE stream = ? AND time_ms = ? AND reading_id = ? AND why = 'pin'",
      ).run(place.stream, place.timeMs, idOf(place.id));
      keeper.rows.rerank(place);
      return "done";
    });
  }

  /** In the transaction: retention may have taken it while a lock was waited for. */
  #placeOf(sensor: string, reading: string): MeasurementPlace | null {
    const stream = this.#streamOf(sensor);
    const found = stream === null ? null : this.#find(stream, reading);
    if (found === null) return null;
    const { rows } = this.#parts.keeper;
    return rows.kept(found) !== null || rows.hasSamples(found) ? found : null;
  }

  /* ---------- rows ---------- */

  #streamOf(sensor: string): number | null {
    return this.#parts.streams.find(sensor, "accel")?.stream ?? null;
  }

  #find(stream: number, reading: string): Found | null {
    const keptById = this.#parts.db.read<KeptMeasurementRow>(SQL.keptById);
    const row = keptById.get(idOf(reading), stream);
    if (row !== undefined) return keptOf(stream, row);
    const all = { fromMs: EVER_MS, toMs: Number.MAX_SAFE_INTEGER };
    for (const found of this.#young(stream, all)) if (found.id === reading) return found;
    return null;
  }

  #kept(stream: number, { fromMs, toMs, before, limit }: MeasurementQuery): Found[] {
    const { timeMs, reading } = before ?? END;
    return this.#parts.db
      .read<KeptMeasurementRow>(SQL.kept)
      .all(stream, fromMs, Math.min(toMs, timeMs + 1), timeMs, reading, limit)
      .map((row) => keptOf(stream, row));
  }

  *#young(
    stream: number,
    { fromMs, toMs, before }: Pick<MeasurementQuery, "fromMs" | "toMs" | "before">,
  ): Generator<Found, void, void> {
    const endMs = before ? Math.min(toMs, before.timeMs + 1) : toMs;
    for (const hour of this.#hours(fromMs, endMs)) {
      const rows = this.#parts.db.read<MeasuredChannel>(SQL.young).all(hour, stream, fromMs, endMs);
      for (const found of measurementsOf(stream, rows)) {
        const isPassed = before && found.timeMs === before.timeMs && found.id >= before.reading;
        if (!isPassed) yield found;
      }
    }
  }

  /** Of each hour with samples. */
  #youngExtents(stream: number, fromMs: number, toMs: number): MeasurementExtent[] {
    const extent = this.#parts.db.read<MeasurementExtent>(SQL.youngExtent);
    const hours = [...this.#hours(fromMs, toMs)];
    return hours.flatMap((hour) => extent.all(hour, stream, fromMs, toMs));
  }

  /** Hours that hold samples of any sensor, newest first. */
  *#hours(fromMs: number, toMs: number): Generator<number, void, void> {
    const before = this.#parts.db.read<{ hour: number }>(SQL.hour);
    const next = (hour: number) => before.get(hour)?.hour ?? Number.NEGATIVE_INFINITY;
    const first = hourOf(Math.max(fromMs, EVER_MS));
    for (let hour = next(hourOf(toMs - 1)); hour >= first; hour = next(hour - 1)) yield hour;
  }

  #shown(sensor: string, found: Found): Measurement {
    const { timeMs, id, channels, ladder } = found;
    const marks = this.#parts.db.read<KeptMark>(SQL.marks).all(found.stream, timeMs, idOf(id));
    const { running, speedRpm } = found.machine ??
      this.#parts.keeper.machines?.at(sensor, timeMs) ?? { running: null, speedRpm: null };
    return {
      timeMs,
      reading: id,
      channels,
      running,
      speedRpm,
      kept: [...(ladder ? [{ why: "ladder" as const, note: null }] : []), ...marks],
    };
  }
}

const EVER_MS = -1e15;
