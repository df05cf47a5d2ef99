/** What Home Assistant is told of machines while nothing is said of them. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { deadlineMs } from "../../support/deadline.ts";
import { skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../../support/plant.ts";

test("Home Assistant – without alarms no sensor refers to the device of a machine, which is never described", {
  skip: skipWithoutBuild || skipWithoutMosquitto,
}, async (t) => {
  const plant = await startPlant(t, { simulator: { sensors: 3, historyDays: 0.01 } });
  const seen = await plant.subscribe({ topics: ["homeassistant/#"] });
  const file = join(dirname(plant.siteFile), "uplinks.json");
  const home = { name: "home", url: plant.broker.url, topicPrefix: "home", machines: true };
  writeFileSync(file, JSON.stringify({ uplinks: [{ ...home, profile: "homeassistant" }] }));
  const agent = plant.startAgent({ UPLINKS_FILE: file, ALARMS_ENABLED: "false" });
  const described = await seen.waitFor(
    ({ text }) => text.includes('"serial_number":'),
    deadlineMs(30_000),
  );
  const { device } = JSON.parse(described.text) as { device: { via_device: string } };
  assert.doesNotMatch(device.via_device, /_machine_/);
  await agent.stop();
});
