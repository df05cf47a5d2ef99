/** The states of nodes over the rooms of the agent. */

import type { Settings } from "../config/settings.ts";
import type { SensorState } from "../core/agent-status.ts";
import type { Reading } from "../core/reading.ts";
import { DAY_MS } from "../core/time-units.ts";
import type { ModbusStates } from "../features/nodes/modbus-states.ts";
import { type NodeCondition, NodeStates } from "../features/nodes/node-states.ts";
import { ServiceStates } from "../features/nodes/service-states.ts";
import type { GatewayClient } from "../pipeline/gateway/client.ts";
import type { Poller } from "../pipeline/poll/poller.ts";
import type { Store } from "../pipeline/store/store.ts";
import type { AgentBase } from "./base.ts";

/** Stored readings are searched up to here: one that a wrong clock dated later says nothing about now. */
const AHEAD_MS = DAY_MS;

interface NodeStatesWiring extends AgentBase {
  readonly source: GatewayClient;
  readonly store: Store;
  readonly poller: Poller;
  readonly onStored: (reading: Reading) => void;
}

/** Reads states through the gateway's client. */
export function createServiceStates({
  settings,
  source,
  names,
  gate,
  metrics,
}: Pick<NodeStatesWiring, "source" | "names" | "gate" | "metrics"> & {
  readonly settings: Pick<Settings, "gatewayEmptyStatuses">;
}): ServiceStates {
  const emptyStatuses = new Set(settings.gatewayEmptyStatuses);
  return new ServiceStates({ source, names, metrics, gate, emptyStatuses });
}

export function createNodeStates(wiring: NodeStatesWiring): NodeStates {
  const { settings, site, store, poller, gatewayClock, clock, logger, metrics } = wiring;
  let modbus: Promise<ModbusStates> | null = null;
  return new NodeStates({
    site,
    service: createServiceStates(wiring),
    modbus: () => (modbus ??= openModbusStates()),
    log: store.readings,
    stored: (sensor, fromMs) =>
      store.history.range({
        sensor,
        kind: "node",
        fromMs,
        toMs: gatewayClock.now() + AHEAD_MS,
        order: "asc",
      }),
    newestTimeMs: (sensor) => store.readings.newestTimeMs(sensor, "node"),
    isPolled: () => poller.hasReadAll,
    pollIntervalMs: settings.pollIntervalS * 1000,
    clock,
    logger,
    metrics,
    gatewayNow: gatewayClock.now,
    zone: settings.gatewayTimezone,
    onStored: wiring.onStored,
  });
}

/** Its code costs memory only if the site file names registers. */
async function openModbusStates(): Promise<ModbusStates> {
  const loaded = await import("../features/nodes/modbus-states.ts");
  return new loaded.ModbusStates();
}

/**
 * A sensor's state with the kind `node` among its kinds. Whether the sensor sends is decided by its records; if it has
 * none because only its state is read, by its state reads.
 */
export function withNodeState(state: SensorState, node: NodeCondition | null): SensorState {
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
