import assert from "node:assert/strict";
import { test } from "node:test";
import type { AlarmRule } from "../../../src/core/alarm/rule.ts";
import type { Band } from "../../../src/core/bands/band.ts";
import { changeLines, changesOf } from "../../../src/core/configuration/configuration.ts";
import { siteDifference } from "../../../src/core/configuration/site-difference.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import type { Site } from "../../../src/core/site.ts";
import { FollowingEngine } from "../../support/following-engine.ts";
import { Transactions } from "../../support/tx.ts";
import {
  ACCEL,
  Disk,
  engineOf,
  type Fed,
  feed,
  LOOP,
  MINUTE,
  PRESSURE,
  pressures,
  reading,
  siteWith,
  T0,
} from "./support.ts";

const tx = new Transactions();

const CHANGE: AlarmRule = {
  name: "pressure-change",
  select: { sensors: ["30007"], values: ["channel1"] },
  baseline: { readings: 20, deviations: 4 },
};
const BAR = siteWith([PRESSURE, CHANGE]);
/** The same site, with channel1 of the loop corrected. */
const corrected = (channel: object): Site => ({
  ...BAR,
  sensors: BAR.sensors.map((sensor) =>
    sensor.code === LOOP.code ? { ...LOOP, channels: { channel1: channel } } : sensor,
  ),
});
const KPA = corrected({ name: "Suction pressure", unit: "kPa", low: 0, high: 1000 });
const learning = Array.from({ length: 20 }, (_, i) => 5 + (i % 3) * 0.02);
const KEY = "pressure-change/channel1@any";

test("unit corrected – the baseline begins anew, and alarms with learned and fixed limits end with that reason", () => {
  const disk = new Disk();
  const engine = engineOf(BAR);
  feed(engine, pressures([...learning, 9.5, 9.5, 9.5]), disk);
  assert.deepEqual(
    engine.active("30007").map(({ alarm }) => alarm),
    ["pressure", "pressure-change"],
  );
  engine.setSite(KPA);
  const up = engine.reconcile(tx.now, T0 + 60 * MINUTE);
  disk.write(up);
  tx.commit();
  assert.deepEqual(
    up.events.map(({ alarm, state, reason }) => [alarm, state, reason]),
    [
      ["pressure", "cleared", "configuration_changed"],
      ["pressure-change", "cleared", "configuration_changed"],
    ],
  );
  assert.deepEqual(engine.active("30007"), []);
  assert.equal(engine.baselines("30007").get(KEY)?.first, null);
  // The same numbers as before the correction raise nothing: the normal state is 500 kPa now.
  const after = feed(engine, pressures([500, 501, 502], T0 + 61 * MINUTE), disk);
  assert.deepEqual(
    after.map(({ alarm, state }) => [alarm, state]),
    [["pressure", "active"]],
    "the rule keeps its number",
  );
  assert.equal(engine.baselines("30007").get(KEY)?.count, 3);
});

test("unit corrected – while the agent was stopped, also while a baseline was being learned", () => {
  const disk = new Disk();
  feed(engineOf(BAR), pressures(learning.slice(0, 12)), disk);
  const again = new FollowingEngine(KPA);
  again.load(disk.saved());
  disk.write(again.reconcile(tx.now, T0 + 60 * MINUTE));
  tx.commit();
  feed(again, pressures([5], T0 + 61 * MINUTE), disk);
  assert.equal(again.baselines("30007").get(KEY)?.count, 1);
  // And a restart afterwards does not bring the earlier samples back.
  const third = new FollowingEngine(KPA);
  third.load(disk.saved());
  assert.equal(third.baselines("30007").get(KEY)?.count, 1);
});

test("unit corrected – the first reading in the new unit is judged by nothing that came before it", () => {
  const engine = engineOf(BAR);
  feed(engine, pressures([...learning, 5]));
  engine.setSite(KPA);
  const events = feed(
    engine,
    pressures(
      [5, 5, 5].map((bar) => bar * 100),
      T0 + 30 * MINUTE,
    ),
  );
  assert.deepEqual(
    events.filter(({ alarm }) => alarm === "pressure-change"),
    [],
  );
});

