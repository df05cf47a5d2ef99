import type { SettingSpec } from "./setting-spec.ts";

/** Remote configuration, commands and everything that listens. */
export const SERVICE_SETTINGS = {
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
