import type { FeatureSpec } from "../features/feature.ts";
import { SPECS } from "../features/specs.ts";
import { secretsOfAddress, secretsOfHeader } from "../lib/url-login.ts";
import type { Settings, UnboundSettings } from "./settings-shape.ts";

type Secrets = Pick<
  Settings | UnboundSettings,
  | "gatewayHeaders"
  | "gatewayProxy"
  | "mqttProxy"
  | "mqttUsername"
  | "mqttPassword"
  | "httpToken"
  | "httpViewToken"
>;
/** Settings that hold none. */
export const NO_SECRETS: Secrets = {
  gatewayHeaders: {},
  gatewayProxy: null,
  mqttProxy: null,
  mqttUsername: null,
  mqttPassword: null,
  httpToken: null,
  httpViewToken: null,
};

/** The secrets of an uplink. */
export interface UplinkSecrets {
  readonly username: string | null;
  readonly password: string | null;
  readonly sasKey?: string | null;
  readonly proxy?: string | null;
}

/** Every configured secret, and the forms derived from it that an echo would contain. */
export function secretsOf(settings: Secrets, uplinks: readonly UplinkSecrets[] = []): string[] {
  const found: string[] = [];
  for (const value of Object.values(settings.gatewayHeaders)) found.push(...secretsOfHeader(value));
  const sessions: readonly UplinkSecrets[] = [
    {
      username: settings.mqttUsername,
      password: settings.mqttPassword,
      proxy: settings.mqttProxy,
    },
    ...uplinks,
  ];
  for (const { username, password, sasKey, proxy } of sessions) {
    found.push(username ?? "", password ?? "", sasKey ?? "", ...secretsOfAddress(proxy ?? null));
    if (username !== null && password !== null) found.push(`${username}:${password}`);
  }
  found.push(
    settings.httpToken ?? "",
    settings.httpViewToken ?? "",
    ...secretsOfAddress(settings.gatewayProxy),
    ...SPECS.flatMap((spec: FeatureSpec) => spec.secrets?.(settings) ?? []),
  );
  return [...new Set(found.filter((secret) => secret !== ""))];
}
