import assert from "node:assert/strict";
import { test } from "node:test";
import { loadSite } from "../../src/config/site.ts";
import { changedScales, type Scales, scalesOf } from "../../src/core/scaling.ts";
import type { Sensor } from "../../src/core/sensor.ts";

type Written = Readonly<Record<string, unknown>>;

const LOOP = { code: "3", type: 12, kinds: ["loop"] };
const CURRENT = { code: "2", type: 9, kinds: ["current", "accCurrent"] };
const RPM = { code: "7", type: 40, kinds: ["rpm"] };

function load(sensor: Written, more: Written = {}) {
  const site = { site: "plant-7", sensors: [sensor], ...more };
  const { faults, warnings } = loadSite(JSON.stringify(site), "", {});
  return {
    faults: faults.map(({ place }) => place.replace(/^: /, "")),
    warnings: warnings.map(({ place }) => place.replace(/^: /, "")),
  };
}

const loop = (channel: Written, more: Written = {}) =>
  load({ ...LOOP, channels: { channel1: { unit: "m3/h", low: 0, high: 100, ...channel } } }, more);
const clamp = (channel: Written) =>
  load({ ...CURRENT, channels: { current1: { clamp: 50, ...channel } } });
const SOUND = { faults: [], warnings: [] };
const at = (member: string) => `sensors[0].channels.channel1.${member}`;

test("a ratio is a number or a quotient between 0.001 and 10,000", () => {
  for (const ratio of [0.001, 10_000, 80, "400:5", "400/5", "1.5:0.5"])
    assert.deepEqual(clamp({ ratio }), SOUND, String(ratio));
  for (const ratio of [
    0,
    0.0009,
    10_001,
    "400",
    "400:0",
    "1:2000",
    "20000:1",
    "a:b",
    "4:5:6",
    null,
  ])
    assert.deepEqual(
      clamp({ ratio }),
      { faults: ["sensors[0].channels.current1.ratio"], warnings: [] },
      String(ratio),
    );
  assert.deepEqual(loop({ ratio: 2 }).faults, [at("ratio")], "only of currents");
});

test("a low-flow cutoff without a root is a fault, and a root without one a note", () => {
  assert.deepEqual(loop({ lowFlowCutoff: 0.05 }).faults, [at("lowFlowCutoff")]);
  assert.deepEqual(loop({ lowFlowCutoff: 0, extraction: "none" }), SOUND);
  const root = { extraction: "squareRoot" };
  assert.deepEqual(loop(root), { faults: [], warnings: [at("extraction")] });
  assert.deepEqual(loop({ ...root, lowFlowCutoff: 0.05 }), SOUND);
  assert.deepEqual(loop({ ...root, lowFlowCutoff: 0.31 }).faults, [at("lowFlowCutoff")]);
  assert.deepEqual(loop({ extraction: "root" }).faults, [at("extraction")]);
  // Beside acceleration, where the loop's half of a channel may be left out.
  const shared = {
    channel1: { axis: "H", lowFlowCutoff: 0.05 },
    channel2: { unit: "bar", low: 0, high: 1 },
  };
  const { faults } = load({ ...LOOP, kinds: ["accel", "loop"], channels: shared });
  assert.deepEqual(faults, ["unit", "low", "high", "lowFlowCutoff"].map(at), "not passed over");
});

test("of 0 to 20 mA, a broken wire is noted at the channel and at each low limit", () => {
  assert.deepEqual(loop({ signal: "0-20" }), { faults: [], warnings: [at("signal")] });
  assert.deepEqual(loop({ signal: "4-20" }), SOUND);
  const rule = { name: "flow", select: { sensors: ["3"], values: ["channel1"] }, low: 2 };
  const low = loop({ signal: "0-20" }, { alarms: [rule] });
  assert.deepEqual(low, { faults: [], warnings: [at("signal"), "alarms[0].low"] });
  const high = loop({ signal: "0-20" }, { alarms: [{ ...rule, low: undefined, high: 90 }] });
  assert.deepEqual(high.warnings, [at("signal")]);
});

test("pulses per revolution need a sensor of the kind rpm", () => {
  assert.deepEqual(load({ ...RPM, pulsesPerRevolution: 2 }), SOUND);
  for (const pulses of [0, 1.5, 1001])
    assert.equal(load({ ...RPM, pulsesPerRevolution: pulses }).faults.length, 1);
  const wrong = load({ ...LOOP, kinds: ["accel"], pulsesPerRevolution: 2 });
  assert.deepEqual(wrong.faults, ["sensors[0].pulsesPerRevolution"]);
});

