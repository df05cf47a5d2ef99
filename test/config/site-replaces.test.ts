import assert from "node:assert/strict";
import { test } from "node:test";
import { loadSite } from "../../src/config/site.ts";

const sensor = (code: string, more: object = {}) => ({ code, type: 6, kinds: ["rpm"], ...more });
const load = (...sensors: object[]) =>
  loadSite(JSON.stringify({ site: "plant-7", sensors }), "site.json");
const faultsOf = (...sensors: object[]) =>
  load(...sensors).faults.map(({ place, problem }) => `${place}: ${problem}`);

test("replaces – former sensors may be gone or disabled, a chain be listed in any order or step by step", () => {
  assert.deepEqual(faultsOf(sensor("2", { replaces: ["1"] })), []);
  assert.deepEqual(faultsOf(sensor("2", { replaces: ["1"] }), sensor("1", { enabled: false })), []);
  assert.deepEqual(faultsOf(sensor("3", { replaces: ["1", "2"] })), []);
  const second = sensor("2", { replaces: ["1"], enabled: false });
  assert.deepEqual(faultsOf(sensor("3", { replaces: ["2"] }), second), []);
  assert.deepEqual(faultsOf(sensor("3", { replaces: ["2", "1"] }), second), []);
});

test("replaces – a circle, two successors and a former sensor that is still read are faults, each with its place", () => {
  assert.deepEqual(faultsOf(sensor("2", { replaces: ["002"] })), [
    'site.json: sensors[0].replaces[0]: "002" is the sensor itself',
  ]);
  const circle = faultsOf(
    sensor("1", { replaces: ["2"], enabled: false }),
    sensor("2", { replaces: ["3"], enabled: false }),
    sensor("3", { replaces: ["01"], enabled: false }),
  );
  assert.equal(circle.length, 3);
  for (const fault of circle) assert.match(fault, /a circle/);
  assert.deepEqual(faultsOf(sensor("2", { replaces: ["1"] }), sensor("3", { replaces: ["1"] })), [
    'site.json: sensors[0].replaces[0]: "1" is also replaced by "3" (sensors[1])',
    'site.json: sensors[1].replaces[0]: "1" is also replaced by "2" (sensors[0])',
  ]);
  assert.deepEqual(faultsOf(sensor("2", { replaces: ["1"] }), sensor("1")), [
    'site.json: sensors[0].replaces[0]: "1" is still read (sensors[1])',
  ]);
});

test("replaces – rules and signals that name the former sensor go on with the new one, without a warning", () => {
  const { faults, warnings } = loadSite(
    JSON.stringify({
      site: "plant-7",
      sensors: [sensor("2", { replaces: ["1"], location: LOCATION })],
      machines: [
        {
          id: 40,
          name: "Pump",
          speed: { sensor: "1" },
          running: { sensor: "1", kind: "rpm", value: "rpm", above: 300 },
        },
      ],
      alarms: [{ name: "fast", select: { sensors: ["1"], values: ["rpm"] }, high: 1500 }],
    }),
    "site.json",
  );
  assert.deepEqual([faults, warnings], [[], []]);
});

const LOCATION = { company: 1, area: 2, machine: 40, point: 1, names: { machine: "Pump" } };
