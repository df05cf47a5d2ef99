/** The states of nodes: reads them, adds them to the states of their sensors, and tries them for set-up. */
import type { SensorState } from "../../core/agent-status.ts";
import { isRefusal, type SetupPort } from "../../core/configuration/setup.ts";
import { DAY_MS } from "../../core/time-units.ts";
import { served } from "../../http/api-operation.ts";
import { refuseTrial } from "../../http/trial.ts";
import { createMetrics } from "../../lib/metrics.ts";
import type { Feature } from "../feature.ts";
import type { FeatureHost } from "../host.ts";
import type { ModbusStates } from "./modbus-states.ts";
import { type NodeCondition, NodeStates } from "./node-states.ts";
import { probeStates } from "./probe-states.ts";
import { ServiceStates } from "./service-states.ts";
import { PROBE_STATES } from "./spec.ts";

/** Stored readings are searched up to here: one that a wrong clock dated later says nothing about now. */
const AHEAD_MS = DAY_MS;

/** @param setup null while it is off */
export function createNodes(
  host: FeatureHost,
  setup: Pick<SetupPort, "trySensor"> | null,
): Feature {
  const { settings, site, readings, clock, gatewayNow, logger, metrics } = host;
  const zone = settings.gatewayTimezone;
  const service = {
    source: host.gateway,
    names: host.names,
    metrics,
    gate: host.gate,
    emptyStatuses: new Set(settings.gatewayEmptyStatuses),
  };
  let modbus: Promise<ModbusStates> | null = null;
  const states = new NodeStates({
    site,
    service: new ServiceStates(service),
    modbus: () => (modbus ??= openModbusStates()),
    log: readings.log,
    stored: (sensor, fromMs) =>
      readings.history.range({
        sensor,
        kind: "node",
        fromMs,
        toMs: gatewayNow() + AHEAD_MS,
      }),
    newestTimeMs: (sensor) => readings.log.newestTimeMs(sensor, "node"),
    isPolled: host.hasReadAll,
    pollIntervalMs: settings.pollIntervalS * 1000,
    clock,
    logger,
    metrics,
    gatewayNow,
    zone,
    onStored: readings.stored,
  });
  return {
    serve:
      setup === null
        ? []
        : [
            served(PROBE_STATES, async (request, reply) => {
              const { sensor } = request.body;
              request.auditDetail = `${String(sensor.code).slice(0, 64)} node`;
              const reads = await setup.trySensor(sensor, (tried, signal) => {
                // Neither stored nor counted.
                const uncounted = new ServiceStates({ ...service, metrics: createMetrics() });
                const sources = { service: uncounted, zone, nowMs: gatewayNow() };
                return probeStates(tried, null, sources, signal);
              });
              return isRefusal(reads) ? refuseTrial(reply, reads) : reply.send({ reads });
            }),
          ],
    reads: (signal) => states.run(signal),
    sensorState: (state) => withNodeState(state, states.condition(state.code)),
  };
}

/** Its code costs memory only if the site file names registers. */
async function openModbusStates(): Promise<ModbusStates> {
  const loaded = await import("./modbus-states.ts");
  return new loaded.ModbusStates();
}

/**
 * A sensor's state with the kind `node` among its kinds. Whether the sensor sends is decided by its records; if it has
 * none because only its state is read, by its state reads.
 */
function withNodeState(state: SensorState, node: NodeCondition | null): SensorState {
  if (node === null) return state;
  const { lastReadingMs, lastReadAtMs, lastError, isStale } = node;
  const kind = {
    kind: "node" as const,
    lastReadingMs,
    cadenceS: null,
    lastReadAtMs,
    lastError,
    isSilent: lastReadingMs !== null && isStale,
  };
  const kinds = [...state.kinds, kind];
  if (state.kinds.length > 0 || lastReadingMs === null) return { ...state, kinds };
  return { ...state, kinds, lastReadingMs, state: isStale ? "silent" : "online" };
}
