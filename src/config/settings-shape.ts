import type { SecretFiles, UplinkFormat } from "../core/uplink.ts";
import type { SPECS } from "../features/specs.ts";
import type { NamedBySite, PlainSettings } from "./settings-table.ts";

/** Settings that the program needs in another form than written. URLs carry no credentials. */
interface RefinedSettings {
  /** Without trailing slash. */
  readonly gatewayUrl: string;
  readonly gatewayGeneration: 1 | 2;
  readonly gatewayTimezone: string;
  /** Secret. */
  readonly gatewayHeaders: Readonly<Record<string, string>>;
  readonly gatewayEmptyStatuses: readonly number[];
  /** Comma-separated, for display; empty without an uplink `main`. */
  readonly mqttUrl: string;
  readonly mqttVersion: 4 | 5;
  readonly mqttAlpn: readonly string[];
  readonly publishFormats: readonly UplinkFormat[];
  /** 0 = any free port; null = no HTTP. */
  readonly httpPort: number | null;
}
/** Settings that the program knows in the place of others. */
interface DerivedSettings {
  /** Addresses of one broker cluster, tried in turn; none without an uplink `main`. */
  readonly mqttUrls: readonly string[];
  /** Absolute paths of MQTT_USERNAME_FILE and MQTT_PASSWORD_FILE. */
  readonly mqttSecretFiles?: SecretFiles;
  /** Each with a slash at the end; one for each origin. */
  readonly httpPublicUrls: readonly string[];
  /** Addresses, and networks as address/bits. */
  readonly httpTrustedProxies: readonly string[];
}
/** What features make of theirs. */
type RefinedBy<S> = S extends readonly [infer First, ...infer Others]
  ? (First extends { refine(raw: never, refining: never): infer R } ? R : object) &
      RefinedBy<Others>
  : object;
export type FeatureSettings = RefinedBy<typeof SPECS>;
/** Everything the program may know about its environment, before the site's name completes it. Paths are absolute. */
export type UnboundSettings = Omit<PlainSettings, keyof RefinedSettings | keyof FeatureSettings> &
  RefinedSettings &
  FeatureSettings &
  DerivedSettings;

/** Only the site file can complete those that its name is the default of. */
export type Settings = Omit<UnboundSettings, NamedBySite> & {
  readonly [K in NamedBySite]: string;
};
