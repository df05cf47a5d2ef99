/**
 * Every process setting once (contract section 3): name, type, default, limits, whether it is a secret, and its
 * meaning. The JSON Schema for env-schema, the types, the `check` command and the documentation are derived from it.
 */
import { SETTINGS_OPERATION_NAMES } from "../core/command.ts";
import { anyOf } from "./fault.ts";

interface Common {
  readonly doc: string;
  /** Contains a credential: never shown, and may be given as NAME_FILE. */
  readonly secret?: true;
}
interface TextSpec extends Common {
  readonly type: "text";
  readonly default?: string;
  readonly required?: true;
  /** The whole value must match; `form` describes it in words. */
  readonly pattern?: string;
  readonly form?: string;
}
interface NumberSpec extends Common {
  readonly type: "integer" | "number";
  readonly default: number;
  readonly minimum: number;
  readonly maximum: number;
}
interface BooleanSpec extends Common {
  readonly type: "boolean";
  readonly default: boolean;
}
interface ChoiceSpec extends Common {
  readonly type: "choice";
  readonly choices: readonly string[];
  readonly default: string;
}
export type SettingSpec = TextSpec | NumberSpec | BooleanSpec | ChoiceSpec;

const SPARKPLUG_ID = {
  type: "text",
  pattern: "^[^+#/\\u0000-\\u001f\\u007f-\\u009f]{1,128}$",
  form: "a name without + # / or control characters",
} as const;

