/** The readings of a signal that shows a machine's state or speed, and what they say of a time. */

import { median } from "../../../core/lists/median.ts";
import { SILENT_AFTER_INTERVALS, UNKNOWN_CADENCE_MS } from "../../../core/status/silence.ts";

export interface SignalPoint {
  readonly timeMs: number;
  /** Null: the reading was bad. Contacts count as 0 and 1. */
  readonly value: number | null;
}

/** Steps between readings from which the interval is derived, and the readings that have so many. */
const STEPS = 9;
export const INTERVAL_POINTS = STEPS + 1;

/** In order of time; never altered in place. */
export type SignalPoints = readonly SignalPoint[];

/** The points with one more in its place. */
export function addPoint(points: SignalPoints, point: SignalPoint): SignalPoints {
  const at = points.findLastIndex(({ timeMs }) => timeMs <= point.timeMs) + 1;
  return [...points.slice(0, at), point, ...points.slice(at)];
}

/**
 * Time between the readings of a signal, ms: the median of the newest nine steps; ten minutes while fewer than two are
 * known.
 * @param points the newest ones at or before the time in question
 */
export function intervalMs(points: SignalPoints): number {
  const newest = points.slice(-INTERVAL_POINTS);
  const steps = newest
    .slice(1)
    .map(({ timeMs }, i) => timeMs - (newest[i]?.timeMs ?? timeMs))
    .filter((ms) => ms > 0);
  return steps.length < 2 ? UNKNOWN_CADENCE_MS : median(steps);
}

/**
 * The value at a time: that of the newest reading at or before it, if no older than three intervals; otherwise null.
 * @param points the newest ones at or before that time
 */
export function valueAt(points: SignalPoints, timeMs: number): number | null {
  const point = points.at(-1);
  if (point === undefined) return null;
  return timeMs < validUntilMs(points) ? point.value : null;
}

/** When the newest of these points is too old, ms. */
export function validUntilMs(points: SignalPoints): number {
  const newestMs = points.at(-1)?.timeMs ?? 0;
  return newestMs + Math.floor(SILENT_AFTER_INTERVALS * intervalMs(points)) + 1;
}
