/** Where people are told of alarms: settings, their checks, and the secrets in them. */
import type { Refining } from "../../config/refining.ts";
import { expectation, type RawOf, type SettingSpec } from "../../config/setting-spec.ts";
import { secretsOfAddress, secretsOfHeader } from "../../lib/url-login.ts";

export const NOTIFY_SETTINGS = {
  ALARM_WEBHOOK_URL: {
    type: "text",
    secret: true,
    form: "an address such as https://hooks.example/plant",
    doc: "URL that alarm events are posted to as JSON, http:// or https://. A user name and password in it are sent as Basic authentication.",
  },
  ALARM_WEBHOOK_CA_FILE: {
    type: "path",
    doc: "PEM file of a private CA for an https web-hook, trusted in addition to the public CAs.",
  },
  ALARM_WEBHOOK_HEADERS: {
    type: "text",
    secret: true,
    doc: "Extra headers of the web-hook's requests: `Name: value`, or a JSON object of several.",
  },
  ALARM_WEBHOOK_SECRET: {
    type: "text",
    secret: true,
    doc: "Key with which the web-hook's bodies are signed: `X-Gateside-Signature: sha256=` and the HMAC-SHA-256 of the body in hex.",
  },
  ALARM_EMAIL_URL: {
    type: "text",
    secret: true,
    form: "an address such as smtps://user:password@mail.example:465",
    doc: "Mail server for alarm events, smtp:// or smtps://.",
  },
  ALARM_EMAIL_FROM: {
    type: "text",
    pattern: "^[^\\s@<>,;]+@[^\\s@<>,;]+$",
    form: "an e-mail address",
    doc: "Sender of alarm e-mails.",
  },
  ALARM_EMAIL_TO: {
    type: "text",
    pattern: "^\\s*[^\\s@<>,;]+@[^\\s@<>,;]+(\\s*,\\s*[^\\s@<>,;]+@[^\\s@<>,;]+)*\\s*$",
    form: "one or more e-mail addresses, comma-separated",
    doc: "Recipients of alarm e-mails, comma-separated.",
  },
  ALARM_DIGEST_MINUTES: {
    type: "integer",
    minimum: 0,
    maximum: 1440,
    doc: "After an alarm message, what follows is collected this long into one message; the first alarm after warnings is sent at once. 0: none. By default 15 for e-mail; the web-hook collects only if this is set.",
  },
  HEARTBEAT_URL: {
    type: "text",
    secret: true,
    form: "an address such as https://watch.example/ping/plant-7",
    doc: "Address that is requested with GET at intervals while the agent works: a watch elsewhere notices when the box is dead.",
  },
  HEARTBEAT_S: {
    type: "integer",
    default: 300,
    minimum: 10,
    maximum: 86_400,
    doc: "Time between two requests of HEARTBEAT_URL, s.",
  },
} as const satisfies Record<string, SettingSpec>;

type Raw = RawOf<typeof NOTIFY_SETTINGS>;

/** What the feature reads of the settings. */
export interface NotifySettings {
  /** Secret, like the headers and the key. */
  readonly alarmWebhookUrl: string | null;
  readonly alarmWebhookHeaders: Readonly<Record<string, string>>;
  readonly alarmWebhookSecret: string | null;
  readonly alarmWebhookCaFile: string | null;
  /** The URL with user name and password. */
  readonly alarmEmail: {
    readonly url: string;
    readonly from: string;
    readonly to: readonly string[];
  } | null;
  readonly alarmDigestMinutes: number | null;
  readonly heartbeatUrl: string | null;
  readonly heartbeatS: number;
  readonly httpPublicUrls: readonly string[];
  readonly gatewayTimezone: string;
}

export function refineNotify(raw: Raw, { note, authorities, headers }: Refining) {
  const alarmWebhookUrl = addressOf("ALARM_WEBHOOK_URL", raw, note);
  const alarmWebhookHeaders = headers("ALARM_WEBHOOK_HEADERS", raw.ALARM_WEBHOOK_HEADERS);
  checkOneLogin(alarmWebhookUrl, alarmWebhookHeaders, note);
  authorities("ALARM_WEBHOOK_CA_FILE", raw.ALARM_WEBHOOK_CA_FILE);
  return {
    alarmWebhookUrl,
    alarmWebhookHeaders,
    heartbeatUrl: addressOf("HEARTBEAT_URL", raw, note),
    alarmEmail: emailOf(raw, note),
  };
}

/** Of the two, one would be sent beside the other. */
function checkOneLogin(
  url: string | null,
  headers: Readonly<Record<string, string>>,
  note: Refining["note"],
) {
  if (url === null || new URL(url).username === "") return;
  if (!Object.keys(headers).some((name) => name.toLowerCase() === "authorization")) return;
  note({
    place: "ALARM_WEBHOOK_URL",
    problem: "contains a user name, but ALARM_WEBHOOK_HEADERS contains an Authorization header",
    remedy: "keep one of the two",
  });
}

/** Kept as written: it may contain a token anywhere. */
function addressOf(
  place: "ALARM_WEBHOOK_URL" | "HEARTBEAT_URL",
  raw: Raw,
  note: Refining["note"],
): string | null {
  const url = raw[place];
  if (url === undefined) return null;
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  note({
    place,
    problem: "is not an http:// or https:// address",
    remedy: expectation(NOTIFY_SETTINGS[place]),
  });
  return null;
}

/** All three, or none. */
function emailOf(raw: Raw, note: Refining["note"]): NotifySettings["alarmEmail"] {
  const { ALARM_EMAIL_URL: url, ALARM_EMAIL_FROM: from, ALARM_EMAIL_TO: to } = raw;
  const given = { ALARM_EMAIL_URL: url, ALARM_EMAIL_FROM: from, ALARM_EMAIL_TO: to };
  if (Object.values(given).every((value) => value === undefined)) return null;
  for (const [place, value] of Object.entries(given)) {
    if (value === undefined)
      note({
        place,
        problem: "is missing, but other ALARM_EMAIL_… settings are set",
        remedy: "set all of ALARM_EMAIL_URL, ALARM_EMAIL_FROM and ALARM_EMAIL_TO, or none of them",
      });
  }
  if (url === undefined || from === undefined || to === undefined) return null;
  if (!URL.canParse(url) || !/^smtps?:$/.test(new URL(url).protocol)) {
    note({
      place: "ALARM_EMAIL_URL",
      problem: "is not an smtp:// or smtps:// address",
      remedy: expectation(NOTIFY_SETTINGS.ALARM_EMAIL_URL),
    });
    return null;
  }
  return { url, from, to: to.split(",").map((address) => address.trim()) };
}

/** What an echo of one of these would contain. Settings that have none of them hold no secret. */
export function secretsOfNotify({
  alarmWebhookUrl = null,
  alarmWebhookHeaders = {},
  alarmWebhookSecret = null,
  alarmEmail = null,
  heartbeatUrl = null,
}: Partial<NotifySettings>): string[] {
  return [
    ...Object.values(alarmWebhookHeaders).flatMap(secretsOfHeader),
    ...secretsOfAddress(alarmEmail?.url ?? null),
    alarmWebhookSecret ?? "",
    ...partsOfWebhook(alarmWebhookUrl),
    ...partsOfWebhook(heartbeatUrl),
  ];
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
