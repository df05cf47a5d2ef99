/** The rooms as configured by the settings, for the agent and for one-shot commands. */
import { readFileSync } from "node:fs";
import { secretsOf } from "../config/secrets-of.ts";
import type { Settings } from "../config/settings.ts";
import type { OutboxUplink } from "../core/delivery.ts";
import { lanesOf } from "../core/lane-plan.ts";
import { platformLimits } from "../core/platform-limits.ts";
import type { Clock, Logger } from "../core/ports.ts";
import type { Site } from "../core/sensor.ts";
import { createSelector, MAIN_UPLINK, type Uplink } from "../core/uplink.ts";
import type { WireNames } from "../core/wire/wire-names.ts";
import { createGatewayClient, type GatewayClient } from "../gateway/client.ts";
import type { Metrics } from "../lib/metrics.ts";
import { nativeBinding } from "../lib/paths.ts";
import { SecretGate } from "../lib/secrets.ts";
import type { MqttLinkOptions } from "../link/link-options.ts";
import { azureUsername, SAS_LIFETIME_S, sasToken } from "../publish/formats/azure-sas.ts";
import { openStore } from "../store/sqlite-store.ts";
import type { Store } from "../store/store.ts";

const MIB = 1024 * 1024;

/** What the store must know about an uplink. */
export function outboxUplink(uplink: Uplink, site: Site): OutboxUplink {
  const { name, waveforms, history, maxAgeHours, startFrom } = uplink;
  return {
    name,
    lanes: lanesOf(uplink),
    selector: createSelector(uplink.select, site.sensors),
    waveforms,
    history,
    maxAgeHours,
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
    waveformDays: settings.waveformDays,
    bufferMaxMb: settings.bufferMaxMb,
    diskFreeMinMb: settings.diskFreeMinMb,
    uplinks,
    ...(parts.site === undefined ? {} : { site: parts.site }),
    clock: parts.clock,
    logger: parts.logger,
    commitPaceMs: settings.commitIntervalS * 1000,
    onCommit(seconds, bytesWritten) {
      const { metrics } = parts;
      metrics?.commitDuration.observe(seconds);
      metrics?.commits.inc();
      metrics?.diskWrittenBytes.inc(bytesWritten - bytesCounted);
      bytesCounted = bytesWritten;
    },
    onProgress: () => parts.onProgress?.(),
    onDropped: (reason, count) => parts.metrics?.dropped.inc({ reason }, count),
    onLost: (uplink, reason, count) => parts.metrics?.uplinkDropped.inc({ uplink, reason }, count),
  });
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
    ca: settings.gatewayCaFile === null ? null : readFileSync(settings.gatewayCaFile, "utf8"),
    proxy: settings.gatewayProxy,
    timeoutMs: settings.gatewayTimeoutMs,
    concurrency: settings.gatewayConcurrency,
    bodyBytesMax: settings.gatewayMaxBodyMb * MIB,
  });
}

/**
 * User name and password; at Azure IoT Hub both are derived from the device's name and key, the password anew for each
 * CONNECT.
 */
function loginOf(
  { username, password, sasKey, urls, clientId, profile }: Uplink,
  onToken: (token: string) => void,
): {
  readonly username: string | null;
  readonly password: string | (() => string) | null;
} {
  if (profile !== "azure-iot") return { username, password };
  const device = { hostName: new URL(urls[0] ?? "").hostname, deviceId: clientId };
  return {
    username: username ?? azureUsername(device),
    // Without a key the device shows a client certificate.
    password:
      sasKey === null
        ? password
        : () => {
            const token = sasToken(device, sasKey, Math.floor(Date.now() / 1000) + SAS_LIFETIME_S);
            onToken(token);
            return token;
          },
  };
}

const NO_SECRETS = {
  gatewayHeaders: {},
  gatewayProxy: null,
  mqttProxy: null,
  mqttUsername: null,
  mqttPassword: null,
  httpToken: null,
  httpViewToken: null,
  alarmWebhookUrl: null,
  alarmWebhookHeaders: {},
  alarmWebhookSecret: null,
  heartbeatUrl: null,
  alarmEmail: null,
  setupEnabled: false,
  httpCertFile: null,
  httpKeyFile: null,
} as const;

/** Common to all sessions of an uplink; each has its own client id. */
export function brokerOptions(
  uplink: Uplink,
  clientId: string,
): Omit<MqttLinkOptions, "name" | "will" | "subscriptions"> & {
  redact(text: string): string;
} {
  // A broker can echo no other secrets than its own: the configured ones, and the token last derived from the key.
  const secrets = secretsOf(NO_SECRETS, [uplink]);
  let gate = new SecretGate(secrets);
  const { username, password } = loginOf(uplink, (token) => {
    gate = new SecretGate([...secrets, new URLSearchParams(token).get("sig") ?? ""]);
  });
  const { caFile, certFile, keyFile } = uplink.tls;
  const limits = platformLimits(uplink.profile);
  const pem = (path: string) => readFileSync(path, "utf8");
  return {
    urls: uplink.urls,
    version: uplink.version,
    clientId,
    ...(uplink.name === MAIN_UPLINK ? {} : { uplink: uplink.name }),
    redact: (text) => gate.redact(text),
    inflight: Math.min(uplink.inflight, limits.inflightMax),
    publishesPerS: limits.publishesPerS,
    requireSubscriber: uplink.requireSubscriber,
    ...(username === null ? {} : { username }),
    ...(password === null ? {} : { password }),
    ...(uplink.proxy === null ? {} : { proxy: uplink.proxy }),
    alpn: uplink.alpn,
    tls: {
      ...(caFile === null ? {} : { ca: pem(caFile) }),
      ...(certFile === null ? {} : { cert: pem(certFile) }),
      ...(keyFile === null ? {} : { key: pem(keyFile) }),
    },
  };
}
