/** State and speed of the machines over stored readings, by their signals. */

import type { EngineFailures } from "../core/engine-failures.ts";
import { followedOf, followedOne } from "../core/followed-reading.ts";
import { type SignalPoint } from "../core/machine-state/signal.ts";
import {
  type Earlier,
  type Newest,
  type NewestPoints,
  NO_POINTS,
} from "../core/machine-state/signal-log.ts";
import { Wait, type WaitOptions } from "../core/machine-state/wait.ts";
import type { WaitRows } from "../core/machine-state/wait-rows.ts";
import type { Clock } from "../core/ports.ts";
import type { HistoryReader, StreamRange } from "../core/query/ports.ts";
import { type Site } from "../core/site.ts";
import type { SiteSource } from "../core/site-source.ts";
import { isDatedAhead, type StoredReading } from "../core/stored-reading.ts";
import { DAY_MS } from "../core/time-units.ts";
import { numberOf } from "../core/value-number.ts";
import { isStoreFault } from "../pipeline/store/database/store-failure.ts";
import type { Store } from "../pipeline/store/store.ts";
import type { StoreSteps } from "../pipeline/store/store-steps.ts";

interface StoredHistory extends Pick<HistoryReader, "latest"> {
  range(query: StreamRange & { readonly order?: "asc" | "desc" }): Iterable<StoredReading>;
}

interface SignalOptions extends Required<Pick<WaitOptions, "zone" | "pendingDays">> {
  readonly clock: Pick<Clock, "monotonic">;
}

/** Readings of a signal that a new process loads: enough to learn their interval. */
const PRIMED_READINGS = 16;
/** How far back readings of a signal are searched, ms: enough to know an interval of hours. */
const EARLIER_MS = 2 * DAY_MS;

/** For alarms, findings and bands. */
interface Signals {
  readonly wait: Wait;
  /**
   * Where nobody follows them: loads what is stored, in steps; after the last one they follow what is stored, and the
   * site file.
   */
  open(failures: EngineFailures): Generator<void, void>;
}

export function openSignals(
  site: SiteSource,
  { history, steps, tables, waiting }: Pick<Store, "history" | "steps" | "tables" | "waiting">,
  options: SignalOptions,
): Signals {
  const wait = createWait(site.current, history, options, waiting);
  return {
    wait,
    *open(failures) {
      yield* wait.loadSignals();
      const own = signalSteps(wait, failures, () => tables.db.writer.inTransaction);
      steps.list = [own, ...steps.list];
      site.onChange((next) => wait.setSite(next));
    },
  };
}

function signalSteps(
  wait: Wait,
  failures: EngineFailures,
  isInTransaction: () => boolean,
): StoreSteps {
  return {
    stored(tx, { sensor, kind }, fresh, _refused, read) {
      if (fresh.length === 0 && read === null) return;
      const at = `${sensor}/${kind}`;
      try {
        wait.note(tx, sensor, kind, followedOf(fresh, wait.isSignal(sensor, kind)), read);
      } catch (err) {
        if (isStoreFault(err) || !isInTransaction()) throw err;
        // Readings matter more: they are stored all the same.
        failures.failed("alarms", at, err, "signals of machines failed");
        return;
      }
      failures.worked("alarms", at);
    },
  };
}

function createWait(
  site: Site,
  history: StoredHistory,
  { clock, zone, pendingDays }: SignalOptions,
  rows: WaitRows,
): Wait {
  const startedAt = clock.monotonic();
  return new Wait(site, {
    rows,
    newest: (signal) => newestPoints(history, signal),
    earlier: (signal, timeMs, count) => earlierPoints(history, signal, timeMs, count),
    later: (signal, afterMs, toMs) => laterPoint(history, signal, afterMs, toMs),
    zone,
    runningMs: () => clock.monotonic() - startedAt,
    pendingDays,
  });
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
  const { values, quality } = followedOne(reading);
  const isBad = quality[value]?.quality === "bad";
  return { timeMs: reading.timeMs, value: isBad ? null : numberOf(values[value]) };
}
