import assert from "node:assert/strict";
import { test } from "node:test";
import { loadUplinks } from "../../../src/config/uplinks.ts";
import type { Kind, Sensor } from "../../../src/core/sensor.ts";
import type { Site } from "../../../src/core/site.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import { createSelector } from "../../../src/core/uplink.ts";
import { chosenSensors, chosenSite } from "../../../src/pipeline/publish/chosen.ts";

const plain: Sensor = { code: "1", type: 40, kinds: ["rpm"], channels: {} };
const node: Sensor = {
  ...plain,
  code: "2",
  stateReads: [{ operation: "getState", fields: { battery: { from: "B", unit: "V" } } }],
};
const site: Site = { site: "plant-7", sensors: [plain, node] };

function choosing(kinds: readonly Kind[]) {
  const file = JSON.stringify({ uplinks: [{ name: "cloud", url: "mqtt://c", select: { kinds } }] });
  const loaded = loadUplinks(file, "/x/uplinks.json", {
    site,
    main: null,
    commandsEnabled: false,
  });
  const uplink = loaded.uplinks?.[0];
  assert.ok(uplink, JSON.stringify(loaded.faults));
  return { isChosen: chosenSensors(uplink, fixedSite(site)), uplink };
}

test("an uplink may select only node states: it gets the sensors that have them, and nothing else of them", () => {
  const { isChosen, uplink } = choosing(["node"]);
  assert.deepEqual([isChosen("1"), isChosen("2")], [false, true]);
  const { sensors } = chosenSite(uplink, fixedSite(site)).current;
  assert.deepEqual(sensors, [{ ...node, kinds: [] }]);
});

test("an uplink that selects other kinds has the sensors without their node states", () => {
  const { uplink } = choosing(["rpm"]);
  const { sensors } = chosenSite(uplink, fixedSite(site)).current;
  assert.deepEqual(
    sensors.map(({ code, kinds, stateReads }) => [code, kinds, stateReads]),
    [
      ["1", ["rpm"], []],
      ["2", ["rpm"], []],
    ],
  );
});

test("events are those of the sensors that an uplink selects, whichever kind caused them, and of no others", () => {
  const { uplink } = choosing(["node"]);
  const { includes } = createSelector(uplink.select, site.sensors);
  assert.deepEqual(
    ["1", "2", "removed"].map((code) => includes(code, "event")),
    [false, true, true],
  );
});
