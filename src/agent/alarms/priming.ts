/** What the alarm engine reads from stored readings: the newest of each sensor and kind, and the signals of machines. */
import type { AlarmEngine } from "../../core/alarm/engine.ts";
import type { FollowedReading } from "../../core/alarm/follow-up.ts";
import { numberOf, type SignalPoint } from "../../core/alarm/signal.ts";
import type { FindingEngine } from "../../core/diagnosis/engine.ts";
import type { Value } from "../../core/reading.ts";
import { type Kind, readingKinds, type Site } from "../../core/sensor.ts";
import type { StoredReading } from "../../core/stored-reading.ts";

export interface StoredHistory {
  latest(sensor: string, kind: Kind): StoredReading | null;
  range(query: {
    readonly sensor: string;
    readonly kind: Kind;
    readonly fromMs: number;
    readonly toMs: number;
    readonly order: "desc";
  }): Iterable<StoredReading>;
}

/** Readings of a signal that a new process loads: enough to learn their interval. */
const PRIMED_READINGS = 16;
/** How far back they are searched, ms. */
const PRIMED_MS = 2 * 86_400_000;
/** A late reading searches for a signal this far before it, ms; three intervals of the signal decide. */
const EARLIER_MS = 6 * 3_600_000;

export function primeNewest(
  history: StoredHistory,
  site: Site,
  alarms: AlarmEngine,
  findings: FindingEngine,
): void {
  for (const sensor of site.sensors) {
    const { code } = sensor;
    for (const kind of readingKinds(sensor)) {
      const newest = history.latest(code, kind);
      if (newest === null) continue;
      alarms.prime(code, kind, newest);
      if (kind === "accel") findings.prime(code, newest.timeMs);
    }
  }
}

export function primeSignals(history: StoredHistory, alarms: AlarmEngine): void {
  for (const { sensor, kind } of alarms.signals) {
    const newest = history.latest(sensor, kind);
    if (newest === null) continue;
    const readings: FollowedReading[] = [];
    const fromMs = newest.timeMs - PRIMED_MS;
    const range = { sensor, kind, fromMs, toMs: newest.timeMs + 1, order: "desc" as const };
    for (const reading of history.range(range)) {
      if (readings.length >= PRIMED_READINGS) break;
      readings.push(followed(reading));
    }
    alarms.primeSignal(sensor, kind, readings);
  }
}

/** The newest point of a signal at or before a time, ms; null if there is none within the hours that count. */
export function earlierPoint(
  history: StoredHistory,
  sensor: string,
  kind: Kind,
  value: string,
  timeMs: number,
): SignalPoint | null {
  const range = { sensor, kind, fromMs: timeMs - EARLIER_MS, toMs: timeMs + 1 };
  for (const reading of history.range({ ...range, order: "desc" })) {
    const { values, quality } = followed(reading);
    const isBad = quality[value]?.quality === "bad";
    return { timeMs: reading.timeMs, value: isBad ? null : numberOf(values[value]) };
  }
  return null;
}

function followed({ id, timeMs, values, quality }: StoredReading): FollowedReading {
  return {
    id,
    timeMs,
    isFuture: false,
    values: JSON.parse(values) as Readonly<Record<string, Value>>,
    quality: JSON.parse(quality) as FollowedReading["quality"],
  };
}
