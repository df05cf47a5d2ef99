import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { faultLine } from "../../src/config/fault.ts";
import { loadSettings } from "../../src/config/settings.ts";

const PASSWORD = "very-secret";

function load(t: TestContext, lines: readonly string[]) {
  const cwd = mkdtempSync(join(tmpdir(), "gateside-lines-"));
  t.after(() => rmSync(cwd, { recursive: true }));
  writeFileSync(join(cwd, ".env"), lines.join("\n"));
  const { settings, faults, warnings } = loadSettings({}, { cwd });
  const reported = [...faults, ...warnings].map(faultLine).map((line) => line.replaceAll(cwd, ""));
  return { settings, reported };
}

test("environment file – a line that is not NAME=value is reported by its number, and the setting after it still counts", (t) => {
  const { settings, reported } = load(t, [
    "GATEWAY_URL=http://gateway",
    "MQTT_URL=mqtt://broker",
    `MQTT_PASSWORD: ${PASSWORD}`,
    "MQTT_CLIENT_ID=plant",
    `MQTT_PASSWORD ${PASSWORD}?a=b`,
    "; a comment of another kind",
    "HTTP_PORT=8090",
  ]);
  const remedy =
    "is not a NAME=value line and has no effect; correct it, or put a # in front of it";
  assert.deepEqual(reported, [`/.env:3: ${remedy}`, `/.env:5: ${remedy}`, `/.env:6: ${remedy}`]);
  assert.equal(settings?.httpPort, 8090);
});

test("environment file – export, quotes, a byte order mark and CRLF are accepted", (t) => {
  const { settings, reported } = load(t, [
    "\uFEFFexport GATEWAY_URL='http://gateway'\r",
    '  MQTT_URL = "mqtts://broker"  # the broker\r',
    "# export\r",
    "\r",
    `HTTP_TOKEN="a#b-of-16-and-more"\r`,
    "HTTP_PORT=8090 # the port\r",
  ]);
  assert.deepEqual(reported, []);
  assert.equal(settings?.httpToken, "a#b-of-16-and-more");
});

test("environment file – a value that is cut at a #, and a quote that is not closed, are reported", (t) => {
  const { reported } = load(t, [
    "GATEWAY_URL=http://gateway",
    "MQTT_URL=mqtt://broker",
    "MQTT_USERNAME=plant",
    `MQTT_PASSWORD=${PASSWORD}#2`,
    "LOG_LEVEL='info",
    'MQTT_CLIENT_ID="plant-7',
    "HTTP_PORT=8090",
    'SITE_FILE="site.json"',
  ]);
  assert.deepEqual(
    reported.filter((line) => line.startsWith("/.env")),
    [
      "/.env:4: the value of MQTT_PASSWORD ends at the #; put it in quotes if the # is part of it",
      "/.env:5: the quote before the value of LOG_LEVEL is not closed, so it is part of the value; close the quote, or remove it",
      "/.env:6: the quote before the value of MQTT_CLIENT_ID is closed only in line 8, so the settings up to there are part of the value; close the quote in its own line",
    ],
  );
});

test("environment file – a usual guess is reported with the setting that it should be", (t) => {
  const { reported } = load(t, ["STORE_PATH=/data", "GATEWAY_URL=http://g", "MQTT_URL=mqtt://b"]);
  assert.match(reported.join("\n"), /STORE_PATH: is an unknown .*did you mean DATA_DIR\?/);
});

test("environment file – a name in small letters is reported with the name it should be", (t) => {
  const { reported } = load(t, ["gateway_url=http://gateway", "MQTT_URL=mqtt://broker"]);
  assert.match(
    reported.join("\n"),
    /gateway_url: is an unknown setting .*did you mean GATEWAY_URL\?/,
  );
});

test("environment file – a setting with two values is told without them, and the last one counts", (t) => {
  const { settings, reported } = load(t, [
    "GATEWAY_URL=http://gateway",
    "MQTT_URL=mqtt://broker",
    "HTTP_PORT=8090",
    `HTTP_TOKEN=${PASSWORD}-of-the-first-line`,
    "HTTP_PORT=8090",
    `HTTP_TOKEN=${PASSWORD}-of-the-last-line`,
    "OF_ANOTHER=1",
    "OF_ANOTHER=2",
  ]);
  assert.deepEqual(reported, [
    "/.env:6: sets HTTP_TOKEN to another value than line 4, and the last line counts; keep one of the two",
  ]);
  assert.equal(settings?.httpToken, `${PASSWORD}-of-the-last-line`);
});
