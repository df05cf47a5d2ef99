import { secretsOfAddress } from "../lib/url-login.ts";
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
  | "alarmWebhookUrl"
  | "alarmWebhookHeaders"
  | "alarmWebhookSecret"
  | "heartbeatUrl"
  | "alarmEmail"
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
  alarmWebhookUrl: null,
  alarmWebhookHeaders: {},
  alarmWebhookSecret: null,
  heartbeatUrl: null,
  alarmEmail: null,
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
  const headers = [settings.gatewayHeaders, settings.alarmWebhookHeaders];
  for (const value of headers.flatMap(Object.values)) found.push(...partsOfHeader(value));
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
    ...secretsOfAddress(settings.alarmEmail?.url ?? null),
    settings.alarmWebhookSecret ?? "",
    ...secretsOfAddress(settings.alarmWebhookUrl),
    ...partsOfWebhook(settings.alarmWebhookUrl),
    ...secretsOfAddress(settings.heartbeatUrl),
    ...partsOfWebhook(settings.heartbeatUrl),
  );
  return [...new Set(found.filter((secret) => secret !== ""))];
}

/** Parts of a path or query of this length are generated: such a URL is a token. */
const TOKEN_LENGTH_MIN = 16;

function partsOfWebhook(address: string | null): string[] {
  if (address === null || !URL.canParse(address)) return [];
  const { pathname, search } = new URL(address);
  const tokens = `${pathname}${search}`
    .split(/[/?&=]/)
    .filter((part) => part.length >= TOKEN_LENGTH_MIN);
  return [...secretsOfAddress(address), ...tokens];
}

/** A whole header, the credentials after its scheme, and the content of Basic credentials. */
function partsOfHeader(value: string): string[] {
  const parts = [value];
  const [, scheme, credentials] = /^([A-Za-z][\w-]*)\s+(\S.*)$/.exec(value) ?? [];
  if (scheme === undefined || credentials === undefined) return parts;
  parts.push(credentials);
  if (scheme.toLowerCase() !== "basic") return parts;
  const pair = Buffer.from(credentials, "base64").toString("utf8");
  const colon = pair.indexOf(":");
  if (colon >= 0) parts.push(pair, pair.slice(colon + 1));
  return parts;
}
