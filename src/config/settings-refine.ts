import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import {
  checkTlsFiles,
  isLoopback,
  isTimezone,
  type Note,
  parseAddress,
  parseBrokers,
  parseFormats,
  parseHeaders,
} from "./checks.ts";
import { type Fault, shown } from "./fault.ts";
import { type AlarmEmail, FORMATS, type UnboundSettings } from "./settings-shape.ts";
import { expectation, type RawSettings, SETTINGS } from "./settings-table.ts";
import { zoneDoubt } from "./zone-names.ts";

/** Time to renew a certificate, also for who comes by once a fortnight. */
const EXPIRY_WARNING_MS = 14 * 86_400_000;
/** Shorter ones can be guessed. */
const TOKEN_LENGTH_MIN = 16;

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
  if (gateway?.url.endsWith(`/${raw.GATEWAY_SERVICE}`))
    warn(
      "GATEWAY_URL",
      `ends with /${raw.GATEWAY_SERVICE}, which is added to it`,
      "leave it out: give the address up to there",
    );
  const broker = raw.MQTT_URL ? parseBrokers("MQTT_URL", raw.MQTT_URL, note) : null;
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
  if (raw.MQTT_VERSION === "5" && mqttPassword !== null && mqttUsername === null) {
    warn(
      "MQTT_PASSWORD",
      "is given without a user name, and most brokers refuse that",
      "give MQTT_USERNAME too",
    );
  }
  if (raw.GATEWAY_SETTINGS_OPERATION === "UpdateConfig" && raw.GATEWAY_GENERATION !== "1") {
    note({
      place: "GATEWAY_SETTINGS_OPERATION",
      problem: "UpdateConfig does not exist on a gateway of generation 2",
      remedy:
        "use saveSettings, or give GATEWAY_GENERATION=1 where the gateway is of that generation",
    });
  }
  checkPair(raw, cwd, "MQTT", note);
  checkPair(raw, cwd, "HTTP", note);
  warnOfExpiry(path(raw.HTTP_CERT_FILE), warn);
  const caFile = path(raw.GATEWAY_CA_FILE);
  if (caFile) checkTlsFiles({ ca: { name: "GATEWAY_CA_FILE", path: caFile } }, note);

  if (caFile && gateway?.url.startsWith("http:"))
    warn("GATEWAY_CA_FILE", "has no effect on an http:// gateway", "use https://, or leave it out");
  const isTls = broker === null || broker.urls.every((url) => /^(mqtts|wss):/.test(url));
  if (!isTls) {
    if (raw.MQTT_CA_FILE ?? raw.MQTT_CERT_FILE)
      warn("MQTT_URL", "is not a TLS address, so certificates have no effect", "use mqtts://");
    else if (mqttPassword !== null && broker && !broker.urls.every(isLocal))
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
  const httpPort = portOf(raw, "HTTP_PORT", note);
  if (httpPort !== null && !isLoopback(raw.HTTP_HOST)) {
    if (raw.HTTP_TOKEN === undefined) {
      note({
        place: "HTTP_TOKEN",
        problem: `is required while HTTP_HOST is ${shown(raw.HTTP_HOST)}, not a loopback address`,
        remedy: "give a token, or HTTP_HOST=127.0.0.1, or HTTP_PORT=off",
      });
    } else if (raw.HTTP_TOKEN.length < TOKEN_LENGTH_MIN)
      warn("HTTP_TOKEN", "is shorter than 16 characters", "give a longer random one");
  }
  const modbusPort = portOf(raw, "MODBUS_PORT", note);
  const anyHost = ["0.0.0.0", "::", "[::]"];
  const isShared =
    raw.MODBUS_HOST === raw.HTTP_HOST ||
    [raw.MODBUS_HOST, raw.HTTP_HOST].some((host) => anyHost.includes(host));
  if (modbusPort !== null && modbusPort !== 0 && modbusPort === httpPort && isShared)
    note({
      place: "MODBUS_PORT",
      problem: `${modbusPort} is also HTTP_PORT, and only one of them can have it`,
      remedy: "give each its own, such as MODBUS_PORT=1502",
    });
  checkViewToken(raw, note, warn);
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
    gatewaySettingsOperation: raw.GATEWAY_SETTINGS_OPERATION,
    gatewayTimezone: timezoneOf(raw, note, warn),
    gatewayHeaders,
    gatewayCaFile: caFile,
    gatewayProxy: proxyOf(raw.GATEWAY_PROXY, note),
    gatewayTimeoutMs: raw.GATEWAY_TIMEOUT_MS,
    gatewayConcurrency: raw.GATEWAY_CONCURRENCY,
    gatewayMaxBodyMb: raw.GATEWAY_MAX_BODY_MB,
    gatewayEmptyStatuses: (raw.GATEWAY_EMPTY_STATUSES ?? "")
      .split(",")
      .filter((text) => text.trim() !== "")
      .map(Number),
    siteFile: resolve(cwd, raw.SITE_FILE),
    uplinksFile: path(raw.UPLINKS_FILE),
    dataDir: resolve(cwd, raw.DATA_DIR),
    pollIntervalS: raw.POLL_INTERVAL_S,
    backfillDays: raw.BACKFILL_DAYS,
    lateGraceS: raw.LATE_GRACE_S,
    historyDays,
    waveformDays: raw.WAVEFORM_DAYS,
    bufferMaxMb: raw.BUFFER_MAX_MB,
    diskFreeMinMb: raw.DISK_FREE_MIN_MB,
    mqttUrl: broker?.urls.join(",") ?? "",
    mqttUrls: broker?.urls ?? [],
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
    publishClearRemoved: raw.PUBLISH_CLEAR_REMOVED,
    publishWaveforms: raw.PUBLISH_WAVEFORMS,
    sparkplugGroupId: raw.SPARKPLUG_GROUP_ID ?? null,
    sparkplugNodeId: raw.SPARKPLUG_NODE_ID,
    sparkplugHostId: raw.SPARKPLUG_HOST_ID ?? null,
    sparkplugHistoryBatch: raw.SPARKPLUG_HISTORY_BATCH,
    alarmsEnabled: raw.ALARMS_ENABLED,
    alarmWebhookUrl: webhookOf(raw, note),
    alarmEmail: emailOf(raw, note),
    configPublicKeyFile: path(raw.CONFIG_PUBLIC_KEY_FILE),
    configTrialS: raw.CONFIG_TRIAL_S,
    commandsEnabled: raw.COMMANDS_ENABLED,
    commandResponsePrefix: responsePrefixOf(raw.COMMAND_RESPONSE_PREFIX, note),
    httpHost: raw.HTTP_HOST.replace(/^\[(.*)\]$/, "$1"),
    httpPort,
    httpToken: raw.HTTP_TOKEN ?? null,
    httpViewToken: raw.HTTP_VIEW_TOKEN ?? null,
    setupEnabled: raw.SETUP_ENABLED,
    httpCertFile: path(raw.HTTP_CERT_FILE),
    httpKeyFile: path(raw.HTTP_KEY_FILE),
    modbusHost: raw.MODBUS_HOST.replace(/^\[(.*)\]$/, "$1"),
    modbusPort,
    modbusWordOrder: raw.MODBUS_WORD_ORDER,
    logLevel: raw.LOG_LEVEL,
  };
}

