/** The rooms as configured by the settings, for the agent and for one-shot commands. */
import { readFileSync } from "node:fs";
import type { Settings } from "../config/settings.ts";
import type { OutboxUplink } from "../core/delivery/delivery.ts";
import { lanesOf } from "../core/delivery/lane-plan.ts";
import type { Clock } from "../core/ports.ts";
import { createSelector, type SelectedSensor, type Uplink } from "../core/uplink.ts";
import type { FeatureSpec } from "../features/feature.ts";
import { SPECS } from "../features/specs.ts";
import type { Metrics } from "../lib/metrics.ts";
import { nativeBinding } from "../lib/paths.ts";
import type { SecretGate } from "../lib/secrets.ts";
import { createGatewayClient, type GatewayClient } from "../pipeline/gateway/client.ts";
import type { WireNames } from "../pipeline/wire/wire-names.ts";

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

/** A session is open by then, and something acknowledged: a full buffer gives nothing up before. */
const START_GRACE_MS = 30_000;
/** For the first reads, and for what a broker has retained, ms. */
const LIVE_PROOF_MS = 60_000;

/** Absent where no feature counts. */
export const COUNT = SPECS.flatMap(({ count }: FeatureSpec) =>
  count === undefined ? [] : [count],
)[0];

/** What the settings say of the store. Without a gateway that tells the time, nothing ages. */
export function storeSettings(settings: Settings) {
  const { dataDir, historyDays, waveformDays, bufferMaxMb, diskFreeMinMb } = settings;
  return {
    dataDir,
    historyDays,
    waveformDays,
    bufferMaxMb,
    diskFreeMinMb,
    nativeBinding: nativeBinding(),
    keep: SPECS.flatMap(({ keep }: FeatureSpec) => (keep === undefined ? [] : [keep]))[0],
    count: COUNT?.open(settings),
    gatewayNow: (): number | null => null,
    commitPaceMs: settings.commitIntervalS * 1000,
    startGraceMs: START_GRACE_MS,
    liveProofMs: LIVE_PROOF_MS,
  };
}

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
    ca: renewed(settings.gatewayCaFile),
    proxy: settings.gatewayProxy,
    timeoutMs: settings.gatewayTimeoutMs,
    concurrency: settings.gatewayConcurrency,
    bodyBytesMax: settings.gatewayMaxBodyMb * MIB,
  });
}

/** The content of a file that is renewed in place; while it is not there, what it held last. */
function renewed(path: string | null): () => string | null {
  if (path === null) return () => null;
  let last = readFileSync(path, "utf8");
  return () => {
    try {
      last = readFileSync(path, "utf8");
    } catch {
      // It is being replaced, or `check` says what is wrong with it.
    }
    return last;
  };
}
