import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Sensor } from "../../../src/core/sensor.ts";
import { addressOf, isOfMachine, RegisterMap } from "../../../src/features/modbus/register-map.ts";

const KINDS = ["rpm", "loop", "dryContact", "currentV2"] as const;
const sensorOf = (code: number, kinds: readonly (typeof KINDS)[number][]): Sensor => ({
  code: String(code),
  type: 1,
  kinds,
  channels: {
    channel1: { low: 0, high: 10, unit: "bar" },
    current1: { clamp: 100 },
    current3: { clamp: 250 },
  },
});
const siteOf = (sensors: readonly Sensor[]) => ({ site: "plant", sensors });
const anySite = fc
  .uniqueArray(
    fc.tuple(fc.integer({ min: 1, max: 30 }), fc.subarray([...KINDS], { minLength: 1 })),
    {
      selector: ([code]) => code,
      maxLength: 12,
    },
  )
  .map((sensors) => siteOf(sensors.map(([code, kinds]) => sensorOf(code, kinds))));

test("register map – a sensor's state comes first, then its values in the order of its readings", () => {
  const map = new RegisterMap([], siteOf([sensorOf(7, ["rpm"])]));
  assert.deepEqual(map.saved(), [
    ["7", "", ""],
    ["7", "rpm", "rpm"],
    ["7", "rpm", "battery"],
    ["7", "rpm", "module_temperature"],
  ]);
  assert.equal(addressOf(1), 12);
  assert.equal(map.end, 24);
});

test("register map – no change of the site file moves a register, also across restarts", () => {
  fc.assert(
    fc.property(fc.array(anySite, { minLength: 1, maxLength: 5 }), (sites) => {
      let saved: ReturnType<RegisterMap["saved"]> = [];
      for (const site of sites) {
        const map = new RegisterMap(saved, site);
        assert.deepEqual(map.saved().slice(0, saved.length), saved);
        assert.equal(map.extend(site), false);
        saved = map.saved();
        const keys = saved.map((block) => JSON.stringify(block));
        assert.equal(new Set(keys).size, keys.length);
      }
    }),
  );
});

test("register map – values that do not fit into the address space are counted, not given a wrong address", () => {
  const sensors = Array.from({ length: 6000 }, (_, i) => sensorOf(i, ["rpm"]));
  const map = new RegisterMap([], siteOf(sensors));
  assert.ok(map.end <= 65_536);
  assert.equal(map.blocks.length + map.left, 24_000);
});

test("register map – a sensor that replaces another answers at its addresses, and only what is new gets new ones", () => {
  const first = new RegisterMap([], siteOf([sensorOf(7, ["rpm"]), sensorOf(8, ["rpm"])]));
  const saved = first.saved();
  const next = { ...sensorOf(9, ["rpm", "loop"]), replaces: ["7"] };
  const map = new RegisterMap(saved, siteOf([next, sensorOf(8, ["rpm"])]));
  assert.deepEqual(map.saved().slice(0, saved.length), saved, "the file keeps its addresses");
  const [state, rpm] = map.blocks;
  assert.ok(state && rpm && !isOfMachine(state) && !isOfMachine(rpm));
  assert.deepEqual([map.served(state).sensor, map.served(rpm).sensor], ["9", "9"]);
  assert.ok(map.isCurrent(rpm));
  assert.deepEqual(map.saved().slice(saved.length), [
    ["9", "loop", "channel1"],
    ["9", "loop", "channel1_ma"],
    ["9", "loop", "battery"],
    ["9", "loop", "module_temperature"],
  ]);
  // The entry of the old one may stay, disabled, and needs no addresses.
  const both = siteOf([next, { ...sensorOf(7, ["rpm", "loop"]), enabled: false }]);
  assert.deepEqual(new RegisterMap(map.saved(), both).saved(), map.saved());
});

test("register map – a code whose leading zeros are corrected keeps its addresses, under the spelling of the site", () => {
  const spelt = (code: string) => siteOf([{ ...sensorOf(7, ["rpm"]), code }, sensorOf(8, ["rpm"])]);
  const map = new RegisterMap([], spelt("007"));
  const before = map.saved();
  assert.equal(map.extend(spelt("7")), false);
  assert.deepEqual(map.saved(), before);
  const [state] = map.blocks;
  assert.ok(state && map.blocks.every((block) => map.isCurrent(block)));
  assert.deepEqual(map.served(state), { sensor: "7", kind: null, value: null });
  assert.deepEqual(new RegisterMap(before, spelt("7")).saved(), before);
});
