import type {
  MachineAt,
  Measurement,
  MeasurementExtent,
  MeasurementQuery,
  MeasurementRange,
  Measurements,
} from "../../../core/query/measurements.ts";
import type { StoredReading, WaveformRef } from "../../../core/stored-reading.ts";
import type { Database } from "../database/database.ts";
import type { Streams } from "../database/streams.ts";
import type { WriteQueue } from "../database/write-queue.ts";
import type { FoundMeasurement, KeptList, MeasurementPlace } from "../keeping.ts";
import type { StoreSteps } from "../store-steps.ts";
import { hourOf } from "./stored-reading.ts";

interface MeasurementsParts {
  readonly db: Database;
  readonly streams: Streams;
  readonly queue: Pick<WriteQueue, "read">;
  /** Null where nothing is kept beyond its days. */
  readonly kept: KeptList | null;
  readonly steps: { readonly list: readonly StoreSteps[] };
}

/** A channel of a young measurement. */
interface MeasuredChannel extends Omit<MeasurementPlace, "stream">, WaveformRef {}
const COLUMNS = "time_ms AS timeMs, lower(hex(reading_id)) AS id, file_id AS fileId, channel, axis";
const RANGE = "stream = ? AND time_ms >= ? AND time_ms < ?";
const COMMITTED = "file_id NOT IN (SELECT file_id FROM staged_waveforms)";
const SQL = {
  hour: "SELECT hour FROM waveforms WHERE hour <= ? ORDER BY hour DESC LIMIT 1",
  young: `SELECT ${COLUMNS} FROM waveforms WHERE hour = ? AND ${RANGE} AND ${COMMITTED}
    ORDER BY time_ms DESC, reading_id DESC, channel`,
  extent: `SELECT count(DISTINCT reading_id) AS count, min(time_ms) AS oldestMs, max(time_ms) AS newestMs FROM waveforms
    WHERE hour = ? AND ${RANGE} AND ${COMMITTED}`,
} as const;

/** Before every measurement, ms. */
const EVER_MS = -1e15;
const UNKNOWN: MachineAt = { running: null, speedRpm: null };

/** Lists measurements with samples: the young ones, and what stays. */
export class StoredMeasurements implements Measurements {
  readonly #parts: MeasurementsParts;

  constructor(parts: MeasurementsParts) {
    this.#parts = parts;
  }

  list(query: MeasurementQuery): readonly Measurement[] {
    const { sensor, limit, onlyKept = false } = query;
    const stream = this.#streamOf(sensor);
    if (stream === null) return [];
    const { kept, queue } = this.#parts;
    return queue.read("list measurements", () => {
      const old = kept?.list(stream, query).map((found) => this.#shown(sensor, found)) ?? [];
      const young: Measurement[] = [];
      for (const found of this.#young(stream, query)) {
        if (young.length >= limit) break;
        const shown = this.#shown(sensor, found);
        if (!onlyKept || shown.kept.length > 0) young.push(shown);
      }
      return [...old, ...young].sort(newestFirst).slice(0, limit);
    });
  }

  extent({ sensor, fromMs, toMs }: MeasurementRange): MeasurementExtent | null {
    const stream = this.#streamOf(sensor);
    if (stream === null) return null;
    const { kept, queue } = this.#parts;
    const some = queue
      .read("count measurements", () => [
        ...(kept?.extents(stream, fromMs, toMs) ?? []),
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
    return this.#parts.queue.read("find a measurement", () => {
      const old = this.#parts.kept?.next(stream, afterMs) ?? null;
      let young: FoundMeasurement | null = null;
      const range = { fromMs: afterMs + 1, toMs: old?.timeMs ?? Number.MAX_SAFE_INTEGER };
      for (const found of this.#young(stream, range)) young = found;
      const next = young ?? old;
      return next === null ? null : this.#shown(sensor, next);
    });
  }

  times({ sensor, fromMs, toMs }: MeasurementRange): readonly number[] {
    const stream = this.#streamOf(sensor);
    if (stream === null) return [];
    const { kept, queue } = this.#parts;
    return queue.read("list measurements", () => {
      const young = this.#youngExtents(stream, fromMs, toMs).filter(({ count }) => count > 0);
      const times = young.map(({ oldestMs }) => oldestMs);
      return [...(kept?.times(stream, fromMs, toMs) ?? []), ...times];
    });
  }

  readingOf(sensor: string, reading: string): StoredReading | null {
    const stream = this.#streamOf(sensor);
    const { kept, queue } = this.#parts;
    if (stream === null || kept === null) return null;
    return queue.read("read a measurement", () => kept.readingOf(stream, reading));
  }

  #streamOf(sensor: string): number | null {
    return this.#parts.streams.find(sensor, "accel")?.stream ?? null;
  }

  #find(stream: number, reading: string): FoundMeasurement | null {
    const old = this.#parts.kept?.find(stream, reading) ?? null;
    if (old !== null) return old;
    const all = { fromMs: EVER_MS, toMs: Number.MAX_SAFE_INTEGER };
    for (const found of this.#young(stream, all)) if (found.id === reading) return found;
    return null;
  }

  *#young(
    stream: number,
    { fromMs, toMs, before }: Pick<MeasurementQuery, "fromMs" | "toMs" | "before">,
  ): Generator<FoundMeasurement, void, void> {
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
    const extent = this.#parts.db.read<MeasurementExtent>(SQL.extent);
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

  /** For young ones; unknown where no feature says it. */
  #machineAt(sensor: string, timeMs: number): MachineAt {
    const steps = this.#parts.steps.list.find(({ machineAt }) => machineAt !== undefined);
    return steps?.machineAt?.(sensor, timeMs) ?? UNKNOWN;
  }

  #shown(sensor: string, found: FoundMeasurement): Measurement {
    const { timeMs, id, channels, ladder, machine } = found;
    const marks = this.#parts.kept?.marks(found) ?? [];
    const { running, speedRpm } = machine ?? this.#machineAt(sensor, timeMs);
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

/** Rows of channels, those of one measurement together. */
function measurementsOf(stream: number, rows: readonly MeasuredChannel[]): FoundMeasurement[] {
  const found = new Map<string, FoundMeasurement & { readonly channels: WaveformRef[] }>();
  for (const { timeMs, id, ...ref } of rows) {
    const key = `${timeMs}/${id}`;
    const known = found.get(key);
    if (known !== undefined) known.channels.push(ref);
    else found.set(key, { stream, timeMs, id, channels: [ref], ladder: false, machine: null });
  }
  return [...found.values()];
}

function newestFirst(a: Measurement, b: Measurement): number {
  return b.timeMs - a.timeMs || (a.reading < b.reading ? 1 : -1);
}
