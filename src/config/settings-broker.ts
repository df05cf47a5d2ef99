import { FORMATS } from "./formats.ts";
import type { SettingSpec } from "./setting-spec.ts";

/** The broker and formats. */
export const BROKER_SETTINGS = {
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
    bySite: "gateside-{site}",
    doc: "MQTT client id; gateside-{site} by default.",
  },
  MQTT_USERNAME: { type: "text", secret: true, doc: "MQTT user name." },
  MQTT_PASSWORD: { type: "text", secret: true, doc: "MQTT password." },
  MQTT_CA_FILE: {
    type: "path",
    doc: "PEM file of the CA that signed the broker's certificate, trusted in addition to the public CAs.",
  },
  MQTT_CERT_FILE: { type: "path", doc: "PEM file of the agent's client certificate." },
  MQTT_KEY_FILE: { type: "path", doc: "PEM file of its private key." },
  MQTT_PROXY: {
    type: "text",
    secret: true,
    form: "an address such as http://proxy.plant.example:3128",
    doc: "HTTP proxy in front of the broker, http://[user:password@]host:port, asked for a tunnel (CONNECT); none by default.",
  },
  MQTT_ALPN: {
    type: "text",
    pattern: "^\\s*[!-+\\x2d-~]{1,255}(\\s*,\\s*[!-+\\x2d-~]{1,255}){0,15}\\s*$",
    form: "names of protocols such as x-amzn-mqtt-ca, comma-separated",
    doc: "Protocols offered in the TLS handshake (ALPN), comma-separated; x-amzn-mqtt-ca for AWS IoT Core on port 443.",
  },
  MQTT_TOPIC_PREFIX: {
    type: "text",
    default: "gateside",
    pattern: "^(?!\\$)(?!spBv1\\.0(/|$))[^+#/\\u0000-\\u001f]+(/[^+#/\\u0000-\\u001f]+)*$",
    form: "topic levels without + or #, no leading $, no leading or trailing /, not spBv1.0",
    doc: "First level or levels of every JSON and plain topic.",
  },
  MQTT_INFLIGHT: {
    type: "integer",
    default: 100,
    minimum: 1,
    maximum: 64_999,
    doc: "Maximum QoS 1 messages awaiting PUBACK.",
  },
  MQTT_BACKLOG_RATE: {
    type: "number",
    default: 0,
    minimum: 0,
    maximum: 1_000_000,
    doc: "Maximum backlog messages per second; 0 = as fast as the broker acknowledges.",
  },
  RECONNECT_SPREAD_S: {
    type: "number",
    default: 5,
    minimum: 1,
    maximum: 3600,
    doc: "Longest random wait after a lost broker session, so that many boxes do not return in the same second; three times as long while no address responds. Of a cluster, each client begins at an address chosen by its client id, and takes it again after such a wait.",
  },
  MQTT_REQUIRE_SUBSCRIBER: {
    type: "boolean",
    default: false,
    doc: 'MQTT 5: a PUBACK with the reason "no matching subscribers" counts as not delivered.',
  },
  PUBLISH_FORMATS: {
    type: "text",
    default: "json",
    doc: `Any of ${FORMATS.join(", ")}, comma-separated.`,
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
  PUBLISH_MACHINES: {
    type: "boolean",
    default: false,
    doc: "Publish the condition of each machine: what stands on the start page, with its reason (docs/mqtt.md). Not with ALARMS_ENABLED=false.",
  },
  PUBLISH_WAVEFORMS: {
    type: "choice",
    choices: ["always", "alarm", "never"],
    default: "alarm",
    doc: "Which waveforms are published; alarm = recording_reason 3 or 1.",
  },
} as const satisfies Record<string, SettingSpec>;
