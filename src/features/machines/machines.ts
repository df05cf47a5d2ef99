/** State and speed of the machines over stored readings, by their signals. */

import { followedOf, followedOne } from "../../core/followed-reading.ts";
import type { HistoryReader, StreamRange } from "../../core/query/ports.ts";
import { isDatedAhead, type StoredReading } from "../../core/stored-reading.ts";
import { DAY_MS } from "../../core/time-units.ts";
import { numberOf } from "../../core/value-number.ts";
import { isStoreFault } from "../../pipeline/store/database/store-failure.ts";
import type { Feature } from "../feature.ts";
import type { FeatureHost } from "../host.ts";
import { type SignalPoint } from "./rules/signal.ts";
import { type Earlier, type Newest, type NewestPoints, NO_POINTS } from "./rules/signal-log.ts";
import { Wait } from "./rules/wait.ts";
import { WaitTable } from "./wait-table.ts";

interface StoredHistory extends Pick<HistoryReader, "latest"> {
  range(query: StreamRange & { readonly order?: "asc" | "desc" }): Iterable<StoredReading>;
}

/** What it needs of an agent. */
type MachinesHost = Pick<FeatureHost, "clock" | "failures" | "pendingDays" | "site"> & {
  readonly tables: { readonly db: FeatureHost["tables"]["db"] };
  readonly settings: { readonly gatewayTimezone: string };
  readonly readings: { readonly history: StoredHistory };
};

/** Readings of a signal that a new process loads: enough to learn their interval. */
const PRIMED_READINGS = 16;
/** How far back readings of a signal are searched, ms: enough to know an interval of hours. */
const EARLIER_MS = 2 * DAY_MS;

/** It follows the readings of signals in the transaction that stores them, before all that waits for signals. */
export function createMachines(host: MachinesHost) {
  const { failures, site, tables } = host;
  const wait = createWait(host);
  return {
    /** For alarms, findings, bands and whoever asks for state and speed. */
    wait,
    *begin() {
      wait.load();
      yield* wait.loadSignals();
      site.onChange((next) => wait.setSite(next));
    },
    load: () => wait.load(),
    stored(tx, { sensor, kind }, fresh, _refused, read) {
      if (fresh.length === 0 && read === null) return;
      const isSignal = wait.isSignal(sensor, kind);
      const at = `signals of ${sensor}/${kind}`;
      try {
        wait.note(tx, sensor, kind, isSignal ? followedOf(fresh, true) : [], read);
      } catch (err) {
        // Without its transaction, what follows would be stored without the readings.
        if (isStoreFault(err) || !tables.db.writer.inTransaction) throw err;
        // Readings matter more: they are stored all the same.
        failures.failed("alarms", at, err, "signals of machines failed");
        return;
      }
      failures.worked("alarms", at);
    },
    machineAt: (sensor, timeMs) => wait.machineAt(sensor, timeMs),
    dayRead: ({ sensor, kind, day }, atMs) => wait.noteRead(sensor, kind, { day, atMs }),
  } satisfies Feature & { readonly wait: Wait };
}

function createWait({ clock, pendingDays, readings, settings, site, tables }: MachinesHost): Wait {
  const { history } = readings;
  const startedAt = clock.monotonic();
  return new Wait(site.current, {
    rows: new WaitTable(tables.db),
    newest: (signal) => newestPoints(history, signal),
    earlier: (signal, timeMs, count) => earlierPoints(history, signal, timeMs, count),
    later: (signal, afterMs, toMs) => laterPoint(history, signal, afterMs, toMs),
    zone: settings.gatewayTimezone,
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
