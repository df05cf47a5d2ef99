/** Stored readings as those see them who follow them into the store: what becomes of machines, alarms and findings. */
import type { Reading, RecordFacts } from "./reading.ts";
import { type StoredReading, storedQuality, storedValues } from "./stored-reading.ts";

/** A stored reading as they see it. */
export interface FollowedReading
  extends Pick<Reading, "id" | "timeMs" | "values" | "quality" | "tones"> {
  /** Dated in the future by a wrong clock: it says nothing about the present. */
  readonly isFuture: boolean;
  /** Of acceleration and what is derived from it. */
  readonly record?: RecordFacts | undefined;
  /** Of readings that waited: JSON of the `Scales` by which they were measured. */
  readonly scales?: string;
}

export type MachineState = "running" | "standing";

/** The speed of a machine around a time. */
export interface SpeedAround {
  /** At that time, r/min. */
  readonly rpm: number;
  /** Of the reading that says so, ms. */
  readonly timeMs: number;
  /** Of the first reading after it, r/min; null while there is none. */
  readonly nextRpm: number | null;
}

type Stored = Pick<StoredReading, "quality" | "values"> &
  Pick<FollowedReading, "id" | "isFuture" | "record" | "timeMs"> &
  Required<Pick<FollowedReading, "tones">>;

/** About to be committed. @param isFollowed whether good values of the sensor and kind matter at all */
export function followedOf(readings: readonly Stored[], isFollowed: boolean): FollowedReading[] {
  // One bad value is followed from then on: the good ones after it count, also in the same response.
  const hasValues = isFollowed || readings.some(({ quality }) => quality !== "{}");
  return readings.map((reading) => ({
    id: reading.id,
    timeMs: reading.timeMs,
    isFuture: reading.isFuture,
    tones: reading.tones,
    record: reading.record,
    values: hasValues ? storedValues(reading) : {},
    quality: storedQuality(reading),
  }));
}

/** Of the past, as far as it is stored. */
export const followedOne = (reading: StoredReading): FollowedReading => ({
  id: reading.id,
  timeMs: reading.timeMs,
  isFuture: false,
  values: storedValues(reading),
  quality: storedQuality(reading),
});