test("each new member is a change of what is measured; one that says the default is none", () => {
  const scales = (kind: Sensor["kinds"][number], channels: Sensor["channels"], more = {}): Scales =>
    scalesOf({ code: "1", type: 1, kinds: [kind], channels, ...more });
  const changed = (before: Scales, after: Scales) => [
    ...new Set([...changedScales(before, after), ...changedScales(after, before)]),
  ];
  const channel = { unit: "m", low: 0, high: 100 };
  const plain = scales("loop", { channel1: channel });
  for (const other of [
    { signal: "0-20" },
    { extraction: "squareRoot" },
    { extraction: "squareRoot", lowFlowCutoff: 0.1 },
  ] as const)
    assert.deepEqual(changed(plain, scales("loop", { channel1: { ...channel, ...other } })), [
      "loop/channel1",
    ]);
  const same = { ...channel, signal: "4-20", extraction: "none", lowFlowCutoff: 0 } as const;
  assert.deepEqual(changed(plain, scales("loop", { channel1: same })), []);
  const amperes = scales("current", { current1: { clamp: 50 } });
  assert.deepEqual(changed(amperes, scales("current", { current1: { clamp: 50, ratio: 80 } })), [
    "current/current1",
    "accCurrent/accumulated_current1",
  ]);
  const written = (ratio: number | string) => scales("current", { current1: { clamp: 50, ratio } });
  assert.deepEqual(changed(written(80), written("400:5")), [], "one ratio in other words");
  assert.deepEqual(changed(amperes, written("5:5")), []);
  assert.deepEqual(changed({}, scales("rpm", {}, { pulsesPerRevolution: 2 })), ["rpm/rpm"]);
  assert.deepEqual(changed({}, scales("rpm", {}, { pulsesPerRevolution: 1 })), []);
});

test("a correction of the sensor's clock is noted, and changes all that is made of its records", () => {
  const accel = { code: "1", type: 3, kinds: ["accel"] };
  assert.deepEqual(load({ ...accel, sampleRateFactor: 1 }), SOUND);
  const noted = { faults: [], warnings: ["sensors[0].sampleRateFactor"] };
  assert.deepEqual(load({ ...accel, sampleRateFactor: 1.25 }), noted);
  for (const sampleRateFactor of [0.79, 1.26, "1"])
    assert.equal(load({ ...accel, sampleRateFactor }).faults.length, 1);
  const of = { code: "1", type: 3, kinds: ["accel"] as const, channels: {} };
  const changed = changedScales(scalesOf(of), scalesOf({ ...of, sampleRateFactor: 1.03 }));
  assert.ok(changed.has("accel/channel1") && changed.has("bands/channel3"));
});

test("shafts – a point on two, a name twice and no point are faults; no speed and a point without a sensor are noted", () => {
  const accel = (point: number) => ({
    code: `${point}`,
    type: 3,
    kinds: ["accel"],
    location: { company: 1, area: 1, machine: 40, point },
  });
  const check = (shafts: readonly Written[], more: Written = { speed: { sensor: "7" } }) => {
    const site = {
      site: "plant-7",
      sensors: [accel(1), accel(2), RPM],
      machines: [{ id: 40, ...more, shafts }],
    };
    const { faults, warnings } = loadSite(JSON.stringify(site), "", {});
    const places = (of: typeof faults) =>
      of.map(({ place }) => place.replace("machines[0].", "").replace(/^: /, ""));
    return { faults: places(faults), warnings: places(warnings) };
  };
  const fan = { name: "fan", speedRatio: 0.531, points: [1] };
  assert.deepEqual(check([fan, { ...fan, name: "pinion", points: [2], belt: true }]), SOUND);
  assert.deepEqual(check([fan, { ...fan, name: "b" }]).faults, ["shafts[1].points[0]"]);
  assert.deepEqual(check([fan, { ...fan, points: [2] }]).faults, ["shafts[1].name"]);
  assert.deepEqual(check([{ ...fan, points: [] }]).faults, ["shafts[0].points"]);
  assert.deepEqual(check([{ ...fan, points: [1, 9] }]).warnings, ["shafts[0].points[1]"]);
  assert.deepEqual(check([fan], {}).warnings, ["shafts"]);
  for (const wrong of [{ name: "a/b" }, { speedRatio: 0.009 }, { speedRatio: 101 }, { name: "" }])
    assert.equal(check([{ ...fan, ...wrong }]).faults.length, 1, JSON.stringify(wrong));
});
