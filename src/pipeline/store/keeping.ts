/**
 * What stays of measurements beyond WAVEFORM_DAYS, where a feature keeps any: the store asks it before samples go, and
 * lists what stays beside what is young. Without it samples go with their time.
 */
import type { AlarmEvent } from "../../core/alarm/event.ts";
import type {
  KeptState,
  MachineAt,
  Measurement,
  MeasurementExtent,
  MeasurementQuery,
} from "../../core/query/measurements.ts";
import type { Kind } from "../../core/sensor.ts";
import type { StoredReading, WaveformRef } from "../../core/stored-reading.ts";
import type { Database } from "./database/database.ts";
import type { Streams } from "./database/streams.ts";

export interface KeepingParts {
  readonly db: Database;
  readonly streams: Streams;
}

/** Identifies a measurement. */
export interface MeasurementPlace {
  readonly stream: number;
  readonly timeMs: number;
  /** Of its reading, 32 hex digits. */
  readonly id: string;
}

/** With samples that are stored, before what is known of why it is kept. */
export interface FoundMeasurement extends MeasurementPlace {
  readonly channels: readonly WaveformRef[];
  readonly ladder: boolean;
  /** Of what stays; of young ones it is looked up. */
  readonly machine: MachineAt | null;
}

/** What stays, by committed rows. */
export interface KeptList {
  /** Newest first. */
  list(stream: number, query: Omit<MeasurementQuery, "sensor" | "onlyKept">): FoundMeasurement[];
  /** Of no measurement too: a count of zero. @param toMs excluded */
  extents(stream: number, fromMs: number, toMs: number): MeasurementExtent[];
  find(stream: number, reading: string): FoundMeasurement | null;
  /** The first one after a time. */
  next(stream: number, afterMs: number): FoundMeasurement | null;
  /** @param toMs excluded */
  times(stream: number, fromMs: number, toMs: number): number[];
  readingOf(stream: number, reading: string): StoredReading | null;
  /** Why it is kept beside the ladder, a young one too. */
  marks(place: MeasurementPlace): Measurement["kept"];
}

/** What the choice of measurements needs to know about machines. */
export interface MeasuredMachines {
  /** The machine's state and speed at that time, and whether it counts as running. */
  at(sensor: string, timeMs: number): MachineAt & { readonly isRunning: boolean };
  /** Whether a read to come may still tell the machine's state or speed at that time. */
  isAwaited(sensor: string, timeMs: number): boolean;
  /** Median speed of the running machine over 30 days, r/min, as of the last `refresh`; null while unknown. */
  usualRpm(sensor: string): number | null;
  /** Codes of the sensors of the same machine, the sensor itself first. */
  together(sensor: string): readonly string[];
  /** Computes the usual speeds that are a day old, or of days that are still being read. */
  refresh(nowMs: number): Promise<void>;
}

/** A reading with which a baseline was learned. */
interface CompletedBaseline {
  readonly sensor: string;
  readonly kind: Kind;
  /** Rule, value and running state. */
  readonly baseline: string;
  readonly timeMs: number;
  readonly id: string;
}

/** What alarms and findings make of the readings of a transaction. */
export interface NotedChanges {
  readonly events: readonly AlarmEvent[];
  readonly completed?: readonly CompletedBaseline[];
}

/** Everything but `state`, `refresh`, `measure` and `kept` is inside the caller's transaction. */
export interface Keeping {
  /** Null without machines: then each sensor counts as running, at no known speed. */
  machines: MeasuredMachines | null;
  readonly kept: KeptList;
  /**
   * Asked before samples are removed. The caller removes what `goes`; what `stays` was moved; what `waits` is asked for
   * again: its day is not over, its machine not known yet, or there is no space to move it.
   * @param untilMs samples before it are due by age; null: space is needed, whatever their age
   */
  mayGo(place: MeasurementPlace, untilMs: number | null): "goes" | "stays" | "waits";
  note(changes: NotedChanges): void;
  /** Before a pass over what is due; outside any transaction. */
  refresh(nowMs: number): Promise<void>;
  /** Since the last `refresh` something waits because its machine is not known yet. */
  readonly isWaiting: boolean;
  /** A slice; 0 when none is left. @param wholeUntilMs until when samples are whole no more */
  thin(wholeUntilMs: number, rowsMax: number): number;
  /** A slice; 0 when none is left. */
  trim(rowsMax: number): number;
  /** As it was at the last `measure`. */
  readonly state: KeptState;
  /** Counts what is committed. */
  measure(): void;
}

/** @param wholeMs WAVEFORM_DAYS, ms; 0: nothing stays @param bufferBytes BUFFER_MAX_MB, bytes */
export type CreateKeeping = (parts: KeepingParts, wholeMs: number, bufferBytes: number) => Keeping;

/** Of a store that keeps nothing. */
export const NOTHING_KEPT: KeptState = {
  measurements: 0,
  pins: 0,
  bytes: 0,
  limitBytes: 0,
  isFull: false,
};
