import assert from "node:assert/strict";
import { test } from "node:test";
import {
  RegisterImage,
  type RegisterSource,
  type SensorCondition,
} from "../../../src/features/modbus/register-image.ts";
import { RegisterMap } from "../../../src/features/modbus/register-map.ts";
import type { NewestReading } from "../../../src/pipeline/store/readings/newest-readings.ts";

const SENSOR = { code: "7", type: 1, kinds: ["rpm"], channels: {} } as const;
const NOW = 1_000_000_000_000;

function imageOf(
  newest: NewestReading | null,
  more: Partial<RegisterSource> & { wordOrder?: "big" | "little" } = {},
) {
  const condition: SensorCondition = {
    state: "online",
    lastReadingMs: NOW - 2500,
    batteryV: 3.612,
  };
  const map = new RegisterMap([], { site: "plant", sensors: [SENSOR] });
  return new RegisterImage(
    map,
    {
      now: () => NOW,
      uptimeS: () => 65_537.9,
      isGatewayUp: () => true,
      sensors: () => 1,
      newest: () => newest,
      isStale: () => false,
      condition: () => condition,
      machine: () => null,
      ...more,
    },
    more.wordOrder ?? "big",
  );
}
const reading = (more: Partial<NewestReading> = {}): NewestReading => ({
  timeMs: NOW - 35_000,
  values: { rpm: 1480.5, battery: 3.6 },
  quality: {},
  ...more,
});
const floatOf = ([high = 0, low = 0]: readonly number[]) => {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint16(0, high);
  view.setUint16(2, low);
  return view.getFloat32(0);
};
const RPM = 12;

test("register image – the header contains layout, heartbeat, gateway and sensors", () => {
  assert.deepEqual(imageOf(null).read(0, 8), [1, 1, 1, 1, 0, 0, 0, 0]);
});

test("register image – a sensor's block contains state, age and battery in millivolts", () => {
  assert.deepEqual(imageOf(null).read(8, 4), [1, 2, 3612, 0]);
  const unknown = imageOf(null, {
    condition: () => ({ state: "unknown", lastReadingMs: null, batteryV: null }),
  });
  assert.deepEqual(unknown.read(8, 3), [0, 65_535, 65_535]);
});

test("register image – a good value is its float and its age", () => {
  const registers = imageOf(reading()).read(RPM, 3) ?? [];
  assert.equal(floatOf(registers), 1480.5);
  assert.equal(registers[2], 35);
});

test("register image – little-endian word order swaps the two registers and nothing else", () => {
  const [low = 0, high = 0, status] =
    imageOf(reading(), { wordOrder: "little" }).read(RPM, 3) ?? [];
  assert.equal(floatOf([high, low]), 1480.5);
  assert.equal(status, 35);
});

test("register image – bad, missing and never received values are NaN with quality bad", () => {
  const bad = reading({ values: { rpm: null }, quality: { rpm: { quality: "bad" } } });
  for (const newest of [bad, reading({ values: {} }), null]) {
    const registers = imageOf(newest).read(RPM, 3) ?? [];
    assert.ok(Number.isNaN(floatOf(registers)));
    assert.equal((registers[2] ?? 0) >> 14, 2);
  }
});

test("register image – uncertain and stale values are kept and flagged", () => {
  const doubtful = reading({ quality: { rpm: { quality: "uncertain" } } });
  assert.equal(imageOf(doubtful).read(RPM + 2, 1)?.[0], (1 << 14) + 35);
  assert.equal(imageOf(doubtful, { isStale: () => true }).read(RPM + 2, 1)?.[0], (3 << 14) + 35);
});

test("register image – an age is capped at fourteen bits; a reading ahead of the clock has age 0 s", () => {
  assert.equal(imageOf(reading({ timeMs: 0 })).read(RPM + 2, 1)?.[0], 16_383);
  assert.equal(imageOf(reading({ timeMs: NOW + 5000 })).read(RPM + 2, 1)?.[0], 0);
});

test("register image – any window of the map equals its registers read one by one; outside the map there is nothing", () => {
  const image = imageOf(reading());
  const end = 24;
  const all = Array.from({ length: end }, (_, i) => image.read(i, 1)?.[0]);
  for (let from = 0; from < end; from++) {
    for (let count = 1; from + count <= end; count++) {
      assert.deepEqual(image.read(from, count), all.slice(from, from + count));
    }
    assert.equal(image.read(from, end - from + 1), null);
  }
});

test("register image – a value of a channel or kind that the site file names no longer is NaN, although its sensor stays; it is back where it was if it returns", () => {
  const map = new RegisterMap([], { site: "plant", sensors: [SENSOR] });
  const image = new RegisterImage(
    map,
    {
      now: () => NOW,
      uptimeS: () => 0,
      isGatewayUp: () => true,
      sensors: () => 1,
      newest: () => reading(),
      isStale: () => false,
      condition: () => ({ state: "online", lastReadingMs: NOW, batteryV: null }),
      machine: () => null,
    },
    "big",
  );
  const rpm = () => image.read(RPM, 3) ?? [];
  assert.equal(floatOf(rpm()), 1480.5);
  map.extend({ site: "plant", sensors: [{ ...SENSOR, kinds: ["dryContact"] }] });
  assert.ok(Number.isNaN(floatOf(rpm())));
  assert.equal(rpm()[2], (2 << 14) + 16_383);
  map.extend({ site: "plant", sensors: [SENSOR] });
  assert.equal(floatOf(rpm()), 1480.5);
});

test("register image – a machine has two blocks after the sensors of that start, by id; one that comes back has its own", () => {
  const onMachine = (machine: number, code: string) => ({
    ...SENSOR,
    code,
    location: { company: 1, area: 2, machine, point: 1 },
  });
  const both = { site: "plant", sensors: [onMachine(41, "8"), onMachine(40, "7")] };
  const map = new RegisterMap([], both, true);
  const known = {
    condition: 2,
    zone: "C",
    stage: null,
    running: true,
    open: 70_000,
    judgedMs: NOW - 90_000,
  };
  const image = new RegisterImage(
    map,
    {
      now: () => NOW,
      uptimeS: () => 0,
      isGatewayUp: () => true,
      sensors: () => 2,
      newest: () => null,
      isStale: () => false,
      condition: () => ({ state: "online", lastReadingMs: NOW, batteryV: null }),
      machine: (id) => (id === 40 ? known : null),
    },
    "big",
  );
  const first = map.end - 4 * 4;
  assert.deepEqual(image.read(first, 8), [2, 3, 0, 1, 65_534, 90, 0, 0]);
  assert.deepEqual(image.read(first + 8, 8), [0, 0, 0, 2, 0, 65_535, 0, 0], "not known yet");
  map.extend({ site: "plant", sensors: [onMachine(41, "8")] });
  assert.deepEqual(image.read(first, 8), [0, 0, 0, 2, 0, 65_535, 0, 0], "removed");
  const again = new RegisterMap(map.saved(), both, true);
  assert.deepEqual(again.saved(), map.saved());
  const without = new RegisterMap(map.saved(), both);
  assert.deepEqual(without.saved(), map.saved(), "the setting takes no address back");
  assert.equal(again.isCurrent(again.blocks.at(-1) ?? { machine: 0, half: 0 }), true);
  assert.equal(without.isCurrent(without.blocks.at(-1) ?? { machine: 0, half: 0 }), false);
});
