/** What the alarm engine reads from stored readings: the newest of each sensor and kind, and the signals of machines. */

import type { AlarmEngine } from "../../core/alarm/engine.ts";
import type { FollowedReading } from "../../core/alarm/follow-up.ts";
import { sharedValues } from "../../core/alarm/reading-step.ts";
import { type SignalPoint } from "../../core/machine-state/signal.ts";
import {
  type Earlier,
  type Newest,
  type NewestPoints,
  NO_POINTS,
} from "../../core/machine-state/signal-log.ts";
import { Wait, type WaitOptions } from "../../core/machine-state/wait.ts";
import type { WaitRows } from "../../core/machine-state/wait-rows.ts";
import type { Clock } from "../../core/ports.ts";
import type { HistoryReader, StreamRange } from "../../core/query/ports.ts";
import { streamsOf } from "../../core/sensor.ts";
import { type Site } from "../../core/site.ts";
import {
  isDatedAhead,
  type StoredReading,
  storedQuality,
  storedValues,
} from "../../core/stored-reading.ts";
import { DAY_MS } from "../../core/time-units.ts";
import { numberOf } from "../../core/value-number.ts";

export interface StoredHistory extends Pick<HistoryReader, "latest" | "latestOf"> {
  range(query: StreamRange & { readonly order?: "asc" | "desc" }): Iterable<StoredReading>;
}

export interface SignalOptions extends Required<Pick<WaitOptions, "zone" | "pendingDays">> {
  readonly clock: Pick<Clock, "monotonic">;
}

/** Readings of a signal that a new process loads: enough to learn their interval. */
const PRIMED_READINGS = 16;
/** How far back readings of a signal are searched, ms: enough to know an interval of hours. */
const EARLIER_MS = 2 * DAY_MS;

/** The wait over stored readings. @param rows where what waits is kept; without them, in memory */
export function createWait(
  site: Site,
  history: StoredHistory,
  { clock, zone, pendingDays }: SignalOptions,
  rows?: WaitRows,
): Wait {
  const startedAt = clock.monotonic();
  return new Wait(site, {
    ...(rows === undefined ? {} : { rows }),
    newest: (signal) => newestPoints(history, signal),
    earlier: (signal, timeMs, count) => earlierPoints(history, signal, timeMs, count),
    later: (signal, afterMs, toMs) => laterPoint(history, signal, afterMs, toMs),
    zone,
    runningMs: () => clock.monotonic() - startedAt,
    pendingDays,
  });
}

/** A sensor and kind a step. */
export function* primeNewest(
  history: StoredHistory,
  site: Site,
  alarms: AlarmEngine,
): Generator<void, void> {
  for (const [{ sensor, kind }, newest] of history.latestOf(streamsOf(site.sensors))) {
    const { timeMs, id } = newest;
    alarms.prime(sensor, kind, { timeMs, id, shared: sharedValues(followed(newest)) });
    yield;
  }
}

function newestPoints(history: StoredHistory, signal: Parameters<Newest>[0]): NewestPoints {
  const newest = history.latest(signal.sensor, signal.kind);
  if (newest === null) return NO_POINTS;
  const points = earlierPoints(history, signal, newest.timeMs, PRIMED_READINGS);
  return { points, fromMs: points[0]?.timeMs ?? newest.timeMs };
}

/** The newest stored points of a signal at or before a time, ms, in order of time; at most `count`. */
function earlierPoints(
  history: StoredHistory,
  signal: Parameters<Earlier>[0],
  timeMs: number,
  count: number,
): SignalPoint[] {
  const { sensor, kind } = signal;
  const points: SignalPoint[] = [];
  const range = { sensor, kind, fromMs: timeMs - EARLIER_MS, toMs: timeMs + 1 };
  for (const reading of history.range({ ...range, order: "desc" })) {
    const point = pointOf(reading, signal);
    if (point !== null) points.push(point);
    if (points.length === count) break;
  }
  return points.reverse();
}

/** The first stored point after a time that has a value. */
function laterPoint(
  history: StoredHistory,
  signal: Parameters<Earlier>[0],
  afterMs: number,
  toMs: number,
): SignalPoint | null {
  const { sensor, kind } = signal;
  for (const reading of history.range({ sensor, kind, fromMs: afterMs + 1, toMs: toMs + 1 })) {
    const point = pointOf(reading, signal);
    if (point !== null && point.value !== null) return point;
  }
  return null;
}

/** Null: it is dated in the future by a wrong clock. */
function pointOf(reading: StoredReading, { value }: Parameters<Earlier>[0]): SignalPoint | null {
  if (isDatedAhead(reading)) return null;
  const { values, quality } = followed(reading);
  const isBad = quality[value]?.quality === "bad";
  return { timeMs: reading.timeMs, value: isBad ? null : numberOf(values[value]) };
}

function followed(reading: StoredReading): FollowedReading {
  return {
    id: reading.id,
    timeMs: reading.timeMs,
    isFuture: false,
    values: storedValues(reading),
    quality: storedQuality(reading),
  };
}
