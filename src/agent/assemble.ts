/** The rooms as configured by the settings, for the agent and for one-shot commands. */
import { readFileSync } from "node:fs";
import type { Settings } from "../config/settings.ts";
import type { OutboxUplink } from "../core/delivery.ts";
import { lanesOf } from "../core/lane-plan.ts";
import type { Clock, Logger } from "../core/ports.ts";
import { createSelector, type SelectedSensor, type Uplink } from "../core/uplink.ts";
import type { WireNames } from "../core/wire/wire-names.ts";
import { createGatewayClient, type GatewayClient } from "../gateway/client.ts";
import type { Metrics } from "../lib/metrics.ts";
import { nativeBinding } from "../lib/paths.ts";
import type { SecretGate } from "../lib/secrets.ts";
import { openStore } from "../store/sqlite-store.ts";
import type { Store } from "../store/store.ts";

const MIB = 1024 * 1024;

/** What the store must know about an uplink. @param sensors those that have left the site file may be among them */
export function outboxUplink(uplink: Uplink, sensors: readonly SelectedSensor[]): OutboxUplink {
  const { name, waveforms, history, maxAgeHours, onChange, everyS, startFrom } = uplink;
  return {
    name,
    lanes: lanesOf(uplink),
    selector: createSelector(uplink.select, sensors),
    waveforms,
    history,
    maxAgeHours,
    onChange,
    everyS,
    startFrom,
  };
}

/** Throws StoreFailure `in_use` if another agent holds the directory. */
export function openAgentStore(
  settings: Settings,
  uplinks: readonly OutboxUplink[],
  parts: {
    readonly clock: Clock;
    readonly logger: Logger;
    readonly metrics?: Metrics;
    /** Name of the site, for events. */
    readonly site?: () => string;
    readonly gatewayNow?: () => number | null;
    readonly isClockConfirmed?: () => boolean;
    /** While a damaged store is copied. */
    readonly onProgress?: () => void;
  },
): Store {
  let bytesCounted = 0;
  return openStore({
    dataDir: settings.dataDir,
    nativeBinding: nativeBinding(),
    historyDays: settings.historyDays,
    gatewayNow: () => parts.gatewayNow?.() ?? null,
    isClockConfirmed: () => parts.isClockConfirmed?.() ?? true,
    waveformDays: settings.waveformDays,
    trendDays: settings.trendDays,
    bufferMaxMb: settings.bufferMaxMb,
    diskFreeMinMb: settings.diskFreeMinMb,
    uplinks,
    ...(parts.site === undefined ? {} : { site: parts.site }),
    clock: parts.clock,
    logger: parts.logger,
    commitPaceMs: settings.commitIntervalS * 1000,
    startGraceMs: START_GRACE_MS,
    onCommit(seconds, bytesWritten) {
      const { metrics } = parts;
      metrics?.commitDuration.observe(seconds);
      metrics?.commits.inc();
      metrics?.diskWrittenBytes.inc(bytesWritten - bytesCounted);
      bytesCounted = bytesWritten;
    },
    onProgress: () => parts.onProgress?.(),
    onDropped: (reason, count) => parts.metrics?.dropped.inc({ reason }, count),
    onNotSelected: (uplink, count) => parts.metrics?.uplinkNotSelected.inc({ uplink }, count),
    onLost: (uplink, reason, count) => parts.metrics?.uplinkDropped.inc({ uplink, reason }, count),
  });
}

/** A session is open by then, and something acknowledged: a full buffer gives nothing up before. */
const START_GRACE_MS = 30_000;

export type GatewayClientSettings = Pick<
  Settings,
  | "gatewayCaFile"
  | "gatewayConcurrency"
  | "gatewayHeaders"
  | "gatewayMaxBodyMb"
  | "gatewayProxy"
  | "gatewayTimeoutMs"
  | "gatewayUrl"
>;

export function openGatewayClient(
  settings: GatewayClientSettings,
  names: WireNames,
  parts: { readonly clock: Clock; readonly metrics: Metrics; readonly gate: SecretGate },
): GatewayClient {
  return createGatewayClient(parts, {
    gate: parts.gate,
    url: settings.gatewayUrl,
    names,
    headers: settings.gatewayHeaders,
    ca: settings.gatewayCaFile === null ? null : readFileSync(settings.gatewayCaFile, "utf8"),
    proxy: settings.gatewayProxy,
    timeoutMs: settings.gatewayTimeoutMs,
    concurrency: settings.gatewayConcurrency,
    bodyBytesMax: settings.gatewayMaxBodyMb * MIB,
  });
}