const SPECS = {
  GATEWAY_URL: {
    type: "text",
    required: true,
    secret: true,
    form: "an address such as http://192.168.1.20:8080",
    doc: "Base address of the gateway service, http:// or https://.",
  },
  GATEWAY_SERVICE: {
    type: "text",
    default: "SensorService.svc",
    pattern: "^[A-Za-z0-9._~-]+(/[A-Za-z0-9._~-]+)*$",
    form: "a path without leading or trailing slash",
    doc: "Path of the service below GATEWAY_URL.",
  },
  WIRE_WORD: {
    type: "text",
    default: "sensor",
    pattern: "^[A-Za-z][A-Za-z0-9_]{0,31}$",
    form: "letters, digits and _, the first a letter",
    doc: "The vendor's word for `sensor` in the names of operations and fields.",
  },
  GATEWAY_GENERATION: {
    type: "choice",
    choices: ["1", "2"],
    default: "2",
    doc: "Generation of the gateway; UpdateConfig exists only on generation 1.",
  },
  GATEWAY_SETTINGS_OPERATION: {
    type: "choice",
    choices: SETTINGS_OPERATION_NAMES,
    default: "saveSettings",
    doc: "Operation that queues sensor settings. UpdateConfig is deprecated, exists only on generation 1, and has rules of its own.",
  },
  GATEWAY_TIMEZONE: {
    type: "text",
    doc: "IANA time zone of the gateway's calendar day; by default the system's.",
  },
  GATEWAY_HEADERS: {
    type: "text",
    secret: true,
    doc: "Extra request headers: `Name: value`, or a JSON object of several.",
  },
  GATEWAY_CA_FILE: {
    type: "text",
    doc: "PEM file of a private CA for an https gateway, trusted in addition to the public CAs.",
  },
  GATEWAY_PROXY: {
    type: "text",
    secret: true,
    doc: "HTTP proxy in front of the gateway, http://[user:password@]host:port; none by default. HTTP_PROXY is ignored.",
  },
  GATEWAY_TIMEOUT_MS: {
    type: "integer",
    default: 30_000,
    minimum: 100,
    maximum: 600_000,
    doc: "Time limit for the first byte of a response, ms.",
  },
  GATEWAY_CONCURRENCY: {
    type: "integer",
    default: 2,
    minimum: 1,
    maximum: 32,
    doc: "Maximum concurrent requests.",
  },
  GATEWAY_MAX_BODY_MB: {
    type: "integer",
    default: 512,
    minimum: 1,
    maximum: 65_536,
    doc: "Maximum size of a response, MB; a larger one fails.",
  },
  GATEWAY_EMPTY_STATUSES: {
    type: "text",
    pattern: "^\\s*-?\\d{1,9}(\\s*,\\s*-?\\d{1,9})*\\s*$",
    form: "whole numbers, comma-separated",
    doc: "Status numbers that mean a day without records on this gateway.",
  },
  SITE_FILE: { type: "text", default: "config/site.json", doc: "The site file." },
  UPLINKS_FILE: {
    type: "text",
    doc: "The uplinks file: more destinations, each with its own session.",
  },
  DATA_DIR: { type: "text", default: "data", doc: "Directory that holds gateside.db." },
  POLL_INTERVAL_S: {
    type: "integer",
    default: 60,
    minimum: 1,
    maximum: 3600,
    doc: "Maximum time between two reads of a sensor's current day, s.",
  },
  BACKFILL_DAYS: {
    type: "integer",
    default: 7,
    minimum: 0,
    maximum: 366,
    doc: "Days before today that are read at the first start; also the longest outage that is filled in later.",
  },
  LATE_GRACE_S: {
    type: "integer",
    default: 7200,
    minimum: 0,
    maximum: 93_600,
    doc: "How long after midnight the previous day is still read at the normal interval, s.",
  },
  COMMIT_INTERVAL_S: {
    type: "integer",
    default: 6,
    minimum: 0,
    maximum: 60,
    doc: "Maximum time that new readings wait to be stored and published together, s, which spares SD cards; 0 = no wait. More than 50 waiting readings are stored at once.",
  },
  HISTORY_DAYS: {
    type: "integer",
    default: 30,
    minimum: 1,
    maximum: 3660,
    doc: "Days that delivered readings are kept for local queries; at least BACKFILL_DAYS + 2.",
  },
  WAVEFORM_DAYS: {
    type: "integer",
    default: 7,
    minimum: 0,
    maximum: 3660,
    doc: "Days that waveform samples are kept.",
  },
  BUFFER_MAX_MB: {
    type: "integer",
    default: 2048,
    minimum: 8,
    maximum: 16_777_216,
    doc: "Maximum size of the agent's files in DATA_DIR, WAL included, MB.",
  },
  DISK_FREE_MIN_MB: {
    type: "integer",
    default: 256,
    minimum: 0,
    maximum: 16_777_216,
    doc: "Free space that the agent leaves on the disk of DATA_DIR, MB; 0 = no minimum.",
  },
  MQTT_URL: {
    type: "text",
    secret: true,
    form: "an address such as mqtt://192.168.1.10:1883",
    doc: "The broker: mqtt://, mqtts://, ws:// or wss://; several addresses of one cluster, comma-separated, are tried in turn. Required unless UPLINKS_FILE is given.",
  },
  MQTT_VERSION: {
    type: "choice",
    choices: ["5", "4"],
    default: "5",
    doc: "5, or 4 for MQTT 3.1.1.",
  },
  MQTT_CLIENT_ID: {
    type: "text",
    pattern: "^[^\\u0000-\\u001f]{1,128}$",
    form: "1 to 128 characters, no control characters",
    doc: "MQTT client id; gateside-{site} by default.",
  },
  MQTT_USERNAME: { type: "text", secret: true, doc: "MQTT user name." },
  MQTT_PASSWORD: { type: "text", secret: true, doc: "MQTT password." },
  MQTT_CA_FILE: {
    type: "text",
    doc: "PEM file of the CA that signed the broker's certificate, trusted in addition to the public CAs.",
  },
  MQTT_CERT_FILE: { type: "text", doc: "PEM file of the agent's client certificate." },
  MQTT_KEY_FILE: { type: "text", doc: "PEM file of its private key." },
  MQTT_TOPIC_PREFIX: {
    type: "text",
    default: "gateside",
    pattern: "^(?!\\$)(?!spBv1\\.0(/|$))[^+#/\\u0000-\\u001f]+(/[^+#/\\u0000-\\u001f]+)*$",
    form: "topic levels without + # or $ at the start, no leading or trailing /, not spBv1.0",
    doc: "First level or levels of every JSON and plain topic.",
  },
  MQTT_INFLIGHT: {
    type: "integer",
    default: 100,
    minimum: 1,
    maximum: 65_535,
    doc: "Maximum QoS 1 messages awaiting PUBACK.",
  },
  MQTT_BACKLOG_RATE: {
    type: "number",
    default: 0,
    minimum: 0,
    maximum: 1_000_000,
    doc: "Maximum backlog messages per second; 0 = as fast as the broker acknowledges.",
  },
  MQTT_REQUIRE_SUBSCRIBER: {
    type: "boolean",
    default: false,
    doc: 'MQTT 5: a PUBACK with the reason "no matching subscribers" counts as not delivered.',
  },
  PUBLISH_FORMATS: {
    type: "text",
    default: "json",
    doc: "Any of json, plain, sparkplug, comma-separated.",
  },
  PUBLISH_RAW: {
    type: "boolean",
    default: false,
    doc: "Add the raw values of the record to each JSON reading.",
  },
  PUBLISH_CLEAR_REMOVED: {
    type: "boolean",
    default: false,
    doc: "Clear the retained readings of a sensor that was removed from the site file.",
  },
  PUBLISH_WAVEFORMS: {
    type: "choice",
    choices: ["always", "alarm", "never"],
    default: "alarm",
    doc: "Which waveforms are published; alarm = recording_reason 3 or 1.",
  },
  SPARKPLUG_GROUP_ID: { ...SPARKPLUG_ID, doc: "Sparkplug group; by default the site." },
  SPARKPLUG_NODE_ID: { ...SPARKPLUG_ID, default: "gateside", doc: "Sparkplug edge node." },
  SPARKPLUG_HOST_ID: {
    ...SPARKPLUG_ID,
    doc: "Sparkplug primary host; nothing is sent while it is offline.",
  },
  SPARKPLUG_HISTORY_BATCH: {
    type: "integer",
    default: 256,
    minimum: 1,
    maximum: 256,
    doc: "Maximum records in one historical message; 1 for hosts that keep only one value of each name per message.",
  },
  ALARMS_ENABLED: {
    type: "boolean",
    default: true,
    doc: "Watch readings for alarms: zones, low battery, silence, bad quality, and the rules of the site file.",
  },
  ALARM_WEBHOOK_URL: {
    type: "text",
    secret: true,
    form: "an address such as https://hooks.example/plant",
    doc: "URL that alarm events are posted to as JSON, http:// or https://.",
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
    form: "a mail address",
    doc: "Sender of alarm mails.",
  },
  ALARM_EMAIL_TO: {
    type: "text",
    pattern: "^[^\\s@<>,;]+@[^\\s@<>,;]+$",
    form: "a mail address",
    doc: "Recipient of alarm mails.",
  },
  CONFIG_PUBLIC_KEY_FILE: {
    type: "text",
    doc: "PEM file of Ed25519 public keys. Site and uplinks files signed with one of them are accepted over MQTT; without it, none are.",
  },
  CONFIG_TRIAL_S: {
    type: "integer",
    default: 300,
    minimum: 1,
    maximum: 86_400,
    doc: "Trial time of a signed configuration, s: links and reads must be at least as good as before, or the last good configuration is restored.",
  },
  COMMANDS_ENABLED: {
    type: "boolean",
    default: false,
    doc: "Accept sensor-setting commands over MQTT.",
  },
  COMMAND_RESPONSE_PREFIX: {
    type: "text",
    doc: "Responses to commands are sent only to response topics below this one; by default to any topic except the agent's own.",
  },
  HTTP_HOST: {
    type: "text",
    default: "127.0.0.1",
    pattern: "^[A-Za-z0-9.:_%\\[\\]-]+$",
    form: "an address or host name",
    doc: "Address that the HTTP server listens on.",
  },
  HTTP_PORT: {
    type: "text",
    default: "8080",
    pattern: "^(off|0|[1-9][0-9]{0,4})$",
    form: "a whole number from 0 to 65535, or off",
    doc: "Port of the HTTP server; 0 = any free port, off = no HTTP.",
  },
  HTTP_TOKEN: {
    type: "text",
    secret: true,
    pattern: "^[\\u0021-\\u007e]+$",
    form: "printable ASCII characters without blanks",
    doc: "Bearer token with full access; required when HTTP_HOST is not a loopback address.",
  },
  HTTP_VIEW_TOKEN: {
    type: "text",
    secret: true,
    pattern: "^[\\u0021-\\u007e]+$",
    form: "printable ASCII characters without blanks",
    doc: "Bearer token with read-only access.",
  },
  SETUP_ENABLED: {
    type: "boolean",
    default: false,
    doc: "Set-up pages of the dashboard: site and uplinks file can be changed over HTTP with HTTP_TOKEN. Versions are kept, and every change is audited. The agent can then start without a site file.",
  },
  HTTP_CERT_FILE: {
    type: "text",
    doc: "PEM file of the HTTP server's certificate with its chain; HTTP is then TLS only. `gateside certificate` creates a self-signed one.",
  },
  HTTP_KEY_FILE: {
    type: "text",
    doc: "PEM file of its private key. Both files are reloaded when they change.",
  },
  MODBUS_PORT: {
    type: "text",
    default: "off",
    pattern: "^(off|0|[1-9][0-9]{0,4})$",
    form: "a whole number from 0 to 65535, or off",
    doc: "Port of the read-only Modbus TCP server; 0 = any free port, off = no server.",
  },
  MODBUS_HOST: {
    type: "text",
    default: "127.0.0.1",
    pattern: "^[A-Za-z0-9.:_%\\[\\]-]+$",
    form: "an address or host name",
    doc: "Address that the Modbus server listens on. Modbus has no authentication: whoever can reach it can read every value.",
  },
  MODBUS_WORD_ORDER: {
    type: "choice",
    choices: ["big", "little"],
    default: "big",
    doc: "Order of the two registers of a float: big = high word first.",
  },
  LOG_LEVEL: {
    type: "choice",
    choices: ["trace", "debug", "info", "warn", "error", "fatal", "silent"],
    default: "info",
    doc: "Log level.",
  },
} as const satisfies Record<string, SettingSpec>;

