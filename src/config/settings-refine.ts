import { resolve } from "node:path";
import {
  checkTlsFiles,
  isLoopback,
  isTimezone,
  type Note,
  parseAddress,
  parseFormats,
  parseHeaders,
} from "./checks.ts";
import { type Fault, shown } from "./fault.ts";
import { FORMATS, type UnboundSettings } from "./settings-shape.ts";
import { expectation, type RawSettings, SETTINGS } from "./settings-table.ts";

type Warn = (place: string, problem: string, remedy: string) => void;

/** Cross checks between settings, and the names and shapes the program uses. */
export function refineSettings(
  raw: RawSettings,
  cwd: string,
  faults: Fault[],
  warnings: Fault[],
): UnboundSettings {
  const note: Note = (fault) => void faults.push(fault);
  const warn: Warn = (place, problem, remedy) => void warnings.push({ place, problem, remedy });
  const path = (value: string | undefined) => (value === undefined ? null : resolve(cwd, value));

  const gateway = raw.GATEWAY_URL
    ? parseAddress("GATEWAY_URL", raw.GATEWAY_URL, ["http", "https"], note)
    : null;
  const broker = raw.MQTT_URL
    ? parseAddress("MQTT_URL", raw.MQTT_URL, ["mqtt", "mqtts", "ws", "wss"], note)
    : null;
  const gatewayHeaders = raw.GATEWAY_HEADERS ? parseHeaders(raw.GATEWAY_HEADERS, note) : {};
  if (gateway?.username) {
    if (Object.keys(gatewayHeaders).some((name) => name.toLowerCase() === "authorization")) {
      note({
        place: "GATEWAY_URL",
        problem: "holds a user name while GATEWAY_HEADERS holds an authorization",
        remedy: "keep one of the two",
      });
    }
    const credentials = `${gateway.username}:${gateway.password ?? ""}`;
    gatewayHeaders["authorization"] = `Basic ${Buffer.from(credentials).toString("base64")}`;
  }
  for (const [name, own] of [
    ["MQTT_USERNAME", broker?.username],
    ["MQTT_PASSWORD", broker?.password],
  ] as const) {
    if (own && raw[name] !== undefined) {
      note({
        place: name,
        problem: "is given here and in MQTT_URL",
        remedy: "take it out of MQTT_URL",
      });
    }
  }
  const mqttUsername = raw.MQTT_USERNAME ?? broker?.username ?? null;
  const mqttPassword = raw.MQTT_PASSWORD ?? broker?.password ?? null;
  if (raw.MQTT_VERSION === "4" && mqttPassword !== null && mqttUsername === null) {
    note({
      place: "MQTT_PASSWORD",
      problem: "is given without a user name, which MQTT 3.1.1 does not allow",
      remedy: "give MQTT_USERNAME too",
    });
  }
  checkMqttTls(raw, cwd, note);
  const caFile = path(raw.GATEWAY_CA_FILE);
  if (caFile) checkTlsFiles({ ca: { name: "GATEWAY_CA_FILE", path: caFile } }, note);

  if (caFile && gateway?.url.startsWith("http:"))
    warn("GATEWAY_CA_FILE", "has no effect on an http:// gateway", "use https://, or leave it out");
  const isTls = broker === null || /^(mqtts|wss):/.test(broker.url);
  if (!isTls) {
    if (raw.MQTT_CA_FILE ?? raw.MQTT_CERT_FILE)
      warn("MQTT_URL", "is not a TLS address, so certificates have no effect", "use mqtts://");
    else if (mqttPassword !== null && broker && !isLoopback(new URL(broker.url).hostname))
      warn("MQTT_URL", "sends the password readable over the network", "use mqtts://");
  }
  if (raw.MQTT_VERSION === "4" && raw.MQTT_REQUIRE_SUBSCRIBER)
    warn("MQTT_REQUIRE_SUBSCRIBER", "has no effect with MQTT 3.1.1", "use MQTT_VERSION=5");

  const historyDays = Math.max(raw.HISTORY_DAYS, raw.BACKFILL_DAYS + 2);
  if (historyDays !== raw.HISTORY_DAYS) {
    warn(
      "HISTORY_DAYS",
      `${raw.HISTORY_DAYS} is less than BACKFILL_DAYS + 2`,
      `${historyDays} is used; give at least that`,
    );
  }
  const httpPort = httpPortOf(raw, note);
  if (httpPort !== null && !isLoopback(raw.HTTP_HOST)) {
    if (raw.HTTP_TOKEN === undefined) {
      note({
        place: "HTTP_TOKEN",
        problem: `is required while HTTP_HOST is ${shown(raw.HTTP_HOST)}, not a loopback address`,
        remedy: "give a token, or HTTP_HOST=127.0.0.1, or HTTP_PORT=off",
      });
    } else if (raw.HTTP_TOKEN.length < 16)
      warn("HTTP_TOKEN", "is shorter than 16 characters", "give a longer random one");
  }
  const publishFormats = parseFormats(raw.PUBLISH_FORMATS, FORMATS, note);
  if (publishFormats.length === 0 && /^[\s,]*$/.test(raw.PUBLISH_FORMATS)) {
    note({
      place: "PUBLISH_FORMATS",
      problem: "names no format",
      remedy: `give one or more of ${FORMATS.join(", ")}, comma-separated`,
    });
  }
  if (raw.SPARKPLUG_GROUP_ID === "STATE") {
    note({
      place: "SPARKPLUG_GROUP_ID",
      problem: "STATE is a topic level that Sparkplug keeps for hosts",
      remedy: "give another group",
    });
  }

  return {
    gatewayUrl: gateway?.url ?? "",
    gatewayService: raw.GATEWAY_SERVICE,
    wireWord: raw.WIRE_WORD,
    gatewayGeneration: raw.GATEWAY_GENERATION === "1" ? 1 : 2,
    gatewayTimezone: timezoneOf(raw, note, warn),
    gatewayHeaders,
    gatewayCaFile: caFile,
    gatewayTimeoutMs: raw.GATEWAY_TIMEOUT_MS,
    gatewayConcurrency: raw.GATEWAY_CONCURRENCY,
    gatewayMaxBodyMb: raw.GATEWAY_MAX_BODY_MB,
    gatewayEmptyStatuses: (raw.GATEWAY_EMPTY_STATUSES ?? "")
      .split(",")
      .filter((text) => text.trim() !== "")
      .map(Number),
    siteFile: resolve(cwd, raw.SITE_FILE),
    dataDir: resolve(cwd, raw.DATA_DIR),
    pollIntervalS: raw.POLL_INTERVAL_S,
    backfillDays: raw.BACKFILL_DAYS,
    lateGraceS: raw.LATE_GRACE_S,
    historyDays,
    waveformDays: raw.WAVEFORM_DAYS,
    bufferMaxMb: raw.BUFFER_MAX_MB,
    diskFreeMinMb: raw.DISK_FREE_MIN_MB,
    mqttUrl: broker?.url ?? "",
    mqttVersion: raw.MQTT_VERSION === "4" ? 4 : 5,
    mqttClientId: raw.MQTT_CLIENT_ID ?? null,
    mqttUsername,
    mqttPassword,
    mqttCaFile: path(raw.MQTT_CA_FILE),
    mqttCertFile: path(raw.MQTT_CERT_FILE),
    mqttKeyFile: path(raw.MQTT_KEY_FILE),
    mqttTopicPrefix: raw.MQTT_TOPIC_PREFIX,
    mqttInflight: raw.MQTT_INFLIGHT,
    mqttBacklogRate: raw.MQTT_BACKLOG_RATE,
    mqttRequireSubscriber: raw.MQTT_REQUIRE_SUBSCRIBER,
    publishFormats,
    publishRaw: raw.PUBLISH_RAW,
    publishWaveforms: raw.PUBLISH_WAVEFORMS,
    sparkplugGroupId: raw.SPARKPLUG_GROUP_ID ?? null,
    sparkplugNodeId: raw.SPARKPLUG_NODE_ID,
    sparkplugHostId: raw.SPARKPLUG_HOST_ID ?? null,
    commandsEnabled: raw.COMMANDS_ENABLED,
    httpHost: raw.HTTP_HOST.replace(/^\[(.*)\]$/, "$1"),
    httpPort,
    httpToken: raw.HTTP_TOKEN ?? null,
    logLevel: raw.LOG_LEVEL,
  };
}

