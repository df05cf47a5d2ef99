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
    form: "an e-mail address",
    doc: "Sender of alarm e-mails.",
  },
  ALARM_EMAIL_TO: {
    type: "text",
    pattern: "^[^\\s@<>,;]+@[^\\s@<>,;]+$",
    form: "an e-mail address",
    doc: "Recipient of alarm e-mails.",
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