export type SettingName = keyof typeof SPECS;

type ValueOf<S> = S extends { type: "integer" | "number" }
  ? number
  : S extends { type: "boolean" }
    ? boolean
    : S extends { choices: readonly (infer C)[] }
      ? C
      : S extends { default: string } | { required: true }
        ? string
        : string | undefined;
/** Values by environment name, coerced and range-checked, before cross checks. */
export type RawSettings = { readonly [N in SettingName]: ValueOf<(typeof SPECS)[N]> };

export const SETTINGS: Readonly<Record<SettingName, SettingSpec>> = SPECS;
export const SETTING_NAMES = Object.keys(SPECS) as SettingName[];

export function isSettingName(name: string): name is SettingName {
  return Object.hasOwn(SPECS, name);
}

/** The table as JSON Schema, for env-schema. */
export function settingsSchema(): object {
  const properties: Record<string, object> = {};
  const required: string[] = [];
  for (const name of SETTING_NAMES) {
    const spec = SETTINGS[name];
    properties[name] = property(spec);
    if (spec.type === "text" && spec.required) required.push(name);
  }
  return { type: "object", properties, required };
}

function property(spec: SettingSpec): object {
  switch (spec.type) {
    case "text":
      return {
        type: "string",
        ...(spec.default === undefined ? {} : { default: spec.default }),
        ...(spec.pattern === undefined ? {} : { pattern: spec.pattern }),
      };
    case "choice":
      return { type: "string", enum: spec.choices, default: spec.default };
    case "boolean":
      return { type: "boolean", default: spec.default };
    case "integer":
    case "number":
      return {
        type: spec.type,
        minimum: spec.minimum,
        maximum: spec.maximum,
        default: spec.default,
      };
  }
}

/** The required form of this setting's value, in words. */
export function expectation(spec: SettingSpec): string {
  switch (spec.type) {
    case "integer":
      return `set it to a whole number from ${spec.minimum} to ${spec.maximum}`;
    case "number":
      return `set it to a number from ${spec.minimum} to ${spec.maximum}`;
    case "boolean":
      return "set it to true or false";
    case "choice":
      return `set it to ${anyOf(spec.choices)}`;
    case "text":
      return `set it to ${spec.form ?? "a text"}`;
  }
}
