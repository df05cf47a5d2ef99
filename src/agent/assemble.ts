/** The rooms as the settings want them, for the agent and for the commands that do its work once. */
import { readFileSync } from "node:fs";
import type { Settings } from "../config/settings.ts";
import type { Clock, Lane, Logger } from "../core/ports.ts";
import type { WireNames } from "../core/wire/wire-names.ts";
import { createGatewayClient, type GatewayClient } from "../gateway/client.ts";
import type { Metrics } from "../lib/metrics.ts";
import { nativeBinding } from "../lib/paths.ts";
import type { MqttLinkOptions } from "../publish/link-options.ts";
import { isWanted } from "../publish/waveform.ts";
import { openStore, type Store } from "../store/store.ts";

const MIB = 1024 * 1024;

/** The lanes of the configured formats, in their right of way. */
export function lanesOf(settings: Settings): Lane[] {
  const lanes: Lane[] = [...settings.publishFormats];
  if (settings.publishWaveforms === "never") return lanes;
  if (settings.publishFormats.includes("json")) lanes.push("waveform");
  if (settings.publishFormats.includes("sparkplug")) lanes.push("sparkplugWaveform");
  return lanes;
}

/** Throws StoreFailure `in_use` where another agent holds the directory. */
export function openAgentStore(
  settings: Settings,
  parts: {
    readonly clock: Clock;
    readonly logger: Logger;
    readonly metrics?: Metrics;
    readonly onRecovered?: () => void;
    /** While a damaged store is copied. */
    readonly onProgress?: () => void;
  },
): Store {
  const { publishWaveforms: which } = settings;
  let store: Store | null = null;
  let bytesCounted = 0;
  store = openStore({
    dataDir: settings.dataDir,
    nativeBinding: nativeBinding(),
    historyDays: settings.historyDays,
    waveformDays: settings.waveformDays,
    bufferMaxMb: settings.bufferMaxMb,
    diskFreeMinMb: settings.diskFreeMinMb,
    lanes: lanesOf(settings),
    waveformPolicy: ({ waveform }) =>
      which !== "never" && isWanted(which, waveform?.recordingReason ?? null),
    clock: parts.clock,
    logger: parts.logger,
    onCommit(seconds) {
      const { metrics } = parts;
      metrics?.commitDuration.observe(seconds);
      metrics?.commits.inc();
      // The commit that is being told of is counted in bytes at the next one.
      const bytesWritten = store?.statistics.bytesWritten ?? 0;
      metrics?.diskWrittenBytes.inc(bytesWritten - bytesCounted);
      bytesCounted = bytesWritten;
    },
    onRecovered: () => parts.onRecovered?.(),
    onProgress: () => parts.onProgress?.(),
    onDropped: (reason, count) => parts.metrics?.dropped.inc({ reason }, count),
  });
  return store;
}

export function openGatewayClient(
  settings: Settings,
  names: WireNames,
  parts: { readonly clock: Clock; readonly metrics: Metrics },
): GatewayClient {
  return createGatewayClient(parts, {
    url: settings.gatewayUrl,
    names,
    headers: settings.gatewayHeaders,
    ca: settings.gatewayCaFile === null ? null : readFileSync(settings.gatewayCaFile, "utf8"),
    timeoutMs: settings.gatewayTimeoutMs,
    concurrency: settings.gatewayConcurrency,
    bodyBytesMax: settings.gatewayMaxBodyMb * MIB,
  });
}

/** What every session with the broker shares; each has its own client id. */
export function brokerOptions(
  settings: Settings,
  clientId: string,
): Omit<MqttLinkOptions, "name" | "will" | "subscriptions"> {
  const { mqttUsername, mqttPassword, mqttCaFile, mqttCertFile, mqttKeyFile } = settings;
  const pem = (path: string) => readFileSync(path, "utf8");
  return {
    url: settings.mqttUrl,
    version: settings.mqttVersion,
    clientId,
    inflight: settings.mqttInflight,
    requireSubscriber: settings.mqttRequireSubscriber,
    ...(mqttUsername === null ? {} : { username: mqttUsername }),
    ...(mqttPassword === null ? {} : { password: mqttPassword }),
    tls: {
      ...(mqttCaFile === null ? {} : { ca: pem(mqttCaFile) }),
      ...(mqttCertFile === null ? {} : { cert: pem(mqttCertFile) }),
      ...(mqttKeyFile === null ? {} : { key: pem(mqttKeyFile) }),
    },
  };
}