/** With its credentials, which go into a header for the proxy alone. */
function proxyOf(text: string | undefined, note: Note): string | null {
  if (text === undefined) return null;
  return parseAddress("GATEWAY_PROXY", text, ["http", "https"], note) === null ? null : text;
}

/** Kept as it is written: it may hold a token anywhere. */
function webhookOf({ ALARM_WEBHOOK_URL: url }: RawSettings, note: Note): string | null {
  if (url === undefined) return null;
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  note({
    place: "ALARM_WEBHOOK_URL",
    problem: "is no http:// or https:// address",
    remedy: expectation(SETTINGS.ALARM_WEBHOOK_URL),
  });
  return null;
}

/** All three, or none. */
function emailOf(raw: RawSettings, note: Note): AlarmEmail | null {
  const { ALARM_EMAIL_URL: url, ALARM_EMAIL_FROM: from, ALARM_EMAIL_TO: to } = raw;
  const given = { ALARM_EMAIL_URL: url, ALARM_EMAIL_FROM: from, ALARM_EMAIL_TO: to };
  if (Object.values(given).every((value) => value === undefined)) return null;
  for (const [place, value] of Object.entries(given)) {
    if (value === undefined)
      note({
        place,
        problem: "is missing while the others of ALARM_EMAIL_… are given",
        remedy: "give ALARM_EMAIL_URL, ALARM_EMAIL_FROM and ALARM_EMAIL_TO, or none of them",
      });
  }
  if (url === undefined || from === undefined || to === undefined) return null;
  if (!URL.canParse(url) || !/^smtps?:$/.test(new URL(url).protocol)) {
    note({
      place: "ALARM_EMAIL_URL",
      problem: "is no smtp:// or smtps:// address",
      remedy: expectation(SETTINGS.ALARM_EMAIL_URL),
    });
    return null;
  }
  return { url, from, to };
}

