/** The site file read again: with what an earlier reading found, it is the same as without. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadSite, type WrittenSite } from "../../src/config/site.ts";
import { hasFeature } from "../support/features.ts";

const location = (point: number) => ({ company: 1, area: 1, machine: 1, point });
const speed = { sensor: "1" };
const pump = (orders: readonly number[]) => ({
  id: 1,
  name: "Pump",
  speed,
  ...(hasFeature("bands") && { bands: { orders } }),
});
const rpm = (code: string, more: object = {}) => ({ code, type: 40, kinds: ["rpm"], ...more });
const accel = {
  code: "9",
  type: 3,
  kinds: ["accel"],
  machineClass: "class2",
  location: location(1),
};
/** Has a warning of its own: nothing with a class. */
const warned = rpm("3", { machineClass: "class2" });
const first = {
  site: "hall",
  sensors: [rpm("1", { location: location(2) }), warned, accel],
  machines: [pump([1, 2])],
};

function read(content: object, before: WrittenSite | null) {
  const { site, faults, warnings, written } = loadSite(
    JSON.stringify(content),
    "site.json",
    { sparkplug: true },
    before,
  );
  return { found: { site, faults, warnings }, written };
}

const NEXT: Readonly<Record<string, object>> = {
  "the same": first,
  "a sensor more, before the one with a warning": {
    ...first,
    sensors: [rpm("0x"), ...first.sensors],
  },
  "another order": { ...first, sensors: first.sensors.toReversed() },
  "other bands of the machine": { ...first, machines: [pump([1, 2, 3])] },
  "no machines": { ...first, machines: undefined },
  "a changed sensor": { ...first, sensors: [rpm("1", { name: "Fan" }), warned, accel] },
  "members in another order": {
    ...first,
    sensors: [{ kinds: ["rpm"], location: location(2), type: 40, code: "1" }, warned, accel],
  },
  "a sensor twice": { ...first, sensors: [...first.sensors, rpm("1")] },
  "the same sensor with a zero": { ...first, sensors: [...first.sensors, rpm("01")] },
  "a fault of the schema": { ...first, sensors: [{ ...rpm("1"), kinds: ["speed"] }, accel] },
  "a fault beyond it": { ...first, sensors: [{ ...rpm("1"), kinds: [] }, warned, accel] },
  "one that replaces a sensor that is read": {
    ...first,
    sensors: [...first.sensors, rpm("5", { replaces: ["3"] })],
  },
  "two machines with one place": {
    ...first,
    sensors: [...first.sensors, rpm("5", { location: { ...location(3), area: 2 } })],
  },
  "an alarm of a sensor that is not there": {
    ...first,
    alarms: [{ name: "hot", value: "rpm", sensors: ["77"], high: 5 }],
  },
};

for (const [what, content] of Object.entries(NEXT)) {
  test(`site file read again – ${what}: the same as read for the first time`, () => {
    const { found, written } = read(first, null);
    assert.ok(written !== null && found.warnings.length > 0);
    for (const before of [written, read(content, written).written])
      for (const next of [content, first])
        assert.deepEqual(read(next, before).found, read(next, null).found);
  });
}

test("site file read again – unchanged sensors are the same objects, and no others", () => {
  const { found, written } = read(first, null);
  const known = found.site?.sensors ?? [];
  const changed = [rpm("0x"), ...first.sensors.with(1, rpm("3", { name: "Fan" }))];
  const again = read({ ...first, sensors: changed }, written).found.site?.sensors ?? [];
  assert.deepEqual(
    again.map((sensor) => known.indexOf(sensor)),
    [-1, 0, -1, 2],
  );
});

test("site file read again – what a proposed file gave a sensor is not taken for the running one", {
  skip: !hasFeature("bands"),
}, () => {
  const { written } = read(first, null);
  assert.ok(written);
  const bands = (content: object) => read(content, written).found.site?.sensors.at(-1)?.bands;
  const own = bands(first);
  assert.notDeepEqual(bands({ ...first, machines: [pump([5])] }), own);
  assert.deepEqual(bands(first), own);
});
