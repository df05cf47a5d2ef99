import type { RawSettings } from "./settings-table.ts";

export const FORMATS = ["json", "plain", "sparkplug"] as const;
export type Format = (typeof FORMATS)[number];

/** Everything the program may know of its environment. Paths are absolute, addresses carry no credentials. */
export interface Settings {
  /** Without trailing slash. */
  readonly gatewayUrl: string;
  readonly gatewayService: string;
  readonly wireWord: string;
  readonly gatewayGeneration: 1 | 2;
  readonly gatewayTimezone: string;
  /** Secret. */
  readonly gatewayHeaders: Readonly<Record<string, string>>;
  readonly gatewayCaFile: string | null;
  readonly gatewayTimeoutMs: number;
  readonly gatewayConcurrency: number;
  readonly gatewayMaxBodyMb: number;
  readonly gatewayEmptyStatuses: readonly number[];
  readonly siteFile: string;
  readonly dataDir: string;
  readonly pollIntervalS: number;
  readonly backfillDays: number;
  readonly lateGraceS: number;
  readonly historyDays: number;
  readonly waveformDays: number;
  readonly bufferMaxMb: number;
  readonly diskFreeMinMb: number;
  readonly mqttUrl: string;
  readonly mqttVersion: 4 | 5;
  readonly mqttClientId: string;
  /** Secret: some brokers take a token here. */
  readonly mqttUsername: string | null;
  /** Secret. */
  readonly mqttPassword: string | null;
  readonly mqttCaFile: string | null;
  readonly mqttCertFile: string | null;
  readonly mqttKeyFile: string | null;
  readonly mqttTopicPrefix: string;
  readonly mqttInflight: number;
  readonly mqttBacklogRate: number;
  readonly mqttRequireSubscriber: boolean;
  readonly publishFormats: readonly Format[];
  readonly publishRaw: boolean;
  readonly publishWaveforms: RawSettings["PUBLISH_WAVEFORMS"];
  readonly sparkplugGroupId: string;
  readonly sparkplugNodeId: string;
  readonly sparkplugHostId: string | null;
  readonly commandsEnabled: boolean;
  readonly httpHost: string;
  /** 0 = any free port; null = no HTTP. */
  readonly httpPort: number | null;
  /** Secret. */
  readonly httpToken: string | null;
  readonly logLevel: RawSettings["LOG_LEVEL"];
}

/** What only the site file can complete: its name is the default of these. */
type SiteDefaults = "mqttClientId" | "sparkplugGroupId";
export type UnboundSettings = Omit<Settings, SiteDefaults> & {
  readonly [K in SiteDefaults]: string | null;
};
