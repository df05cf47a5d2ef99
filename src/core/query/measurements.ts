/** Measurements (an acceleration reading with its samples) as the store keeps and lists them. */
import { INTEGER, type Of, object, YES_NO } from "../schema.ts";
import type { StoredReading, WaveformRef } from "../stored-reading.ts";

export const KEPT_WHYS = ["ladder", "baseline", "alarm", "finding", "pin"] as const;
export type KeptWhy = (typeof KEPT_WHYS)[number];

/** The machine of a sensor when a measurement was taken. */
export interface MachineAt {
  /** Null while unknown, or if no signal shows it. */
  readonly running: boolean | null;
  /** r/min; null while unknown. */
  readonly speedRpm: number | null;
}

export interface Measurement extends MachineAt {
  readonly timeMs: number;
  /** Id of its reading. */
  readonly reading: string;
  readonly channels: readonly WaveformRef[];
  /** Empty for those that are merely young. */
  readonly kept: readonly { readonly why: KeptWhy; readonly note: string | null }[];
}

export interface MeasurementRange {
  readonly sensor: string;
  readonly fromMs: number;
  /** Excluded. */
  readonly toMs: number;
}

export interface MeasurementExtent {
  readonly count: number;
  readonly oldestMs: number;
  readonly newestMs: number;
}

export interface MeasurementQuery extends MeasurementRange {
  /** Leaves out the merely young. */
  readonly onlyKept?: boolean;
  /** Only those that are older, or of the same time and with a lower id. */
  readonly before?: { readonly timeMs: number; readonly reading: string } | null;
  readonly limit: number;
}

/** Measurements with samples: the young ones, and those that are kept. */
export interface Measurements {
  /** Newest first. */
  list(query: MeasurementQuery): readonly Measurement[];
  /** Number of measurements of a range, and the times of its oldest and newest; null for none. */
  extent(query: MeasurementRange): MeasurementExtent | null;
  find(sensor: string, reading: string): Measurement | null;
  /** The first one after a time. */
  next(sensor: string, afterMs: number): Measurement | null;
  /** Times of a range in any order; of the young ones one in each hour. */
  times(range: MeasurementRange): readonly number[];
  /** The reading of a measurement that is kept beyond the days of its samples; null for others. */
  readingOf(sensor: string, reading: string): StoredReading | null;
}

/** Room that kept measurements take. */
export const KEPT_STATE = object({
  measurements: INTEGER,
  pins: INTEGER,
  bytes: INTEGER,
  limitBytes: INTEGER,
  isFull: { ...YES_NO, description: "What must stay fills the room: new ones are not kept." },
});
export type KeptState = Of<typeof KEPT_STATE>;
