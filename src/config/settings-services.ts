import type { SettingSpec } from "./setting-spec.ts";

/** Alarms, remote configuration, commands and everything that listens. */
export const SERVICE_SETTINGS = {
  ALARMS_ENABLED: {
    type: "boolean",
    default: true,
    doc: "Watch readings for alarms: zones, low battery, silence, bad quality, and the rules of the site file.",
  },
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
    form: "printable ASCII characters without spaces",
    doc: "Bearer token with full access; required when HTTP_HOST is not a loopback address.",
  },
  HTTP_VIEW_TOKEN: {
    type: "text",
    secret: true,
    pattern: "^[\\u0021-\\u007e]+$",
    form: "printable ASCII characters without spaces",
    doc: "Bearer token with read-only access.",
  },
  HTTP_SESSION_DAYS: {
    type: "integer",
    default: 30,
    minimum: 1,
    maximum: 3650,
    doc: "Days after which an unused session of HTTP_VIEW_TOKEN ends. It survives restarts; one of HTTP_TOKEN ends with the process, or after 24 h without use.",
  },
  HTTP_PUBLIC_URL: {
    type: "text",
    doc: "Further addresses of the dashboard, such as a proxy's, comma-separated; their path is the base of every page. See docs/network.md.",
  },
  HTTP_TRUSTED_PROXY: {
    type: "text",
    doc: "Addresses or networks of proxies, comma-separated: only their X-Forwarded-For and HTTP_USER_HEADER are believed.",
  },
  HTTP_USER_HEADER: {
    type: "text",
    pattern: "^[A-Za-z0-9_-]{1,64}$",
    form: "the name of a header, such as X-Remote-User",
    doc: "Header in which a trusted proxy names the person, for the audit log and acknowledgements. It signs nobody in.",
  },
  HTTP_CERT_FILE: {
    type: "path",
    doc: "PEM file of the HTTP server's certificate with its chain; HTTP is then TLS only. `gateside certificate` creates a self-signed one.",
  },
  HTTP_KEY_FILE: {
    type: "path",
    doc: "PEM file of its private key. Both files are reloaded when they change.",
  },
  LOG_LEVEL: {
    type: "choice",
    choices: ["trace", "debug", "info", "warn", "error", "fatal", "silent"],
    default: "info",
    doc: "Log level.",
  },
} as const satisfies Record<string, SettingSpec>;
