/** What the sessions of uplinks are made of. */

import type { Settings } from "../config/settings.ts";
import type { AgentStatus, SensorState } from "../core/agent-status.ts";
import type { GapLog, Runtime } from "../core/ports.ts";
import type { SiteSource } from "../core/site-source.ts";
import { MAIN_UPLINK, type Uplink } from "../core/uplink.ts";
import type { Feature } from "../features/feature.ts";
import { withFields } from "../lib/logger.ts";
import { type Metrics, uplinkMetrics } from "../lib/metrics.ts";
import type { SentStates } from "../pipeline/publish/other-agents.ts";
import type { Audit } from "../pipeline/store/audit.ts";
import type { Store } from "../pipeline/store/store.ts";

/** Why a destination closes whose uplink no longer publishes to that broker. */
export const REMOVED = "removed";

export interface DestinationParts extends Runtime {
  readonly settings: Pick<
    Settings,
    "publishClearRemoved" | "commandResponsePrefix" | "commandsEnabled" | "reconnectSpreadS"
  >;
  readonly site: SiteSource;
  readonly store: Store;
  /** Tells this agent from another one with the same site name. */
  readonly instance: string;
  /** Of this process. */
  readonly run: string;
  /** Those that an uplink publishes. */
  readonly gapsOf: (uplink: string) => GapLog;
  readonly metrics: Metrics;
  readonly status: () => AgentStatus;
  /** Of all sensors, at most a second old. */
  readonly sensors: () => readonly SensorState[];
  /** The gateway's clock, ms. */
  readonly gatewayNow: () => number;
  /** Those that run; empty until they are built. */
  readonly features: () => readonly Feature[];
  readonly audit: Audit;
  readonly credentialsDirectory: string | null;
  /** Published by all of them. */
  readonly states: SentStates;
  /** All that run. */
  readonly uplinks: () => readonly Uplink[];
}
/** While no address responds, the waits grow to this many times the spread. */
const AWAY_FACTOR = 3;

/** RECONNECT_SPREAD_S as the link takes it. */
export function reconnectDelays({ settings }: Pick<DestinationParts, "settings">) {
  const backoffMinMs = settings.reconnectSpreadS * 1000;
  return { backoffMinMs, backoffMaxMs: AWAY_FACTOR * backoffMinMs };
}

/** Specific to this uplink's sessions: log lines and counts with its name, and commands if it accepts them. */
export function ownParts(uplink: Uplink, parts: DestinationParts) {
  return {
    logger:
      uplink.name === MAIN_UPLINK
        ? parts.logger
        : withFields(parts.logger, { uplink: uplink.name }),
    metrics: uplinkMetrics(parts.metrics, uplink.name),
    takesCommands: parts.settings.commandsEnabled && uplink.commands,
  };
}
