import assert from "node:assert/strict";
import { test } from "node:test";
import { bindSite, loadSettings } from "../../../src/config/settings.ts";

const load = (environment: Readonly<Record<string, string>>) =>
  loadSettings(
    { GATEWAY_URL: "http://gateway", MQTT_URL: "mqtt://broker", ...environment },
    { cwd: "/nonexistent" },
  );

for (const [name, value] of [
  ["SPARKPLUG_GROUP_ID", "a/b"],
  ["SPARKPLUG_GROUP_ID", "STATE"],
  ["SPARKPLUG_NODE_ID", "a+b"],
  ["SPARKPLUG_NODE_ID", "a\u0085b"],
  ["SPARKPLUG_HOST_ID", "#"],
  ["SPARKPLUG_HISTORY_BATCH", "0"],
] as const)
  test(`settings – ${name}=${JSON.stringify(value)} is a fault of that setting`, () => {
    assert.deepEqual(
      load({ [name]: value }).faults.map(({ place }) => place),
      [name],
    );
  });

test("settings – the group is the site's name as one safe level, unless it is set", () => {
  const groupOf = (environment: Readonly<Record<string, string>>) => {
    const { settings } = load(environment);
    assert.ok(settings);
    return bindSite(settings, "plant/7+").sparkplugGroupId;
  };
  assert.equal(groupOf({}), "plant_7_");
  assert.equal(groupOf({ SPARKPLUG_GROUP_ID: "north" }), "north");
});

test("settings – SPARKPLUG_MACHINES without the format, or without alarms, has no effect and is said", () => {
  const { warnings } = load({ SPARKPLUG_MACHINES: "true", ALARMS_ENABLED: "false" });
  assert.deepEqual(
    warnings.map(({ place, problem }) => `${place} ${problem}`),
    [
      "SPARKPLUG_MACHINES has no effect while ALARMS_ENABLED is false",
      "SPARKPLUG_MACHINES has no effect without the format sparkplug",
    ],
  );
});
