import type { SettingsOperation } from "../core/command.ts";
import type { SecretFiles } from "../core/uplink.ts";
import type { RawSettings } from "./settings-table.ts";

export const FORMATS = ["json", "plain", "sparkplug"] as const;
type Format = (typeof FORMATS)[number];

/** Everything the program may know about its environment. Paths are absolute, URLs carry no credentials. */
export interface Settings {
  /** Without trailing slash. */
  readonly gatewayUrl: string;
  readonly gatewayService: string;
  readonly wireWord: string;
  readonly gatewayGeneration: 1 | 2;
  readonly gatewaySettingsOperation: SettingsOperation;
  readonly gatewayTimezone: string;
  /** Secret. */
  readonly gatewayHeaders: Readonly<Record<string, string>>;
  readonly gatewayCaFile: string | null;
  /** Secret: may hold a user name and password. */
  readonly gatewayProxy: string | null;
  readonly gatewayTimeoutMs: number;
  readonly gatewayConcurrency: number;
  readonly gatewayMaxBodyMb: number;
  readonly gatewayEmptyStatuses: readonly number[];
  readonly siteFile: string;
  readonly uplinksFile: string | null;
  readonly dataDir: string;
  readonly pollIntervalS: number;
  readonly backfillDays: number;
  readonly lateGraceS: number;
  /** Longest time that a few new readings wait for a commit, s. */
  readonly commitIntervalS: number;
  readonly historyDays: number;
  readonly waveformDays: number;
  readonly trendDays: number;
  readonly bufferMaxMb: number;
  readonly diskFreeMinMb: number;
  /** Comma-separated, for display; empty without an uplink `main`. */
  readonly mqttUrl: string;
  /** Addresses of one broker cluster, tried in turn; none without an uplink `main`. */
  readonly mqttUrls: readonly string[];
  readonly mqttVersion: 4 | 5;
  readonly mqttClientId: string;
  /** Secret: some brokers expect a token here. */
  readonly mqttUsername: string | null;
  /** Secret. */
  readonly mqttPassword: string | null;
  /** Absolute paths of MQTT_USERNAME_FILE and MQTT_PASSWORD_FILE. */
  readonly mqttSecretFiles?: SecretFiles;
  readonly mqttCaFile: string | null;
  readonly mqttCertFile: string | null;
  readonly mqttKeyFile: string | null;
  /** Secret: may hold a user name and password. */
  readonly mqttProxy: string | null;
  readonly mqttAlpn: readonly string[];
  readonly mqttTopicPrefix: string;
  readonly mqttInflight: number;
  readonly mqttBacklogRate: number;
  readonly mqttRequireSubscriber: boolean;
  /** Longest wait after a lost session, s. */
  readonly reconnectSpreadS: number;
  readonly publishFormats: readonly Format[];
  readonly publishRaw: boolean;
  readonly publishClearRemoved: boolean;
  readonly publishWaveforms: RawSettings["PUBLISH_WAVEFORMS"];
  readonly sparkplugGroupId: string;
  readonly sparkplugNodeId: string;
  readonly sparkplugHostId: string | null;
  readonly sparkplugHistoryBatch: number;
  readonly alarmsEnabled: boolean;
  /** Secret: such URLs often contain a token. */
  readonly alarmWebhookUrl: string | null;
  readonly alarmWebhookCaFile: string | null;
  /** Secret. */
  readonly alarmWebhookHeaders: Readonly<Record<string, string>>;
  /** Secret. */
  readonly alarmWebhookSecret: string | null;
  readonly alarmEmail: AlarmEmail | null;
  /** Null: 15 for e-mail, none for the web-hook. */
  readonly alarmDigestMinutes: number | null;
  /** Secret: such URLs often contain a token. */
  readonly heartbeatUrl: string | null;
  readonly heartbeatS: number;
  readonly configPublicKeyFile: string | null;
  readonly configTrialS: number;
  readonly commandsEnabled: boolean;
  /** Null = anywhere outside the agent's own topics. */
  readonly commandResponsePrefix: string | null;
  readonly httpHost: string;
  /** 0 = any free port; null = no HTTP. */
  readonly httpPort: number | null;
  /** Secret. */
  readonly httpToken: string | null;
  /** Secret: read-only access. */
  readonly httpViewToken: string | null;
  readonly httpSessionDays: number;
  /** Each with a slash at the end; one for each origin. */
  readonly httpPublicUrls: readonly string[];
  /** Addresses, and networks as address/bits. */
  readonly httpTrustedProxies: readonly string[];
  readonly httpUserHeader: string | null;
  readonly setupEnabled: boolean;
  /** Both or neither: with them the HTTP server accepts only TLS. */
  readonly httpCertFile: string | null;
  readonly httpKeyFile: string | null;
  readonly modbusHost: string;
  /** 0 = any free port; null = no Modbus server. */
  readonly modbusPort: number | null;
  readonly modbusWordOrder: RawSettings["MODBUS_WORD_ORDER"];
  readonly logLevel: RawSettings["LOG_LEVEL"];
}

export interface AlarmEmail {
  /** Secret: with user name and password. */
  readonly url: string;
  readonly from: string;
  readonly to: readonly string[];
}

/** Only the site file can complete these: their default is its name. */
type SiteDefaults = "mqttClientId" | "sparkplugGroupId";
export type UnboundSettings = Omit<Settings, SiteDefaults> & {
  readonly [K in SiteDefaults]: string | null;
};
