import type { AgentStatus, Gap, SensorState } from "../core/ports.ts";

/** Payloads of the agent's and sensors' own topics (contract 6). */

const timeOf = (ms: number | null): string | null =>
  ms === null ? null : new Date(ms).toISOString();
const secondsOf = (ms: number): number => Math.round(ms / 100) / 10;

export function agentStatePayload(
  state: "online" | "offline",
  timeMs: number,
  version: string,
  reason: string,
): string {
  return JSON.stringify({ state, time: timeOf(timeMs), version, reason });
}

export function sensorStatePayload(sensor: SensorState): string {
  return JSON.stringify({
    state: sensor.state,
    lastReading: timeOf(sensor.lastReadingMs),
    battery: sensor.batteryV,
  });
}

export function gapPayload(site: string, gap: Gap): string {
  return JSON.stringify({
    v: 1,
    site,
    sensor: gap.sensor,
    kind: gap.kind,
    from: timeOf(gap.fromMs),
    to: timeOf(gap.toMs),
    count: gap.count,
    reason: gap.reason,
  });
}

/** Age of the oldest undelivered reading by the gateway's clock, s; null when nothing waits. */
function oldestAgeS(status: AgentStatus): number | null {
  let oldest: number | null = null;
  for (const depth of Object.values(status.buffer.lanes)) {
    const time = depth?.oldestTimeMs ?? null;
    if (time !== null && (oldest === null || time < oldest)) oldest = time;
  }
  if (oldest === null) return null;
  return secondsOf(Math.max(0, status.nowMs + (status.clock.skewMs ?? 0) - oldest));
}

/** Readings not yet delivered: those of the lane that has most, for one reading waits in several lanes at once. */
function depthOf({ buffer }: AgentStatus): number {
  return Math.max(0, ...Object.values(buffer.lanes).map((lane) => lane?.readings ?? 0));
}

export function statsPayload(status: AgentStatus): string {
  const { buffer, gateway, clock } = status;
  return JSON.stringify({
    v: 1,
    time: timeOf(status.nowMs),
    version: status.version,
    uptimeS: Math.round((status.nowMs - status.startedAtMs) / 1000),
    buffer: {
      depth: depthOf(status),
      readings: buffer.readings,
      oldestAgeS: oldestAgeS(status),
      bytes: buffer.databaseBytes,
      limitBytes: buffer.limitBytes,
      diskFreeBytes: buffer.diskFreeBytes,
      hoursUntilFull: buffer.hoursUntilFull,
      isWritable: buffer.isWritable,
      alarm: buffer.alarm,
      lanes: Object.fromEntries(
        Object.entries(buffer.lanes).map(([lane, depth]) => [
          lane,
          { readings: depth?.readings ?? 0, oldest: timeOf(depth?.oldestTimeMs ?? null) },
        ]),
      ),
    },
    delivered: status.delivered,
    dropped: buffer.dropped,
    gateway: {
      isUp: gateway.isUp,
      lastAnswer: timeOf(gateway.lastAnswerAtMs),
      lastError: gateway.lastError,
    },
    brokers: status.links.map((link) => ({
      name: link.name,
      isConnected: link.isConnected,
      since: timeOf(link.since),
      lastError: link.lastError,
      delivered: link.delivered,
      failures: link.failures,
      ...(link.hostOnline === undefined ? {} : { hostOnline: link.hostOnline }),
      ...(link.hostDoubt ? { hostDoubt: link.hostDoubt } : {}),
    })),
    sensors: {
      online: status.sensors.filter((sensor) => sensor.state === "online").length,
      silent: status.sensors.filter((sensor) => sensor.state === "silent").length,
      unknown: status.sensors.filter((sensor) => sensor.state === "unknown").length,
    },
    clock: {
      skewS: clock.skewMs === null ? null : secondsOf(clock.skewMs),
      isPlausible: clock.isPlausible,
    },
  });
}
