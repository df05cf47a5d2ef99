import assert from "node:assert/strict";
import { test } from "node:test";
import { faultLine } from "../../src/config/fault.ts";
import { loadSettings } from "../../src/config/settings.ts";

const faultText = (environment: Record<string, string>) => {
  const required = { GATEWAY_URL: "http://192.168.1.10:8000", MQTT_URL: "mqtt://127.0.0.1" };
  const loaded = loadSettings({ ...required, ...environment }, { cwd: "/nonexistent" });
  return loaded.warnings.map(faultLine).join("\n");
};

for (const [name, pattern] of [
  ["CST", /America\/Chicago, UTC-06:00 in January and UTC-05:00 in July.*Asia\/Shanghai/],
  ["BST", /Asia\/Dhaka, UTC\+06:00 all year.*British Summer Time/],
  ["EST", /UTC-05:00 all year.*America\/New_York/],
  ["Etc/GMT+3", /UTC-03:00 all year: the sign of Etc\/GMT names is inverted.*Etc\/GMT-3/],
  ["GMT", /no summer time.*Europe\/London/],
] as const) {
  test(`settings – GATEWAY_TIMEZONE=${name} is reported with what it means`, () => {
    assert.match(faultText({ GATEWAY_TIMEZONE: name }), pattern);
  });
}

test("settings – a zone whose name is unambiguous causes no warning", () => {
  for (const name of ["Europe/Berlin", "UTC", "CET", "America/Argentina/Buenos_Aires", "PRC"]) {
    assert.equal(faultText({ GATEWAY_TIMEZONE: name }), "", name);
  }
});

test("settings – a password without a user name is a warning with MQTT 5", () => {
  assert.match(
    faultText({ GATEWAY_TIMEZONE: "UTC", MQTT_PASSWORD: "pssst-secret" }),
    /MQTT_PASSWORD.*without a user name.*MQTT_USERNAME/,
  );
});
