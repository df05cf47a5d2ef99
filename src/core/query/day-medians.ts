/** Day rows as conditions, outlooks and baselines read them. */
import type { Kind } from "../sensor.ts";

/** Of one value. */
interface DayMedian {
  readonly median: number;
  /** Readings that it was made of. */
  readonly count: number;
  readonly unit: string | null;
  /** Machine, point, class and axis by then: with another one, an outlook begins anew. */
  readonly mount: string;
}

export interface DayMedians {
  /** Days since 1970-01-01 UTC. */
  readonly day: number;
  /** Readings stored of the day when this was made, running or not. */
  readonly readings: number;
  /** Those of the machine's running signal by then, of that day and the one before; absent without one. */
  readonly signals?: number;
  readonly values: Readonly<Record<string, DayMedian>>;
}

export interface DayMediansOf extends DayMedians {
  readonly sensor: string;
  readonly kind: Kind;
}

export interface DayMedianStore {
  /** How often rows have changed since the start: what was computed of them before is old. */
  readonly changes: number;
  /** Days from `fromDay` up to, without, `toDay`, ascending; those that were never made are left out. */
  of(sensor: string, kind: Kind, fromDay: number, toDay: number): readonly DayMedians[];
  put(rows: readonly DayMediansOf[]): Promise<void>;
  dropBefore(day: number): Promise<void>;
}

/** Of a store that counts nothing. */
export const NO_MEDIANS: DayMedianStore = {
  changes: 0,
  of: () => [],
  put: () => Promise.resolve(),
  dropBefore: () => Promise.resolve(),
};