test("unit corrected – a new name, a rule or another channel changes neither baselines nor alarms", () => {
  const engine = engineOf(BAR);
  feed(engine, pressures([...learning, 9.5, 9.5, 9.5]));
  const renamed = corrected({ name: "Intake", unit: "bar", low: 0, high: 10 });
  const [sensor] = renamed.sensors.filter(({ code }) => code === LOOP.code);
  engine.setSite({
    ...renamed,
    sensors: [
      {
        ...LOOP,
        channels: { ...sensor?.channels, channel2: { unit: "degC", low: 0, high: 100 } },
      },
    ],
  });
  assert.deepEqual(engine.reconcile(tx.now, T0 + 60 * MINUTE).events, []);
  tx.commit();
  assert.equal(engine.active("30007").length, 2);
});

test("unit corrected – the difference says so before: what ends, and the numbers that rules keep", () => {
  const none = { added: [], removed: [], changed: [] };
  const lines = changeLines(changesOf(siteDifference(BAR, KPA), none));
  assert.deepEqual(lines.slice(1), [
    "sensor 30007, channel1: 0 to 10 bar becomes 0 to 1000 kPa; baselines begin anew, alarms on its values end (configuration_changed), and trends begin another series",
    "sensor 30007, channel1: rules keep their numbers: pressure on channel1: highHigh 9, high 8, low 2, lowLow 1, hysteresis 0.3 (kPa)",
  ]);
  const clamp = (rating: 50 | 100): Site => ({
    site: "plant-7",
    sensors: [
      { code: "20871", type: 9, kinds: ["currentV2"], channels: { current1: { clamp: rating } } },
    ],
  });
  const [, line] = changeLines(changesOf(siteDifference(clamp(50), clamp(100)), none));
  assert.match(line ?? "", /a clamp of 50 A becomes a clamp of 100 A; .* as they were$/);
});

test("wiring corrected – the difference names every rule and running limit that looks at the value, with its number", () => {
  const none = { added: [], removed: [], changed: [] };
  const feeder: Sensor = {
    code: "20871",
    type: 9,
    kinds: ["current", "rpm"],
    channels: { current1: { clamp: 50 }, current2: { clamp: 50 } },
  };
  const accel: Sensor = { ...ACCEL, shaft: { name: "fan", speedRatio: 0.5, points: [1] } };
  const before: Site = {
    site: "plant-7",
    sensors: [feeder, accel],
    machines: [
      {
        id: 40,
        name: "Pump 4",
        running: { sensor: "20871", kind: "current", value: "current1", above: 10 },
        speed: { sensor: "20871" },
      },
      { id: 41, running: { sensor: "20871", kind: "rpm", value: "rpm", below: 2000 } },
      { id: 42, running: { sensor: "20871", kind: "current", value: "current2", above: 3 } },
    ],
    alarms: [
      { name: "load", select: { sensors: ["20871"], values: ["current1"] }, high: 40 },
      { name: "speed", select: { sensors: ["20871"], values: ["rpm"] }, high: 3000 },
    ],
  };
  const lines = (after: Partial<Sensor>) => {
    const sensors = [{ ...feeder, ...after }, accel];
    return changeLines(changesOf(siteDifference(before, { ...before, sensors }), none)).slice(1);
  };
  assert.deepEqual(
    lines({ channels: { current1: { clamp: 50, ratio: 80 }, current2: { clamp: 50 } } }).filter(
      (line) => line.includes("keep"),
    ),
    [
      "sensor 20871, current1: rules keep their numbers: load on current1: high 40 (A); running of Pump 4 on current1: above 10",
    ],
  );
  const [first, second] = lines({ pulsesPerRevolution: 2 });
  assert.match(first ?? "", /; Pump 4: the normal state for findings is learned anew$/);
  assert.equal(
    second,
    "sensor 20871, rpm: rules keep their numbers: speed on rpm: high 3000 (rpm); running of machine 41 on rpm: below 2000",
  );
});

