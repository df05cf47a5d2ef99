import type { AgentStatus, SensorState } from "../../../core/agent-status.ts";
import { backlogOf } from "../../../core/delivery/backlog.ts";
import type { Gap } from "../../../core/delivery/delivery.ts";
import { linkTitle } from "../../../core/delivery/link-title.ts";

/** Payloads of the agent's and sensors' own topics (contract section 6). */

const timeOf = (ms: number | null): string | null =>
  ms === null ? null : new Date(ms).toISOString();
const secondsOf = (ms: number): number => Math.round(ms / 100) / 10;

/** Payloads name their site and sensor: a topic of a template, or with dots behind RabbitMQ, does not tell them. */
export function agentStatePayload(
  site: string,
  word: PublishedAgentState,
  version: string,
  instance: string | undefined,
  run?: string,
): string {
  const { state, timeMs, reason, configuration, pendingRestart } = word;
  return JSON.stringify({
    state,
    time: timeOf(timeMs),
    version,
    reason,
    configuration,
    pendingRestart,
    site,
    instance,
    run,
  });
}

/** The value of `SensorState`, and `removed` for a sensor that was removed from the site file. */
export type PublishedState = Pick<
  SensorState,
  "code" | "lastReadingMs" | "batteryV" | "firmware" | "signalDbm"
> & {
  readonly state: SensorState["state"] | "removed";
};

export function sensorStatePayload(site: string, sensor: PublishedState): string {
  // Only if a state read reports them.
  const { firmware = null, signalDbm = null } = sensor;
  return JSON.stringify({
    state: sensor.state,
    lastReading: timeOf(sensor.lastReadingMs),
    battery: sensor.batteryV,
    ...(firmware === null ? {} : { firmwareVersion: firmware }),
    ...(signalDbm === null ? {} : { signalStrength: signalDbm }),
    site,
    sensor: sensor.code,
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
    ...(gap.uplink === undefined ? {} : { uplink: gap.uplink }),
  });
}

export function statsPayload(site: string, status: AgentStatus, run?: string): string {
  const { buffer, gateway, clock } = status;
  const { readings, oldestTimeMs } = backlogOf(buffer.lanes);
  const gatewayNowMs = status.nowMs + (clock.skewMs ?? 0);
  return JSON.stringify({
    v: 1,
    site,
    time: timeOf(status.nowMs),
    version: status.version,
    run,
    configuration: status.configuration,
    pendingRestart: status.pendingRestart,
    pendingReload: status.pendingReload,
    configurationFaults: status.configurationFaults,
    uptimeS: Math.round((status.nowMs - status.startedAtMs) / 1000),
    buffer: {
      depth: readings,
      readings: buffer.readings,
      oldestAgeS:
        oldestTimeMs === null ? null : secondsOf(Math.max(0, gatewayNowMs - oldestTimeMs)),
      bytes: buffer.databaseBytes,
      limitBytes: buffer.limitBytes,
      diskFreeBytes: buffer.diskFreeBytes,
      hoursUntilFull: buffer.hoursUntilFull,
      isWritable: buffer.isWritable,
      alarm: buffer.alarm,
      hours: {
        bytes: buffer.hours.bytes,
        limitBytes: buffer.hours.limitBytes,
        oldestHour: timeOf(buffer.hours.oldestHourMs),
        oldestDay: timeOf(buffer.hours.oldestDayMs),
      },
      kept: { measurements: buffer.kept.measurements, bytes: buffer.kept.bytes },
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
      name: linkTitle(link, status.links),
      uplink: link.uplink,
      url: link.url,
      isConnected: link.isConnected,
      since: timeOf(link.since),
      lastError: link.lastError,
      pending: link.pending,
      oldest: timeOf(link.oldestTimeMs),
      delivered: link.delivered,
      failures: link.failures,
      ...(link.refused ? { refused: link.refused } : {}),
      ...(link.otherAgent ? { otherAgent: link.otherAgent } : {}),
      ...(link.hostOnline === undefined ? {} : { hostOnline: link.hostOnline }),
      ...(link.hostDoubt ? { hostDoubt: link.hostDoubt } : {}),
    })),
    sensors: {
      online: status.sensors.filter((sensor) => sensor.state === "online").length,
      silent: status.sensors.filter((sensor) => sensor.state === "silent").length,
      unknown: status.sensors.filter((sensor) => sensor.state === "unknown").length,
    },
    ...(status.activeAlarms ? { alarms: status.activeAlarms } : {}),
    clock: {
      skewS: clock.skewMs === null ? null : secondsOf(clock.skewMs),
      isPlausible: clock.isPlausible,
      isConfirmed: clock.isConfirmed,
    },
  });
}

export interface PublishedAgentState {
  readonly state: "online" | "offline";
  readonly timeMs: number;
  readonly reason: string;
  /** The configuration in effect; not in a will, which may be published much later. */
  readonly configuration?: string;
  readonly pendingRestart?: readonly string[];
}
