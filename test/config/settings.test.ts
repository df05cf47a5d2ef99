import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { parseEnv } from "node:util";
import type { Environment } from "../../src/config/environment-type.ts";
import { faultLine } from "../../src/config/fault.ts";
import { bindSite, type LoadedSettings, loadSettings } from "../../src/config/settings.ts";
import { SETTING_NAMES, SETTINGS } from "../../src/config/settings-table.ts";
import { selfSignedCertificate } from "../../src/lib/self-signed.ts";
import { createCertificates } from "../support/certificates.ts";

const LINKS = { GATEWAY_URL: "http://gateway:8080", MQTT_URL: "mqtt://broker" };

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "gateside-settings-"));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

function load(env: Environment, cwd = "/nonexistent"): LoadedSettings {
  return loadSettings({ ...LINKS, ...env }, { cwd });
}
const lines = (loaded: LoadedSettings) => loaded.faults.map(faultLine).join("\n");
const warnings = (loaded: LoadedSettings) => loaded.warnings.map(faultLine).join("\n");

/** One wrong value per row; the fault must be the only one and name the setting. */
const WRONG: readonly [string, string][] = [
  ["GATEWAY_URL", "gateway:8080"],
  ["GATEWAY_URL", "ftp://gateway"],
  ["GATEWAY_URL", "http://gateway/?a=1"],
  ["GATEWAY_SERVICE", "/SensorService.svc"],
  ["WIRE_WORD", "two words"],
  ["GATEWAY_GENERATION", "3"],
  ["GATEWAY_TIMEZONE", "Mars/Olympus"],
  ["GATEWAY_TIMEZONE", "+02:00"],
  ["GATEWAY_HEADERS", "no colon"],
  ["GATEWAY_HEADERS", '{"X": 1}'],
  ["GATEWAY_HEADERS", '{"X": "a\\nb"}'],
  ["GATEWAY_HEADERS", "Content-Length: 3"],
  ["GATEWAY_CA_FILE", "missing.pem"],
  ["ALARM_WEBHOOK_CA_FILE", "missing.pem"],
  ["GATEWAY_TIMEOUT_MS", "0"],
  ["GATEWAY_CONCURRENCY", "0"],
  ["GATEWAY_CONCURRENCY", "2.5"],
  ["GATEWAY_MAX_BODY_MB", "lots"],
  ["GATEWAY_EMPTY_STATUSES", "404;405"],
  ["POLL_INTERVAL_S", "0"],
  ["POLL_INTERVAL_S", "3601"],
  ["BACKFILL_DAYS", "-1"],
  ["LATE_GRACE_S", "1e9"],
  ["COMMIT_INTERVAL_S", "61"],
  ["HISTORY_DAYS", "0"],
  ["WAVEFORM_DAYS", "-1"],
  ["BUFFER_MAX_MB", "7"],
  ["DISK_FREE_MIN_MB", "-1"],
  ["MQTT_URL", "tcp://broker"],
  ["MQTT_URL", "mqtt://broker/topic"],
  ["MQTT_VERSION", "3"],
  ["MQTT_CERT_FILE", "missing.pem"],
  ["MQTT_TOPIC_PREFIX", "a/+/b"],
  ["MQTT_TOPIC_PREFIX", "a/"],
  ["MQTT_TOPIC_PREFIX", "$SYS"],
  ["MQTT_TOPIC_PREFIX", "spBv1.0/x"],
  ["MQTT_INFLIGHT", "65536"],
  ["MQTT_BACKLOG_RATE", "-0.5"],
  ["MQTT_REQUIRE_SUBSCRIBER", "maybe"],
  ["PUBLISH_FORMATS", "json,xml"],
  ["PUBLISH_FORMATS", ","],
  ["PUBLISH_WAVEFORMS", "sometimes"],
  ["COMMANDS_ENABLED", "2"],
  ["CONFIG_TRIAL_S", "0"],
  ["HTTP_PORT", "65536"],
  ["HTTP_PORT", "http"],
  ["HTTP_TOKEN", "two words"],
  ["LOG_LEVEL", "loud"],
];
for (const [name, value] of WRONG) {
  test(`settings – ${name}=${value} is rejected with its name and a valid example`, () => {
    const loaded = load({ [name]: value });
    const own = loaded.faults.filter((fault) => fault.place === name || name === "MQTT_CERT_FILE");
    assert.ok(own.length > 0, lines(loaded));
    assert.equal(own.length, loaded.faults.length, lines(loaded));
    assert.ok(own.every((fault) => fault.remedy !== ""));
    assert.equal(loaded.settings, null);
  });
}

test("settings – every error is reported at once, including missing required settings", () => {
  const loaded = loadSettings(
    { POLL_INTERVAL_S: "0", LOG_LEVEL: "x", HTTP_HOST: "0.0.0.0" },
    { cwd: "/nonexistent" },
  );
  assert.deepEqual(loaded.faults.map((f) => f.place).sort(), [
    "GATEWAY_URL",
    "HTTP_TOKEN",
    "LOG_LEVEL",
    "MQTT_URL",
    "POLL_INTERVAL_S",
  ]);
});

test("settings – a rejected value is reported once, and not as missing as well", () => {
  const mail = { ALARM_EMAIL_URL: "smtp://mail.example", ALARM_EMAIL_FROM: "box@plant.example" };
  const faultsOf = (env: Environment) =>
    load(env).faults.map(({ place, problem }) => `${place} ${problem}`);
  assert.deepEqual(faultsOf({ ...mail, ALARM_EMAIL_TO: "nobody" }), [
    'ALARM_EMAIL_TO "nobody" has an invalid format',
  ]);
  const missing = "is missing, but other ALARM_EMAIL_… settings are set";
  assert.deepEqual(faultsOf({ ALARM_EMAIL_FROM: "box@plant.example", ALARM_EMAIL_TO: "nobody" }), [
    'ALARM_EMAIL_TO "nobody" has an invalid format',
    `ALARM_EMAIL_URL ${missing}`,
  ]);
  assert.deepEqual(faultsOf({ HTTP_HOST: "0.0.0.0", HTTP_TOKEN: "two words" }), [
    "HTTP_TOKEN the value has an invalid format",
  ]);
  assert.deepEqual(faultsOf({ ALARM_WEBHOOK_URL_FILE: "/nonexistent/webhook" }), [
    "ALARM_WEBHOOK_URL_FILE /nonexistent/webhook does not exist",
  ]);
});