function responsePrefixOf(given: string | undefined, note: Note): string | null {
  const prefix = given?.replace(/\/+$/, "") ?? "";
  if (prefix === "") return null;
  if (/[+#\0]|^\$/.test(prefix)) {
    note({
      place: "COMMAND_RESPONSE_PREFIX",
      problem: `${shown(prefix)} is not a valid topic to publish on`,
      remedy: "give topic levels without + and #, such as replies/gateside",
    });
  }
  return prefix;
}

const isLocal = (url: string) => isLoopback(new URL(url).hostname);

/** Certificate and key are given together, and fit. */
function checkPair(raw: RawSettings, cwd: string, side: "MQTT" | "HTTP", note: Note): void {
  const file = (name: "MQTT_CA_FILE" | `${typeof side}_${"CERT" | "KEY"}_FILE`) => {
    const value = raw[name];
    return value === undefined ? undefined : { name, path: resolve(cwd, value) };
  };
  const ca = side === "MQTT" ? file("MQTT_CA_FILE") : undefined;
  const cert = file(`${side}_CERT_FILE`);
  const key = file(`${side}_KEY_FILE`);
  if ((cert === undefined) !== (key === undefined)) {
    note({
      place: cert ? `${side}_KEY_FILE` : `${side}_CERT_FILE`,
      problem: `is missing while the other half of the ${side === "MQTT" ? "client certificate" : "pair"} is given`,
      remedy: `give both ${side}_CERT_FILE and ${side}_KEY_FILE, or neither`,
    });
  }
  checkTlsFiles({ ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }, note);
}

/** Clients refuse a certificate that has ended: said in time, here and by `doctor`. */
function warnOfExpiry(certFile: string | null, warn: Warn): void {
  if (certFile === null) return;
  let endsAtMs: number;
  try {
    endsAtMs = Date.parse(new X509Certificate(readFileSync(certFile)).validTo);
  } catch {
    // What cannot be read is a fault already.
    return;
  }
  const leftMs = endsAtMs - Date.now();
  if (leftMs > EXPIRY_WARNING_MS) return;
  const when = new Date(endsAtMs).toISOString();
  warn(
    "HTTP_CERT_FILE",
    leftMs < 0 ? `ended on ${when}` : `ends on ${when}`,
    "renew it; `gateside certificate --replace` makes a self-signed one anew",
  );
}

function checkViewToken(
  { HTTP_TOKEN: all, HTTP_VIEW_TOKEN: view }: RawSettings,
  note: Note,
  warn: Warn,
): void {
  if (view === undefined) return;
  if (all === undefined) {
    note({
      place: "HTTP_TOKEN",
      problem: "is missing while HTTP_VIEW_TOKEN is given",
      remedy: "give both: without HTTP_TOKEN everybody may change everything",
    });
  } else if (view === all) {
    note({
      place: "HTTP_VIEW_TOKEN",
      problem: "is the same as HTTP_TOKEN",
      remedy: "give another one: nobody can tell the two apart",
    });
  } else if (view.length < TOKEN_LENGTH_MIN)
    warn("HTTP_VIEW_TOKEN", "is shorter than 16 characters", "give a longer random one");
}

function portOf(raw: RawSettings, name: "HTTP_PORT" | "MODBUS_PORT", note: Note): number | null {
  if (raw[name] === "off") return null;
  const port = Number(raw[name]);
  if (port > 65_535) {
    note({
      place: name,
      problem: `${raw[name]} is too large`,
      remedy: expectation(SETTINGS[name]),
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
      return raw.GATEWAY_TIMEZONE;
    }
    const zone = raw.GATEWAY_TIMEZONE;
    const meant = new Intl.DateTimeFormat("en-US", { timeZone: zone }).resolvedOptions().timeZone;
    const doubt = zoneDoubt(zone, meant);
    if (doubt !== null) warn("GATEWAY_TIMEZONE", doubt.problem, doubt.remedy);
    return zone;
  }
  const system = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (system && isTimezone(system)) return system;
  warn("GATEWAY_TIMEZONE", "is not given and the system's zone is unknown", "UTC is used");
  return "UTC";
}
