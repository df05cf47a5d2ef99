import type { Settings } from "../config/settings.ts";
import type { AgentStatus, Clock } from "../core/ports.ts";
import type { ReadingMarks } from "../core/set-aside.ts";
import type { SiteSource } from "../core/site-source.ts";
import type { GatewayClient } from "../gateway/client.ts";
import { VERSION } from "../lib/version.ts";
import type { NodeStates } from "../node-state/node-states.ts";
import type { GatewayClock } from "../poll/gateway-clock.ts";
import type { Poller } from "../poll/poller.ts";
import type { Reloader } from "../setup/reload.ts";
import type { Store } from "../store/store.ts";
import type { Modbus } from "./modbus.ts";
import { withNodeState } from "./node-states.ts";
import type { ReadingWatch } from "./reading-watch.ts";
import type { Uplinks } from "./uplinks.ts";

/** A clock before this has not been set: the box has no clock chip and has not heard the time yet. */
const PLAUSIBLE_SINCE_MS = Date.UTC(2024, 0, 1);

interface StatusParts {
  readonly settings: Settings;
  readonly site: SiteSource;
  readonly clock: Clock;
  readonly startedAtMs: number;
  readonly store: Store;
  readonly gateway: GatewayClient;
  readonly poller: Poller;
  readonly gatewayClock: GatewayClock;
  readonly nodeStates: NodeStates;
  readonly watch: ReadingWatch;
  readonly uplinks: Uplinks;
  readonly marks: ReadingMarks;
  readonly reloader: Reloader;
  readonly modbus: () => Modbus | null;
  readonly http: () => AgentStatus["http"];
}

/** How the agent is now, for /api/v1/status, MQTT and the command line. */
export function agentStatus(parts: StatusParts): AgentStatus {
  const { settings, site, clock, store, gateway, poller, nodeStates, watch, uplinks, marks } =
    parts;
  const nowMs = clock.now();
  const skew = parts.gatewayClock.skewMs;
  const names = new Map(site.current.sensors.map(({ code, name }) => [code, name]));
  const skewMs = skew === null ? null : Math.round(skew);
  const buffer = store.state();
  return {
    site: site.current.site,
    version: VERSION,
    startedAtMs: parts.startedAtMs,
    nowMs,
    timezone: settings.gatewayTimezone,
    gateway: { ...gateway.state, skewMs },
    links: uplinks.links(buffer),
    buffer,
    sensors: poller.sensorStates().map((state) => ({
      ...withNodeState(state, nodeStates.condition(state.code)),
      batteryV: watch.batteryV(state.code),
      firmware: watch.node(state.code)?.firmware ?? null,
      signalDbm: watch.node(state.code)?.signalDbm ?? null,
      name: names.get(state.code) ?? null,
      zone: watch.zone(state.code),
    })),
    delivered: uplinks.delivered,
    daysSetAside: marks.setAside,
    clock: { skewMs, isPlausible: nowMs >= PLAUSIBLE_SINCE_MS },
    modbus: parts.modbus()?.state() ?? null,
    http: parts.http(),
    ...parts.reloader.state,
  };
}
