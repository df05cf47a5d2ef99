/** What is remembered of a signal that shows a machine's state or speed: its newest readings, in order of time. */
import { SILENT_AFTER_INTERVALS, UNKNOWN_CADENCE_MS } from "../silence.ts";

export interface SignalPoint {
  readonly timeMs: number;
  /** Null: the reading was bad. Contacts count as 0 and 1. */
  readonly value: number | null;
}

/** Readings kept of a signal, a day of one a minute: late readings of other sensors can look back this far. */
const SIGNAL_POINTS = 1440;
/** Steps between readings from which the interval is derived. */
const STEPS = 9;

/** In order of time; never altered in place. */
export type SignalPoints = readonly SignalPoint[];

export function addPoint(points: SignalPoints, point: SignalPoint): SignalPoints {
  const at = points.findLastIndex(({ timeMs }) => timeMs <= point.timeMs) + 1;
  return [...points.slice(0, at), point, ...points.slice(at)].slice(-SIGNAL_POINTS);
}

/** Time between readings, ms: the median of the newest steps. */
function intervalMs(points: SignalPoints): number {
  const newest = points.slice(-STEPS - 1);
  const steps = newest
    .slice(1)
    .map(({ timeMs }, i) => timeMs - (newest[i]?.timeMs ?? timeMs))
    .filter((ms) => ms > 0)
    .toSorted((a, b) => a - b);
  return steps.length < 2 ? UNKNOWN_CADENCE_MS : (steps[Math.floor(steps.length / 2)] ?? 0);
}

/**
 * The value at a time: that of the newest reading at or before it, if no older than three intervals; otherwise null.
 */
export function valueAt(points: SignalPoints, timeMs: number): number | null {
  const point = points.findLast((candidate) => candidate.timeMs <= timeMs);
  if (point === undefined) return null;
  const isFresh = timeMs - point.timeMs <= SILENT_AFTER_INTERVALS * intervalMs(points);
  return isFresh ? point.value : null;
}

/** A value of a reading as a number; null if it has none. */
export function numberOf(value: unknown): number | null {
  if (typeof value === "boolean") return value ? 1 : 0;
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}
