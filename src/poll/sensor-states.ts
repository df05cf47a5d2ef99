import type { SensorState } from "../core/ports.ts";
import type { Sensor } from "../core/sensor.ts";
import { SILENT_AFTER_INTERVALS, UNKNOWN_CADENCE_MS } from "../core/silence.ts";
import type { Stream } from "./task.ts";

/** How long a stream's next record may take by its rhythm, ms. */
export function expectedMs({
  cadence,
  intervalMs,
}: Pick<Stream, "cadence" | "intervalMs">): number {
  return cadence.expectedMs ?? Math.max(UNKNOWN_CADENCE_MS, intervalMs);
}

/** State of every sensor that has a stream, by the gateway's clock; the battery is left to the store. */
export function sensorStates(streams: readonly Stream[], gatewayNowMs: number): SensorState[] {
  const bySensor = new Map<Sensor, Stream[]>();
  for (const stream of streams) {
    const known = bySensor.get(stream.sensor);
    if (known) known.push(stream);
    else bySensor.set(stream.sensor, [stream]);
  }
  return [...bySensor].map(([sensor, own]) => stateOf(sensor, own, gatewayNowMs));
}

function stateOf(sensor: Sensor, streams: readonly Stream[], nowMs: number): SensorState {
  const newest = streams.flatMap(({ cadence }) => cadence.newestMs ?? []);
  const isFresh = streams.some(
    (stream) =>
      stream.cadence.newestMs !== null &&
      nowMs - stream.cadence.newestMs <= SILENT_AFTER_INTERVALS * expectedMs(stream),
  );
  return {
    code: sensor.code,
    state: newest.length === 0 ? "unknown" : isFresh ? "online" : "silent",
    lastReadingMs: newest.length === 0 ? null : Math.max(...newest),
    batteryV: null,
    kinds: streams.map(({ kind, cadence, lastReadAtMs, lastError }) => ({
      kind,
      lastReadingMs: cadence.newestMs,
      cadenceS: cadence.periodMs === null ? null : cadence.periodMs / 1000,
      lastReadAtMs,
      lastError,
    })),
  };
}