const VIBRATION: AlarmRule = {
  name: "vibration",
  select: { sensors: [ACCEL.code], values: ["channel1_vel_rms"] },
  baseline: { readings: 20, deviations: 4 },
};
const VIBRATION_KEY = "vibration/channel1_vel_rms@any#6400/4096";
const record = (at: number, velocity: number): Fed => ({
  sensor: ACCEL,
  kind: "accel",
  reading: {
    ...reading(ACCEL.code, T0 + at * MINUTE, { channel1_vel_rms: velocity, channel1_zone: "A" }),
    record: { zone: null, shape: "6400/4096" },
  },
});
const STEADY = Array.from({ length: 20 }, (_, i) => record(i, 1 + (i % 3) * 0.01));
const PLANT = siteWith([VIBRATION]);
const withAccel = (changed: Partial<Sensor>): Site => ({
  ...PLANT,
  sensors: PLANT.sensors.map((one) => (one.code === ACCEL.code ? { ...ACCEL, ...changed } : one)),
});
const OTHER_PLACE = { company: 1, area: 2, machine: 41, point: 1 };

for (const [what, changed, isOther] of [
  ["moved to another machine", { location: OTHER_PLACE }, true],
  ["turned to another axis", { channels: { channel1: { axis: "V" } } }, true],
  ["measured from 2 Hz on", { speedRpm: 500 }, true],
  ["given its nominal speed", { speedRpm: 1480 }, false],
  ["given the axis that it has", { channels: { channel1: { axis: "H" } } }, false],
] as const) {
  test(`a learned level of a sensor that is ${what} ${isOther ? "begins anew, and its alarm ends" : "goes on"}`, () => {
    const engine = engineOf(PLANT);
    feed(engine, [...STEADY, record(30, 2), record(31, 2), record(32, 2)]);
    assert.equal(engine.active(ACCEL.code).length, 1);
    engine.setSite(withAccel(changed));
    const { events } = engine.reconcile(tx.now, T0 + 40 * MINUTE);
    tx.commit();
    assert.deepEqual(
      events.map(({ state, reason }) => [state, reason]),
      isOther ? [["cleared", "configuration_changed"]] : [],
    );
    const first = engine.baselines(ACCEL.code).get(VIBRATION_KEY)?.first ?? null;
    assert.equal(first === null, isOther);
  });
}

test("what another definition of a band means is told in words, not as it is kept", () => {
  const none = { added: [], removed: [], changed: [] };
  const withBands = (...bands: Band[]) => withAccel({ bands: { bands, hasSpeed: true } });
  const hf = { name: "band_hf", unit: "Hz", of: "accel" } as const;
  const before = withBands({ ...hf, from: 900, to: 1100 }, { name: "bpfi", bearing: 4.8 });
  const after = withBands(
    { ...hf, from: 500, to: 2000 },
    { name: "bpfi", bearing: 5.3999999999999995 },
  );
  const text = changeLines(changesOf(siteDifference(before, after), none)).join("\n");
  assert.match(
    text,
    /band_hf: 900 to 1100 Hz, of acceleration becomes 500 to 2000 Hz, of acceleration; baselines/,
  );
  assert.match(
    text,
    /bpfi: 4\.8 × the shaft's speed \(bearing\) becomes 5\.4 × the shaft's speed \(bearing\); baselines/,
  );
});

test("what a moved sensor means is told before it is applied", () => {
  const none = { added: [], removed: [], changed: [] };
  const lines = (after: Site) => changeLines(changesOf(siteDifference(PLANT, after), none));
  assert.match(
    lines(withAccel({ location: OTHER_PLACE })).join("\n"),
    /machine 40, point 1 becomes machine 41, point 1; baselines begin anew, .*; its findings end, their normal state is learned anew$/m,
  );
});