test("settings – a missing required setting is reported with an example", () => {
  const text = lines(loadSettings({}, { cwd: "/nonexistent" }));
  assert.match(
    text,
    /^GATEWAY_URL: is required but not set; set it to an address such as http:\/\/\S+$/m,
  );
  assert.match(
    text,
    /^MQTT_URL: is required but not set; set it to an address such as mqtt:\/\/\S+$/m,
  );
});

test("settings – a problem with a file named by a setting is reported with the path and the cause", (t) => {
  const cwd = directory(t);
  writeFileSync(join(cwd, "file"), "x");
  const problem = (env: Environment) => lines(load(env, cwd));
  assert.equal(
    problem({ MQTT_PASSWORD_FILE: "none" }),
    `MQTT_PASSWORD_FILE: ${cwd}/none does not exist; use a file that this user can read and that contains MQTT_PASSWORD`,
  );
  assert.match(
    problem({ HTTP_TOKEN_FILE: "." }),
    /HTTP_TOKEN_FILE: \S+ is a directory, not a file;/,
  );
  assert.match(problem({ HTTP_TOKEN_FILE: "file/x" }), /file\/x is below a path that is not a dir/);
  for (const name of ["GATEWAY_URL", "MQTT_URL"]) {
    const scheme = name === "MQTT_URL" ? "mqtt" : "http";
    const line = problem({ [name]: `${scheme}://u:pa55@host:99999` });
    assert.equal(line, `${name}: has an invalid port; use a port from 1 to 65535`);
  }
  assert.match(problem({ MQTT_CA_FILE: "none" }), /MQTT_CA_FILE: \S+\/none does not exist;/);
  assert.match(
    problem({ MQTT_CA_FILE: "file" }),
    /MQTT_CA_FILE: \S+ cannot be used \(is not a PEM/,
  );
  // Of such a file TLS would take no CA, without a word.
  writeFileSync(join(cwd, "key"), "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
  for (const name of ["MQTT_CA_FILE", "GATEWAY_CA_FILE"])
    assert.match(problem({ [name]: "key" }), new RegExp(`${name}: \\S+ cannot be used`));
});

test("settings – a user name in MQTT_URL is shown as in effect, masked, with its origin", () => {
  const loaded = load({ MQTT_URL: "mqtts://bob:geheim@broker" });
  assert.deepEqual(
    [loaded.shown.MQTT_USERNAME, loaded.origins.MQTT_USERNAME],
    ["********", "MQTT_URL"],
  );
  assert.deepEqual(
    [loaded.shown.MQTT_PASSWORD, loaded.origins.MQTT_PASSWORD],
    ["********", "MQTT_URL"],
  );
  const bare = load({});
  assert.deepEqual([bare.shown.MQTT_USERNAME, bare.origins.MQTT_USERNAME], ["", "default"]);
});

test("settings – the minimum and maximum are valid", () => {
  for (const name of SETTING_NAMES) {
    const spec = SETTINGS[name];
    if (spec.type !== "integer" && spec.type !== "number") continue;
    for (const value of [spec.minimum, spec.maximum]) {
      // Samples are kept no longer than readings.
      const loaded = load({ HISTORY_DAYS: "3660", [name]: String(value) });
      assert.equal(lines(loaded), "", name);
    }
  }
});

test("settings – a cluster is several addresses, and with an uplinks file none is required", () => {
  const cluster = load({ MQTT_URL: "mqtts://u:pw@a:8883, mqtts://u:pw@b:8883" });
  assert.deepEqual(cluster.settings?.mqttUrls, ["mqtts://a:8883", "mqtts://b:8883"]);
  assert.equal(cluster.settings?.mqttUsername, "u");
  assert.ok(!cluster.shown.MQTT_URL.includes("pw"));
  const comma = load({ MQTT_URL: "mqtts://u:a,b@a,mqtts://u:a,b@b" });
  assert.equal(comma.settings?.mqttPassword, "a,b");
  assert.match(load({ MQTT_URL: "mqtt://a,b" }).faults[0]?.problem ?? "", /comma in the host name/);
  assert.match(load({ MQTT_URL: "mqtt://a,tcp://b" }).faults[0]?.problem ?? "", /^address 2: /);
  const slash = load({ MQTT_URL: "mqtt://u:p/w@broker" }).faults[0];
  assert.match(`${slash?.problem} ${slash?.remedy}`, /write \/ as %2F/);
  const differing = load({ MQTT_URL: "mqtt://u:pw@a,mqtt://b" });
  assert.deepEqual(
    differing.faults.map(({ place }) => place),
    ["MQTT_URL"],
  );
  const none = load({ MQTT_URL: "", UPLINKS_FILE: "uplinks.json" }, "/srv");
  assert.deepEqual(none.faults, []);
  assert.deepEqual(none.settings?.mqttUrls, []);
  assert.equal(none.settings?.uplinksFile, "/srv/uplinks.json");
});

test("settings – defaults are the contract's", () => {
  const { settings } = load({ GATEWAY_TIMEZONE: "Europe/Berlin" }, "/srv");
  assert.ok(settings);
  assert.deepEqual(bindSite(settings, "plant-7"), {
    gatewayUrl: "http://gateway:8080",
    gatewayProxy: null,
    gatewayService: "SensorService.svc",
    wireWord: "sensor",
    gatewayGeneration: 2,
    gatewaySettingsOperation: "saveSettings",
    gatewayTimezone: "Europe/Berlin",
    gatewayHeaders: {},
    gatewayCaFile: null,
    gatewayTimeoutMs: 30_000,
    gatewayConcurrency: 2,
    gatewayMaxBodyMb: 512,
    gatewayEmptyStatuses: [],
    siteFile: "/srv/config/site.json",
    uplinksFile: null,
    dataDir: "/srv/data",
    pollIntervalS: 60,
    backfillDays: 7,
    lateGraceS: 7200,
    commitIntervalS: 6,
    historyDays: 30,
    waveformDays: 7,
    bufferMaxMb: 2048,
    diskFreeMinMb: 256,
    mqttUrl: "mqtt://broker",
    mqttUrls: ["mqtt://broker"],
    mqttVersion: 5,
    mqttClientId: "gateside-plant-7",
    mqttUsername: null,
    mqttPassword: null,
    mqttCaFile: null,
    mqttCertFile: null,
    mqttKeyFile: null,
    mqttProxy: null,
    mqttAlpn: [],
    mqttTopicPrefix: "gateside",
    mqttInflight: 100,
    mqttBacklogRate: 0,
    mqttRequireSubscriber: false,
    reconnectSpreadS: 5,
    publishFormats: ["json"],
    publishRaw: false,
    publishClearRemoved: false,
    publishMachines: false,
    publishWaveforms: "alarm",
    sparkplugGroupId: "plant-7",
    sparkplugNodeId: "gateside",
    trendDays: 3650,
    sparkplugHostId: null,
    sparkplugHistoryBatch: 256,
    sparkplugMachines: false,
    alarmsEnabled: true,
    alarmWebhookUrl: null,
    alarmWebhookCaFile: null,
    alarmWebhookHeaders: {},
    alarmWebhookSecret: null,
    alarmDigestMinutes: null,
    heartbeatUrl: null,
    heartbeatS: 300,
    alarmEmail: null,
    commandsEnabled: false,
    commandResponsePrefix: null,
    httpHost: "127.0.0.1",
    httpPort: 8080,
    configPublicKeyFile: null,
    configTrialS: 300,
    httpToken: null,
    httpViewToken: null,
    httpSessionDays: 30,
    httpPublicUrls: [],
    httpTrustedProxies: [],
    httpUserHeader: null,
    setupEnabled: false,
    httpCertFile: null,
    httpKeyFile: null,
    modbusHost: "127.0.0.1",
    modbusPort: null,
    modbusWordOrder: "big",
    logLevel: "info",
  });
});

test("settings – a required secret given twice is one fault, and an address without a host says so", () => {
  assert.equal(
    lines(load({ MQTT_URL_FILE: "/run/url" })),
    "MQTT_URL: both MQTT_URL and MQTT_URL_FILE are set; keep one of the two",
  );
  for (const url of ["mqtt://", "mqtts://"])
    assert.match(
      lines(load({ MQTT_URL: url })),
      /^MQTT_URL: names no host; use an address such as/,
    );
});

test("settings – a site name becomes one safe level of the ids made from it", () => {
  const { settings } = load({});
  assert.ok(settings);
  const bound = bindSite(settings, "plant/7+");
  assert.equal(bound.mqttClientId, "gateside-plant_7_");
});

test("settings – HTTP_PUBLIC_URL, HTTP_TRUSTED_PROXY and HTTP_USER_HEADER are taken with what they need", () => {
  const { settings, faults } = load({
    HTTP_TOKEN: "a-token-of-the-site",
    HTTP_PUBLIC_URL: "https://gw.plant.example/boxes/7, http://10.1.2.3:8080/",
    HTTP_TRUSTED_PROXY: "127.0.0.1, 10.0.0.0/8,fd00::/8",
    HTTP_USER_HEADER: "X-Remote-User",
  });
  assert.deepEqual(faults, []);
  assert.deepEqual(settings?.httpPublicUrls, [
    "https://gw.plant.example/boxes/7/",
    "http://10.1.2.3:8080/",
  ]);
  assert.deepEqual(settings?.httpTrustedProxies, ["127.0.0.1", "10.0.0.0/8", "fd00::/8"]);
  assert.equal(settings?.httpUserHeader, "X-Remote-User");
});

test("settings – a proxy without HTTP_TOKEN, and a user header without a trusted proxy, are faults on loopback, too", () => {
  const token = { HTTP_TOKEN: "a-token-of-the-site" };
  const proxy = { HTTP_TRUSTED_PROXY: "127.0.0.1" };
  const url = (value: string) => ({ ...token, HTTP_PUBLIC_URL: value });
  for (const [env, place, problem] of [
    [{ HTTP_PUBLIC_URL: "https://gw" }, "HTTP_TOKEN", /HTTP_PUBLIC_URL is set/],
    [proxy, "HTTP_TOKEN", /HTTP_TRUSTED_PROXY is set/],
    [{ ...token, HTTP_USER_HEADER: "X-User" }, "HTTP_TRUSTED_PROXY", /HTTP_USER_HEADER is set/],
    [{ ...token, ...proxy, HTTP_USER_HEADER: "Cookie" }, "HTTP_USER_HEADER", /no|not/],
    [{ ...token, HTTP_TRUSTED_PROXY: "10.0.0.0/33" }, "HTTP_TRUSTED_PROXY", /neither/],
    [{ ...token, HTTP_TRUSTED_PROXY: "proxy.plant" }, "HTTP_TRUSTED_PROXY", /neither/],
    [url("https://gw/a,https://GW:443/b"), "HTTP_PUBLIC_URL", /https:\/\/gw twice/],
    [url("gw.plant.example"), "HTTP_PUBLIC_URL", /not a complete address/],
    [url("ftp://gw"), "HTTP_PUBLIC_URL", /scheme/],
    [url("https://u:p@gw"), "HTTP_PUBLIC_URL", /user name/],
    [url("https://gw/api"), "HTTP_PUBLIC_URL", /cannot be the path/],
    [url("https://gw,"), "HTTP_PUBLIC_URL", /not a complete address/],
  ] as const) {
    const { faults } = load(env);
    assert.deepEqual(
      faults.map((fault) => fault.place),
      [place],
      JSON.stringify(env),
    );
    assert.match(faults[0]?.problem ?? "", problem);
  }
});

test("settings – a misspelt name of every prefix is told with the one that was meant, and other programs' names are not", () => {
  const shown = warnings(
    load({
      HTTP_TOKN: "x",
      HTTP_PUBLIC_URLS: "x",
      ALARM_MAIL_TO: "x",
      COLLECT_KEEPDAYS: "1",
      MODBUS_PROT: "502",
      COLLECT_FROM: "mqtt://broker",
      COLLECT_TO_FILE: "/x",
      HTTP_PROXY: "http://proxy:3128",
    }),
  );
  for (const [written, meant] of [
    ["HTTP_TOKN", "HTTP_TOKEN"],
    ["HTTP_PUBLIC_URLS", "HTTP_PUBLIC_URL"],
    ["ALARM_MAIL_TO", "ALARM_EMAIL_TO"],
    ["COLLECT_KEEPDAYS", "COLLECT_KEEP_DAYS"],
    ["MODBUS_PROT", "MODBUS_PORT"],
  ])
    assert.match(shown, new RegExp(`${written}: .*did you mean ${meant}\\?`));
  assert.doesNotMatch(shown, /COLLECT_FROM|COLLECT_TO_FILE|HTTP_PROXY/);
});

test("settings – a deprecated name sets its replacement", () => {
  const shown = warnings(load({ MQTT_USER: "u", MQTT_PASS: "p" }));
  assert.match(shown, /MQTT_USER: .*did you mean MQTT_USERNAME\?/);
  assert.match(shown, /MQTT_PASS: .*did you mean MQTT_PASSWORD\?/);
});

test("settings – an unknown name with our prefix is a warning that names the nearest known one", () => {
  const loaded = load({
    MQTT_PASWORD: "x",
    GATEWAY_CONCURENCY: "3",
    SPARKPLUG_GROUPID: "x",
    MQTT_PASSWORD_FLE: "x",
    HTTP_TOKN: "x",
    GATEWAY_URL_FILEE: "x",
    MQTT_USER: "x",
    MQTT_CA: "x",
    GATEWAY_TIMEOUT: "x",
  });
  for (const pair of [
    /MQTT_PASWORD: .*MQTT_PASSWORD\?/,
    /GATEWAY_CONCURENCY: .*GATEWAY_CONCURRENCY\?/,
    /SPARKPLUG_GROUPID: .*SPARKPLUG_GROUP_ID\?/,
    /MQTT_PASSWORD_FLE: .*MQTT_PASSWORD_FILE\?/,
    /HTTP_TOKN: .*HTTP_TOKEN\?/,
    /MQTT_USER: .*MQTT_USERNAME\?/,
    /MQTT_CA: .*MQTT_CA_FILE\?/,
    /GATEWAY_TIMEOUT: .*GATEWAY_TIMEOUT_MS\?/,
  ])
    assert.match(warnings(loaded), pair);
  assert.notEqual(loaded.settings, null);
});

test("settings – common names of other programs cause no warning", () => {
  const loaded = load({
    HTTP_PROXY: "x",
    HOME: "/",
    DATABASE_URL: "x",
    LOG_FORMAT: "x",
    PATH: "/",
  });
  assert.equal(warnings(loaded), "");
});

test("settings – a secret is read from its file and trimmed", (t) => {
  const cwd = directory(t);
  writeFileSync(join(cwd, "password"), "  geheim\n");
  const loaded = load({ MQTT_USERNAME: "bob", MQTT_PASSWORD_FILE: "password" }, cwd);
  assert.equal(loaded.settings?.mqttPassword, "geheim");
  assert.equal(loaded.origins.MQTT_PASSWORD, "MQTT_PASSWORD_FILE");
});

test("settings – what Windows and docker make of a password is told: UTF-16, quotation marks, and #, / in an address", (t) => {
  const cwd = directory(t);
  for (const [name, text] of [
    ["bom", "\ufeffgeheim\r\n"],
    ["crlf", "geheim\r\n"],
  ] as const) {
    writeFileSync(join(cwd, name), text);
    assert.equal(load({ MQTT_PASSWORD_FILE: name }, cwd).settings?.mqttPassword, "geheim");
  }
  writeFileSync(join(cwd, "utf16"), Buffer.from("\ufeffgeheim\r\n", "utf16le"));
  assert.equal(
    lines(load({ MQTT_PASSWORD_FILE: "utf16" }, cwd)),
    `MQTT_PASSWORD_FILE: ${cwd}/utf16 is not plain text (Windows programs often write UTF-16); save it as UTF-8`,
  );
  const quoted = load({ MQTT_PASSWORD: '"geheim"' }, cwd);
  assert.equal(quoted.settings?.mqttPassword, '"geheim"');
  assert.match(
    warnings(quoted),
    /^MQTT_PASSWORD: begins and ends with a quotation mark.*--env-file/,
  );
  assert.doesNotMatch(warnings(quoted), /geheim/);
  // In a .env file it is a comment; systemd and docker take it for part of the value.
  assert.equal(
    warnings(load({ MQTT_CLIENT_ID: "geheim # of box 7" }, cwd)),
    'MQTT_CLIENT_ID: contains " #": what was meant as a comment behind the value is part of it; put the comment on its own line',
  );
  assert.equal(warnings(load({ MQTT_CLIENT_ID: "box#7" }, cwd)), "");
  for (const password of ["p@geheim#1", "p@geheim/1"]) {
    const text = lines(load({ MQTT_URL: `mqtt://agent:${password}@broker` }, cwd));
    assert.match(text, /^MQTT_URL: has a .*%/);
    assert.doesNotMatch(text, /geheim/);
  }
});

test("settings – a secret file that is missing, empty or given in addition to the secret is an error", (t) => {
  const cwd = directory(t);
  writeFileSync(join(cwd, "empty"), "\n");
  writeFileSync(join(cwd, "full"), "x");
  assert.match(
    lines(load({ HTTP_TOKEN_FILE: "nowhere" }, cwd)),
    /HTTP_TOKEN_FILE: .*nowhere does not exist/,
  );
  assert.match(lines(load({ HTTP_TOKEN_FILE: "empty" }, cwd)), /HTTP_TOKEN_FILE: .*empty/);
  const both = load({ HTTP_TOKEN: "a", HTTP_TOKEN_FILE: "full" }, cwd);
  assert.match(lines(both), /both HTTP_TOKEN and HTTP_TOKEN_FILE/);
  for (const name of ["nowhere", "empty"])
    assert.equal(load({ MQTT_URL: "", MQTT_URL_FILE: name }, cwd).faults.length, 1);
});

test("settings – a secret in the environment takes precedence over one in the settings file", (t) => {
  const cwd = directory(t);
  writeFileSync(join(cwd, "token"), "from-its-file");
  writeFileSync(join(cwd, ".env"), "HTTP_TOKEN_FILE=token\n");
  const direct = load({ HTTP_TOKEN: "own" }, cwd);
  assert.equal(direct.settings?.httpToken, "own");
  assert.equal(direct.origins.HTTP_TOKEN, "environment");
  writeFileSync(join(cwd, ".env"), "HTTP_TOKEN=from-env-file\n");
  const filed = load({ HTTP_TOKEN_FILE: "token" }, cwd);
  assert.equal(filed.settings?.httpToken, "from-its-file");
  assert.equal(filed.origins.HTTP_TOKEN, "HTTP_TOKEN_FILE");
  writeFileSync(join(cwd, ".env"), "HTTP_TOKEN=a\nHTTP_TOKEN_FILE=token\n");
  assert.match(lines(load({}, cwd)), /both HTTP_TOKEN and HTTP_TOKEN_FILE/);
});

test("settings – a secret that is not set is read from the systemd credential of its name, if there is one", (t) => {
  const cwd = directory(t);
  const credentials = { CREDENTIALS_DIRECTORY: cwd };
  assert.equal(load(credentials, cwd).settings?.mqttPassword, null);
  writeFileSync(join(cwd, "mqtt.password"), "geheim\n");
  writeFileSync(join(cwd, "log.level"), "debug");
  const loaded = load({ ...credentials, MQTT_USERNAME: "bob" }, cwd);
  assert.equal(loaded.settings?.mqttPassword, "geheim");
  assert.equal(loaded.origins.MQTT_PASSWORD, "credential");
  assert.equal(loaded.settings?.logLevel, "info", "only secrets are credentials");
  const own = load({ ...credentials, MQTT_USERNAME: "bob", MQTT_PASSWORD: "own" }, cwd);
  assert.equal(own.settings?.mqttPassword, "own");
  writeFileSync(join(cwd, "mqtt.password"), "");
  assert.match(lines(load(credentials, cwd)), /mqtt\.password is empty/);
});

test("settings – the way to the broker: a proxy with its credentials, and the protocols of ALPN", () => {
  const proxy = "http://plant:pw@proxy.example:3128";
  const loaded = load({
    MQTT_URL: "mqtts://b",
    MQTT_PROXY: proxy,
    MQTT_ALPN: "x-amzn-mqtt-ca, mqtt",
  });
  assert.equal(lines(loaded), "");
  assert.equal(loaded.settings?.mqttProxy, proxy);
  assert.deepEqual(loaded.settings?.mqttAlpn, ["x-amzn-mqtt-ca", "mqtt"]);
  assert.match(warnings(load({ MQTT_ALPN: "x" })), /MQTT_ALPN: has no effect/);
  for (const wrong of ["https://pw@p", "http://p/pw", "socks5://pw", "pw"]) {
    const text = lines(load({ MQTT_PROXY: wrong }));
    assert.match(text, /^MQTT_PROXY: /, wrong);
    assert.doesNotMatch(text, /pw/, wrong);
  }
  for (const wrong of ["a b", "a,,b", "é"])
    assert.match(lines(load({ MQTT_ALPN: wrong })), /MQTT_ALPN/);
});

test("settings – a PEM file that is not set is the systemd credential of its name", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "gateside-credentials-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const certificates = createCertificates(directory);
  copyFileSync(certificates.clientKeyFile, join(directory, "mqtt.key"));
  copyFileSync(certificates.clientCertFile, join(directory, "mqtt.cert"));
  const env = { CREDENTIALS_DIRECTORY: directory, MQTT_URL: "mqtts://broker" };
  const found = load(env);
  assert.equal(lines(found), "");
  assert.equal(found.settings?.mqttKeyFile, join(directory, "mqtt.key"));
  assert.equal(found.settings?.mqttCaFile, null);
  // The directory is another one for the unit than for a command, and the setting is the same.
  assert.equal(found.shown.MQTT_KEY_FILE, "$CREDENTIALS_DIRECTORY/mqtt.key");
  assert.equal(found.valueOf("MQTT_KEY_FILE"), "$CREDENTIALS_DIRECTORY/mqtt.key");
  const own = load({ ...env, MQTT_KEY_FILE: certificates.clientKeyFile });
  assert.equal(own.settings?.mqttKeyFile, certificates.clientKeyFile);
});

test("settings – the package's command names the .env file that counts, and that of the working directory does not", (t) => {
  const [cwd, service] = [directory(t), directory(t)];
  writeFileSync(join(cwd, ".env"), "GATEWAY_PROXY=http://planted:1\n");
  writeFileSync(join(service, ".env"), "LOG_LEVEL=debug\n");
  const dotenv = join(service, ".env");
  const loaded = loadSettings({ ...LINKS, GATESIDE_DOTENV: dotenv }, { cwd });
  assert.equal(loaded.settings?.gatewayProxy, null);
  assert.equal(loaded.settings?.logLevel, "debug");
  assert.equal(loaded.origins.LOG_LEVEL, dotenv);
});

test("settings – .env is read, and the environment takes precedence", (t) => {
  const cwd = directory(t);
  writeFileSync(
    join(cwd, ".env"),
    "# plant 7\nPOLL_INTERVAL_S=30\nBACKFILL_DAYS='3'\nMQTT_PORT=1883\n",
  );
  const loaded = load({ POLL_INTERVAL_S: "15" }, cwd);
  assert.equal(loaded.settings?.pollIntervalS, 15);
  assert.equal(loaded.settings?.backfillDays, 3);
  assert.equal(loaded.origins.POLL_INTERVAL_S, "environment");
  assert.equal(loaded.origins.BACKFILL_DAYS, ".env");
  assert.equal(loaded.origins.LOG_LEVEL, "default");
  assert.match(warnings(loaded), /MQTT_PORT/);
  writeFileSync(join(cwd, "plant.env"), "POLL_INTERVAL_S=20\n");
  const named = loadSettings(LINKS, { cwd, envFile: "plant.env" });
  assert.equal(named.settings?.pollIntervalS, 20);
  assert.equal(named.origins.POLL_INTERVAL_S, "plant.env");
});

test("settings – what the package's command line passes on keeps its origin", () => {
  const { origins } = load({
    MQTT_USERNAME: "bob",
    MQTT_PASSWORD: "geheim",
    LOG_LEVEL: "warn",
    GATESIDE_ORIGINS:
      "LOG_LEVEL=/etc/gateside/gateside.env\nMQTT_PASSWORD=credential\nHTTP_PORT=credential\n",
  });
  assert.equal(origins.LOG_LEVEL, "/etc/gateside/gateside.env");
  assert.equal(origins.MQTT_PASSWORD, "credential");
  assert.equal(origins.MQTT_USERNAME, "environment");
  assert.equal(origins.HTTP_PORT, "default");
});

test("settings – a credential whose name is misspelt is told, and those of uplinks are not", (t) => {
  const cwd = directory(t);
  for (const name of ["mqtt.pasword", "mqtt.username", "cloud.password"])
    writeFileSync(join(cwd, name), "geheim");
  const loaded = load({ CREDENTIALS_DIRECTORY: cwd });
  assert.match(
    warnings(loaded),
    /^mqtt\.pasword: is a credential that no setting reads; did you mean mqtt\.password\?$/m,
  );
  assert.doesNotMatch(warnings(loaded), /cloud|geheim/);
});

test("settings – what leaves a door open, or will be refused, is a warning", () => {
  const token = "a-token-that-may-all";
  const open = { HTTP_HOST: "0.0.0.0", HTTP_TOKEN: token };
  for (const [env, expected] of [
    [open, [/^HTTP_HOST: is "0\.0\.0\.0" without TLS/]],
    [{ ...open, HTTP_TRUSTED_PROXY: "192.0.2.7" }, []],
    [{ HTTP_TOKEN: token }, []],
    [{ HTTP_TOKEN: "short" }, [/^HTTP_TOKEN: is shorter than 16/]],
    [
      { HTTP_TOKEN: token, HTTP_TRUSTED_PROXY: "192.0.2.0/24,0.0.0.0/0" },
      [/^HTTP_TRUSTED_PROXY: 0\.0\.0\.0\/0 is every address/],
    ],
    [{ SETUP_ENABLED: "true" }, [/^SETUP_ENABLED: is on without HTTP_TOKEN/]],
    [{ SETUP_ENABLED: "true", HTTP_TOKEN: token }, []],
    [{ MQTT_USERNAME: "bob" }, [/^MQTT_USERNAME: is set without a password/]],
    [{ MQTT_URL: "mqtts://b", MQTT_USERNAME: "bob", MQTT_PASSWORD: "geheim" }, []],
  ] as const) {
    const found = load(env).warnings.map(faultLine);
    assert.equal(found.length, expected.length, found.join("\n"));
    for (const [i, pattern] of expected.entries()) assert.match(found[i] ?? "", pattern);
  }
});

test("settings – a key that every user of the machine can read is a warning", (t) => {
  const cwd = directory(t);
  const { clientKeyFile: key, clientCertFile: cert } = createCertificates(cwd);
  const given = () =>
    warnings(load({ MQTT_URL: "mqtts://b", MQTT_KEY_FILE: key, MQTT_CERT_FILE: cert }, cwd));
  chmodSync(key, 0o644);
  assert.equal(given(), "", "others may not enter its directory");
  chmodSync(cwd, 0o755);
  assert.match(given(), /^MQTT_KEY_FILE: every user of this machine can read .*chmod 640/);
  chmodSync(key, 0o640);
  assert.equal(given(), "");
});

test("settings – an environment file that is named must exist", () => {
  const loaded = loadSettings(LINKS, { cwd: "/nonexistent", envFile: "plant.env" });
  assert.match(lines(loaded), /plant\.env: does not exist/);
});

test("settings – an empty value counts as not set", () => {
  const loaded = load({ HTTP_TOKEN: "", POLL_INTERVAL_S: " ", MQTT_PASSWORD_FILE: "" });
  assert.equal(lines(loaded), "");
  assert.equal(loaded.settings?.pollIntervalS, 60);
});

test("settings – no displayed setting or error contains a secret", () => {
  const secret = "tops3cret";
  const loaded = load({
    GATEWAY_URL: `http://user:${secret}@gateway`,
    MQTT_URL: `mqtt://user:${secret}@broker`,
    MQTT_PASSWORD: secret,
    HTTP_TOKEN: `${secret} x`,
    GATEWAY_HEADERS: `{"Authorization": "${secret}", "bad header": "${secret}"`,
  });
  assert.ok(loaded.faults.length >= 3, lines(loaded));
  const output = JSON.stringify([loaded.faults, loaded.warnings, loaded.shown]);
  assert.ok(!output.includes(secret), output);
});

test("settings – credentials in a URL are moved to their own settings", () => {
  const { settings } = load({
    GATEWAY_URL: "http://user:p%40ss@gateway/base/",
    MQTT_URL: "mqtts://bob:geheim@broker:8884",
  });
  assert.equal(settings?.gatewayUrl, "http://gateway/base");
  const basic = Buffer.from("user:p@ss").toString("base64");
  assert.deepEqual(settings?.gatewayHeaders, { authorization: `Basic ${basic}` });
  assert.equal(settings?.mqttUrl, "mqtts://broker:8884");
  assert.equal(settings?.mqttUsername, "bob");
  assert.equal(settings?.mqttPassword, "geheim");
});

test("settings – headers are one line or a JSON object", () => {
  assert.deepEqual(load({ GATEWAY_HEADERS: "X-Key: a:b" }).settings?.gatewayHeaders, {
    "X-Key": "a:b",
  });
  assert.deepEqual(load({ GATEWAY_HEADERS: '{"A":"1","B":"2"}' }).settings?.gatewayHeaders, {
    A: "1",
    B: "2",
  });
});

test("settings – history is always kept at least two days longer than the backfill", () => {
  const loaded = load({ BACKFILL_DAYS: "40" });
  assert.equal(loaded.settings?.historyDays, 42);
  assert.match(warnings(loaded), /HISTORY_DAYS.*42/);
  assert.equal(load({ BACKFILL_DAYS: "28" }).settings?.historyDays, 30);
  assert.equal(warnings(load({ BACKFILL_DAYS: "28" })), "");
});

test("settings – samples cannot be kept for longer than their readings", () => {
  const loaded = load({ HISTORY_DAYS: "10", WAVEFORM_DAYS: "11" });
  assert.match(lines(loaded), /^WAVEFORM_DAYS: 11 is more than HISTORY_DAYS, 10/);
  assert.equal(loaded.settings, null);
  assert.match(lines(load({ WAVEFORM_DAYS: "31" })), /31 is more than HISTORY_DAYS, 30/);
  // As set, although 9 days are used.
  assert.match(
    lines(load({ HISTORY_DAYS: "5", WAVEFORM_DAYS: "7" })),
    /7 is more than HISTORY_DAYS, 5/,
  );
  for (const set of [{ HISTORY_DAYS: "10", WAVEFORM_DAYS: "10" }, { HISTORY_DAYS: "5" }])
    assert.equal(lines(load(set)), "");
});

test("settings – a token is required if other machines can reach the HTTP server", () => {
  for (const host of ["0.0.0.0", "::", "192.168.1.5", "box.plant"])
    assert.match(lines(load({ HTTP_HOST: host })), /HTTP_TOKEN: is required/, host);
  for (const host of ["127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost"])
    assert.equal(lines(load({ HTTP_HOST: host })), "", host);
  assert.equal(lines(load({ HTTP_HOST: "0.0.0.0", HTTP_PORT: "off" })), "");
  assert.equal(lines(load({ HTTP_HOST: "0.0.0.0", HTTP_TOKEN: "0123456789abcdef" })), "");
});

test("settings – off and 0 are distinct port values", () => {
  assert.equal(load({ HTTP_PORT: "off" }).settings?.httpPort, null);
  assert.equal(load({ HTTP_PORT: "0" }).settings?.httpPort, 0);
});

test("settings – the same port for HTTP and Modbus is an error if both listen on the same address", () => {
  const places = (more: Record<string, string>) =>
    load({ HTTP_PORT: "8080", MODBUS_PORT: "8080", ...more }).faults.map(({ place }) => place);
  assert.deepEqual(places({}), ["MODBUS_PORT"]);
  assert.deepEqual(places({ MODBUS_HOST: "0.0.0.0" }), ["MODBUS_PORT"]);
  assert.deepEqual(places({ MODBUS_HOST: "192.0.2.1" }), []);
  assert.deepEqual(places({ HTTP_PORT: "0", MODBUS_PORT: "0" }), []);
});

test("settings – a gateway address that already contains its service path causes a warning", () => {
  const warnings = (url: string) =>
    load({ GATEWAY_URL: url }).warnings.filter(({ place }) => place === "GATEWAY_URL");
  assert.match(
    warnings("http://192.0.2.1/SensorService.svc/")[0]?.remedy ?? "",
    /remove it from the address/,
  );
  assert.deepEqual(warnings("http://192.0.2.1/plant"), []);
});

test("settings – formats are a set in fixed order, and spaces are ignored", () => {
  const { settings } = load({ PUBLISH_FORMATS: "sparkplug, json,json" });
  assert.deepEqual(settings?.publishFormats, ["sparkplug", "json"]);
});

test("settings – MQTT 3.1.1 allows no password without a user name", () => {
  assert.match(lines(load({ MQTT_VERSION: "4", MQTT_PASSWORD: "x" })), /MQTT_PASSWORD/);
  assert.equal(lines(load({ MQTT_VERSION: "5", MQTT_PASSWORD: "x" })), "");
});

test("settings – a client certificate without its key, or with another key, is an error", (t) => {
  const cwd = directory(t);
  try {
    for (const name of ["a", "b"]) {
      const subject = ["-subj", "/CN=test", "-days", "1", "-nodes"];
      const files = ["-keyout", join(cwd, `${name}.key`), "-out", join(cwd, `${name}.crt`)];
      const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
      execFileSync("openssl", ["req", "-x509", ...curve, ...subject, ...files], {
        stdio: "ignore",
      });
    }
  } catch {
    t.skip("openssl is missing");
    return;
  }
  const url = { MQTT_URL: "mqtts://broker" };
  assert.match(lines(load({ ...url, MQTT_CERT_FILE: "a.crt" }, cwd)), /MQTT_KEY_FILE: is missing/);
  const pair = { ...url, MQTT_CERT_FILE: "a.crt", MQTT_CA_FILE: "b.crt" };
  assert.equal(lines(load({ ...pair, MQTT_KEY_FILE: "a.key" }, cwd)), "");
  assert.match(lines(load({ ...pair, MQTT_KEY_FILE: "b.key" }, cwd)), /MQTT_KEY_FILE: the key/);
  const swapped = { ...pair, MQTT_CERT_FILE: "a.key", MQTT_KEY_FILE: "a.crt" };
  assert.match(lines(load(swapped, cwd)), /MQTT_CERT_FILE: .*\(contains no certificate\)/);
  assert.match(lines(load(swapped, cwd)), /MQTT_KEY_FILE: .*\(contains no private key\)/);
  writeFileSync(join(cwd, "text.pem"), "not a certificate");
  assert.match(lines(load({ ...url, MQTT_CA_FILE: "text.pem" }, cwd)), /MQTT_CA_FILE: .*PEM/);
});

test("settings – every name has a description, and names are upper case", () => {
  for (const name of SETTING_NAMES) {
    assert.match(name, /^[A-Z][A-Z0-9_]*$/);
    assert.ok(SETTINGS[name].doc.length > 5, name);
  }
});

test("settings – the example file names every setting once and passes without warnings", () => {
  const text = readFileSync(join("config", "gateside.env.example"), "utf8");
  for (const name of SETTING_NAMES)
    assert.equal(text.match(new RegExp(`^#?${name}=`, "gm"))?.length, 1, name);
  const loaded = loadSettings(
    { GATEWAY_TIMEZONE: "UTC" },
    { cwd: ".", envFile: join("config", "gateside.env.example") },
  );
  assert.deepEqual([...loaded.faults, ...loaded.warnings].map(faultLine), []);
  const uncommented = parseEnv(text.replace(/^#(?=[A-Z_]+=)/gm, ""));
  const { settings, faults } = loadSettings(uncommented, { cwd: "/nonexistent" });
  assert.deepEqual(faults.map(faultLine), []);
  const defaults = load({
    GATEWAY_URL: uncommented["GATEWAY_URL"],
    MQTT_URL: uncommented["MQTT_URL"],
  }).settings;
  assert.deepEqual(settings, defaults);
});

test("settings – the HTTP certificate is checked against its key, and a warning is given before it expires", (t) => {
  const cwd = directory(t);
  const write = (name: string, days: number) => {
    const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const notAfter = new Date(Date.now() + days * 86_400_000);
    const request = { name: "box", hosts: ["box"], notBefore: new Date(0), notAfter };
    writeFileSync(join(cwd, `${name}.pem`), selfSignedCertificate(request, keys));
    const key = keys.privateKey.export({ type: "pkcs8", format: "pem" });
    writeFileSync(join(cwd, `${name}.key`), key);
  };
  write("fresh", 60);
  write("late", 10);
  write("ended", -1);
  const given = (cert: string, key = cert) =>
    load({ HTTP_CERT_FILE: `${cert}.pem`, HTTP_KEY_FILE: `${key}.key` }, cwd);
  assert.deepEqual([given("fresh").faults, given("fresh").warnings.length], [[], 0]);
  assert.match(given("late").warnings[0]?.problem ?? "", /^ends on /);
  assert.match(given("ended").warnings[0]?.problem ?? "", /^ended on /);
  assert.match(lines(given("fresh", "late")), /HTTP_KEY_FILE: the key does not match/);
  assert.match(lines(load({ HTTP_CERT_FILE: "fresh.pem" }, cwd)), /HTTP_KEY_FILE: is missing/);
});

test("settings – a view token requires HTTP_TOKEN, and must differ from it", () => {
  const all = "a-token-that-may-all";
  assert.match(lines(load({ HTTP_VIEW_TOKEN: all })), /HTTP_TOKEN: is missing/);
  assert.match(lines(load({ HTTP_TOKEN: all, HTTP_VIEW_TOKEN: all })), /is the same as HTTP_TOKEN/);
  assert.deepEqual(load({ HTTP_TOKEN: all, HTTP_VIEW_TOKEN: "one-that-only-looks" }).faults, []);
});

test("settings – no number is infinite, however it is written", () => {
  const numeric = SETTING_NAMES.filter((name) => /^(?:integer|number)$/.test(SETTINGS[name].type));
  assert.ok(numeric.length > 15);
  for (const name of numeric)
    for (const text of ["Infinity", "-Infinity", "1e999", "-1e999", "NaN"]) {
      const { faults } = load({ ...LINKS, [name]: text });
      assert.ok(
        faults.some(({ place }) => place === name),
        `${name}=${text}`,
      );
    }
});

test("settings – a prefix of slashes alone and a port 0 in an address are faults", () => {
  const places = (env: Environment) => load({ ...LINKS, ...env }).faults.map(({ place }) => place);
  assert.deepEqual(places({ COMMAND_RESPONSE_PREFIX: "/" }), ["COMMAND_RESPONSE_PREFIX"]);
  assert.deepEqual(places({ COMMAND_RESPONSE_PREFIX: "replies/" }), []);
  assert.deepEqual(places({ GATEWAY_URL: "http://gateway:0" }), ["GATEWAY_URL"]);
  assert.deepEqual(places({ MQTT_URL: "mqtt://broker:0" }), ["MQTT_URL"]);
});

test("settings – what other programs call it is told as the setting that is meant", () => {
  const remedy = (name: string) =>
    load({ ...LINKS, [name]: "x" }).warnings.find(({ place }) => place === name)?.remedy;
  assert.equal(remedy("MQTT_HOST"), "did you mean MQTT_URL?");
  assert.equal(remedy("MQTT_USER"), "did you mean MQTT_USERNAME?");
  assert.equal(remedy("GATEWAY_IP"), "did you mean GATEWAY_URL?");
});
