import type { SensorState } from "../../core/agent-status.ts";
import { grouped } from "../../core/lists/grouped.ts";
import type { PolledKind, Sensor } from "../../core/sensor.ts";
import { SILENT_AFTER_INTERVALS, UNKNOWN_CADENCE_MS } from "../../core/status/silence.ts";
import { rejectedText } from "./day-read.ts";
import { type PolledStream, PRIORITY } from "./task.ts";

const REJECTED_MIN = 3;
/** A gateway that does not respond must not delay the report of silent sensors for longer. */
const CATCH_UP_MAX_MS = SILENT_AFTER_INTERVALS * UNKNOWN_CADENCE_MS;

/** How long a stream's next record may take by its usual interval, at least `leastMs`, ms. */
function expectedMs(
  { cadence, intervalMs }: Pick<PolledStream, "cadence" | "intervalMs">,
  leastMs: number,
): number {
  const expected = cadence.expectedMs ?? Math.max(UNKNOWN_CADENCE_MS, intervalMs);
  return Math.max(expected, leastMs);
}

/**
 * True after a start until the records that came meanwhile have been read: those of today, and those of all open days
 * while the interval is unknown. Until then, nothing says that the sensor is silent.
 */
export function isCatchingUp(
  { cadence, days, startedAt }: PolledStream,
  monotonicMs: number,
): boolean {
  if (monotonicMs - startedAt >= CATCH_UP_MAX_MS) return false;
  if (days.size === 0) return true;
  for (const { lastOkAtMs, priority } of days.values()) {
    const isNeeded = cadence.periodMs === null || priority === PRIORITY.today;
    if (isNeeded && lastOkAtMs === null) return true;
  }
  return false;
}

/**
 * State of every sensor that has a stream, by the gateway's clock; the battery comes from the store. No record is known
 * more often than commits happen.
 */
export function sensorStates(
  streams: readonly PolledStream[],
  gatewayNowMs: number,
  monotonicMs: number,
  commitIntervalMs: number,
): SensorState[] {
  return [...grouped(streams, ({ sensor }) => sensor)].map(([sensor, own]) =>
    stateOf(sensor, own, (stream) => {
      // Before the first read, what came meanwhile is missing: a short stop must not show every sensor as silent.
      const isPatient = isCatchingUp(stream, monotonicMs) && !wasSilent(stream);
      const startMs = isPatient ? UNKNOWN_CADENCE_MS : 0;
      return isFreshAt(stream, gatewayNowMs, Math.max(startMs, commitIntervalMs));
    }),
  );
}

/** True if it was silent when the last process ended, and nothing newer is known. */
function wasSilent({ wasSilentSinceMs, cadence }: PolledStream): boolean {
  return wasSilentSinceMs !== null && wasSilentSinceMs === cadence.newestMs;
}

function stateOf(
  sensor: Sensor,
  streams: readonly PolledStream[],
  isFreshNow: (stream: PolledStream) => boolean,
): SensorState {
  let lastReadingMs: number | null = null;
  let isFresh = false;
  const kinds = streams.map((stream) => {
    const { newestMs, periodMs } = stream.cadence;
    const isSilent = newestMs !== null && !isFreshNow(stream);
    if (newestMs !== null) {
      lastReadingMs = Math.max(lastReadingMs ?? newestMs, newestMs);
      isFresh ||= !isSilent;
    }
    return {
      kind: stream.kind,
      lastReadingMs: newestMs,
      cadenceS: periodMs === null ? null : periodMs / 1000,
      lastReadAtMs: stream.lastReadAtMs,
      lastError: stream.failure?.message ?? rejection(stream),
      hasRecords: stream.hasRecords,
      isSilent,
    };
  });
  const state = lastReadingMs === null ? "unknown" : isFresh ? "online" : "silent";
  return { code: sensor.code, state, lastReadingMs, batteryV: null, kinds };
}

/** One broken record among good ones is no state of the sensor; several in a row are, or having no other. */
function rejection({ rejected, cadence }: PolledStream): string | null {
  const { count } = rejected;
  if (count === 0 || (count < REJECTED_MIN && cadence.newestMs !== null)) return null;
  return rejectedText(rejected);
}

function isFreshAt(stream: PolledStream, nowMs: number, leastMs: number): boolean {
  const { newestMs } = stream.cadence;
  const silentMs = SILENT_AFTER_INTERVALS * expectedMs(stream, leastMs);
  return newestMs !== null && nowMs - newestMs <= silentMs;
}

/** Whether a sensor that is not polled sends is unknown; its newest stored reading is still its last. */
export function stateNotPolled(
  { code, kinds }: Sensor,
  newestTimeMs: (sensor: string, kind: PolledKind) => number | null,
): SensorState {
  const newest = kinds.flatMap((kind) => newestTimeMs(code, kind) ?? []);
  return {
    code,
    state: "unknown",
    lastReadingMs: newest.length === 0 ? null : Math.max(...newest),
    batteryV: null,
    kinds: [],
  };
}