function checkMqttTls(raw: RawSettings, cwd: string, note: Note): void {
  const file = (name: "MQTT_CA_FILE" | "MQTT_CERT_FILE" | "MQTT_KEY_FILE") => {
    const value = raw[name];
    return value === undefined ? undefined : { name, path: resolve(cwd, value) };
  };
  const ca = file("MQTT_CA_FILE");
  const cert = file("MQTT_CERT_FILE");
  const key = file("MQTT_KEY_FILE");
  if ((cert === undefined) !== (key === undefined)) {
    note({
      place: cert ? "MQTT_KEY_FILE" : "MQTT_CERT_FILE",
      problem: "is missing while the other half of the client certificate is given",
      remedy: "give both MQTT_CERT_FILE and MQTT_KEY_FILE, or neither",
    });
  }
  checkTlsFiles({ ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }, note);
}

function httpPortOf(raw: RawSettings, note: Note): number | null {
  if (raw.HTTP_PORT === "off") return null;
  const port = Number(raw.HTTP_PORT);
  if (port > 65_535) {
    note({
      place: "HTTP_PORT",
      problem: `${raw.HTTP_PORT} is too large`,
      remedy: expectation(SETTINGS.HTTP_PORT),
    });
  }
  return port;
}

function timezoneOf(raw: RawSettings, note: Note, warn: Warn): string {
  if (raw.GATEWAY_TIMEZONE !== undefined) {
    if (!isTimezone(raw.GATEWAY_TIMEZONE)) {
      note({
        place: "GATEWAY_TIMEZONE",
        problem: `${shown(raw.GATEWAY_TIMEZONE)} is no IANA time zone`,
        remedy: "give a name such as Europe/Berlin or UTC",
      });
    }
    return raw.GATEWAY_TIMEZONE;
  }
  const system = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (system && isTimezone(system)) return system;
  warn("GATEWAY_TIMEZONE", "is not given and the system's zone is unknown", "UTC is used");
  return "UTC";
}
