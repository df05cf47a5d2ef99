import assert from "node:assert/strict";
import { test } from "node:test";
import type { Machine } from "../../../src/core/machine.ts";
import type { ChannelTones } from "../../../src/core/reading.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import type { Site } from "../../../src/core/site.ts";
import { FindingEngine } from "../../../src/features/diagnosis/rules/engine.ts";
import { analyseAxis } from "../../../src/pipeline/signal/analyse.ts";
import { DftPlans } from "../../../src/pipeline/signal/fft.ts";
import { RandomSequence } from "../../../src/simulator/random.ts";
import { FollowingEngine } from "../../support/following-engine.ts";
import { Transactions } from "../../support/tx.ts";
import { EMPTY } from "../alarms/support.ts";
import { engineOf, type Record, readingOf, SENSOR, siteOf } from "./support.ts";

const tx = new Transactions();
const plans = new DftPlans();
const CALIBRATION = 16 / 32_768;
const MOTOR_HZ = 1480 / 60;
const FAN_ORDER = 0.531;
/** Nothing is stated but the speed. */
const BARE: Machine = { id: 40, name: "Pump 4", speed: { sensor: "50021" } };

type Lines = readonly (readonly [order: number, mmS: number])[];

/** Three axes that show these velocities at multiples of the measured speed, mm/s RMS, the later ones weaker. */
function lined(lines: Lines, n = 1, rpm = 1480, samples = 16_384, factor = 1): Record {
  const sampleRateHz = 6400;
  const random = new RandomSequence(n);
  const values: globalThis.Record<string, number | null> = {};
  const tones = [1, 0.5, 0.2].map((gain, i): ChannelTones => {
    const parts = lines.map(([order, mmS]) => {
      const hz = (order * rpm) / 60;
      const counts = (gain * mmS * Math.SQRT2 * 2 * Math.PI * hz) / 9800 / CALIBRATION;
      return { counts, phase: 6 * random.next(), turn: (2 * Math.PI * hz) / sampleRateHz / factor };
    });
    const counts = Int16Array.from({ length: samples }, (_, at) =>
      Math.round(
        parts.reduce(
          (sum, part) => sum + part.counts * Math.sin(part.turn * at + part.phase),
          4 * random.noise(),
        ),
      ),
    );
    const options = { sampleRateHz, calibration: CALIBRATION, plans, tones: true };
    const analysis = analyseAxis(counts, options);
    values[`channel${i + 1}_vel_rms`] = analysis.velocityRms.value;
    values[`channel${i + 1}_env_rms`] = analysis.envelopeRms.value;
    return {
      channel: i + 1,
      axis: (["H", "V", "A"] as const)[i] ?? "A",
      durationS: samples / sampleRateHz,
      isClipped: false,
      tones: analysis.tones,
    };
  });
  return { tones, values, speedRpm: rpm };
}

/** A motor whose fan shakes behind a belt. */
const fan = (n: number, mmS = 6) =>
  lined(
    [
      [FAN_ORDER, mmS],
      [1, 0.7],
    ],
    n,
  );
const calm = (n: number) => lined([[1, 0.7]], n);

function entriesOf(engine: FindingEngine) {
  return (engine.of("10234").seen?.cannot ?? []).filter(
    ({ reason }) => reason === "unexplained_line",
  );
}

/** What one record shows, on axis H. */
function shown(machine: Machine, lines: Lines, samples?: number) {
  const { engine, follow } = engineOf(machine);
  follow(lined(lines, 1, 1480, samples), 1);
  return entriesOf(engine).find(({ axis }) => axis === "H") ?? null;
}

test("unexplained – the line of a fan behind a belt is told with frequency, order, level and axis, and the ratio that would fit", () => {
  const { engine, follow } = engineOf(BARE);
  follow(fan(1), 1);
  const [first, ...others] = entriesOf(engine);
  assert.ok(first);
  const { finding, bearing, reason, hz, order, level, axis, text } = first;
  assert.deepEqual([finding, bearing, reason, axis], [null, null, "unexplained_line", "H"]);
  assert.ok(Math.abs((hz ?? 0) - FAN_ORDER * MOTOR_HZ) < 0.02, String(hz));
  assert.ok(Math.abs((order ?? 0) - FAN_ORDER) < 0.001, String(order));
  assert.ok(Math.abs((level ?? 0) - 6) < 0.1, String(level));
  assert.match(
    text,
    /^A line at 13\.1 Hz \(0\.531x, axis H\) makes most of the velocity, 5\.9\d mm\/s RMS/,
  );
  assert.match(text, /`speedRatio` 0\.531\d? would fit/);
  // Axis V has half of it, which is above the limit too.
  assert.deepEqual(
    others.map((one) => one.axis),
    ["V"],
  );
  follow(calm(2), 2);
  assert.deepEqual(entriesOf(engine), []);
});

test("unexplained – what site file, mains and half orders explain is told nowhere", () => {
  const bearing = { point: 1, name: "6205", bpfo: 3.58, bpfi: 5.42, bsf: 2.36, ftf: 0.4 };
  const far = { name: "pump", speedRatio: 0.37, points: [9], blades: 7 };
  const belt = { name: "fan", speedRatio: 0.531, points: [9], belt: true };
  const cases: readonly (readonly [what: string, machine: Partial<Machine>, Lines, boolean])[] = [
    ["3x", {}, [[3, 6]], true],
    ["10x", {}, [[9.99, 6]], true],
    ["3.1x", {}, [[3.1, 6]], false],
    ["another shaft's 2x", { shafts: [far] }, [[0.74, 6]], true],
    ["its blades' second", { shafts: [far] }, [[5.18, 6]], true],
    ["a side band of them", { shafts: [far] }, [[5.55, 6]], true],
    ["a belt's within 2 %", { shafts: [belt] }, [[0.54, 6]], true],
    ["beyond", { shafts: [belt] }, [[0.56, 6]], false],
    ["without belt", { shafts: [{ ...belt, belt: false }] }, [[0.575, 6]], false],
    [
      "the supply above 2x",
      {},
      [
        [2.06, 6],
        [1, 1],
      ],
      true,
    ],
    ["the supply above 4x", {}, [[4.15, 6]], true],
    ["not above 3x", {}, [[3.1, 6]], false],
    [
      "half orders",
      {},
      [
        [0.5, 6],
        [1.5, 0.9],
        [2.5, 0.8],
      ],
      true,
    ],
    [
      "one of them missing",
      {},
      [
        [0.5, 6],
        [1.5, 0.9],
      ],
      false,
    ],
    [
      "one of them weak",
      {},
      [
        [0.5, 6],
        [1.5, 0.9],
        [2.5, 0.3],
      ],
      false,
    ],
    ["60 Hz, not stated", {}, [[60 / MOTOR_HZ, 6]], true],
    ["60 Hz beside 50", { lineHz: 50 }, [[60 / MOTOR_HZ, 6]], false],
    ["150 Hz of 50", { lineHz: 50 }, [[150 / MOTOR_HZ, 6]], true],
    ["a bearing's outer race", { bearings: [bearing] }, [[3.55, 6]], true],
    ["its inner race's side band", { bearings: [bearing] }, [[4.42, 6]], true],
    ["no bearing", {}, [[3.55, 6]], false],
    [
      "above the range",
      {},
      [
        [11.5, 9],
        [1, 0.5],
      ],
      true,
    ],
    [
      "not half of the power",
      {},
      [
        [0.7, 4],
        [1, 3.2],
        [3, 3.2],
      ],
      true,
    ],
  ];
  for (const [what, machine, lines, isExplained] of cases)
    assert.equal(shown({ ...BARE, ...machine }, lines) === null, isExplained, what);
});

test("unexplained – the limit is B/C of the class or the limits, without either 2.8", () => {
  const levels = (over: Partial<typeof SENSOR>) => {
    const { machineClass: _class, ...bare } = SENSOR;
    const site: Site = {
      ...siteOf(BARE),
      sensors: [{ ...bare, ...over }, ...siteOf().sensors.slice(1)],
    };
    return [2.6, 2.9, 4.4, 4.7].filter((mmS) => {
      const { engine, follow } = engineOf(BARE, site);
      follow(fan(1, mmS), 1);
      return entriesOf(engine).length > 0;
    });
  };
  assert.deepEqual(levels({}), [2.9, 4.4, 4.7]);
  assert.deepEqual(levels({ machineClass: "group1-rigid" }), [4.7]);
  assert.deepEqual(levels({ limits: [1, 2, 3] }), [2.6, 2.9, 4.4, 4.7]);
});

test("unexplained – without a known speed or state, at a changing or doubtful one, and below eight revolutions, nothing is told", () => {
  const told = (over: Partial<ReturnType<typeof engineOf>["world"]>, record = fan(1)) => {
    const { engine, follow, world } = engineOf({
      ...BARE,
      running: { sensor: "50021", kind: "rpm", value: "rpm", above: 300 },
    });
    Object.assign(world, { state: "running", ...over });
    follow(record, 1);
    return entriesOf(engine).length;
  };
  assert.ok(told({}) > 0);
  assert.ok(told({ nextRpm: 1490 }) > 0);
  assert.equal(told({ nextRpm: 1500 }), 0);
  assert.equal(told({ speedRpm: null }), 0);
  assert.equal(told({ state: null }), 0);
  assert.equal(told({ state: "standing" }), 0);
  // 0.32 s are 7.9 turns.
  assert.equal(told({}, lined([[3.1, 6]], 1, 1480, 2048)), 0);
  // A line at 1.03x, and none at 1x.
  const beside = lined(
    [
      [0.6, 6],
      [1.03, 2],
    ],
    1,
  );
  assert.equal(told({}, beside), 0);
});

test("unexplained – five readings in a row are a warning of stage 1 that 0.8 of the limit keeps, and five without end it", () => {
  const { engine, follow } = engineOf(BARE);
  for (let hour = 1; hour <= 4; hour++) assert.deepEqual(follow(fan(hour), hour).events, []);
  const [event, ...more] = follow(fan(5), 5).events;
  assert.deepEqual(more, []);
  assert.deepEqual(
    [event?.alarm, event?.value, event?.severity, event?.state, event?.limit, event?.unit],
    ["finding", "unexplained", "warning", "active", 2.8, "mm/s"],
  );
  assert.ok(Math.abs((event?.measured ?? 0) - 6) < 0.1);
  assert.equal(event?.sinceMs, 3_600_000);
  assert.match(
    event?.text ?? "",
    /^Unexplained line on Pump 4, sensor 10234: 13\.1 Hz \(0\.531x, axis H\), .* in 5 readings in a row\. Another shaft or a belt may turn there/,
  );
  assert.doesNotMatch(event?.text ?? "", /unbalance|healthy|no fault/i);
  assert.equal(engine.standingAs("10234", "unexplained")?.stage, 1);
  assert.deepEqual(engine.stages(), []);
  for (let hour = 6; hour <= 13; hour++) assert.deepEqual(follow(fan(hour, 2.4), hour).events, []);
  assert.equal(entriesOf(engine).length, 1, "what keeps it is told");
  assert.match(engine.standingAs("10234", "unexplained")?.event.text ?? "", /2\.\d\d mm\/s RMS/);
  for (let hour = 14; hour <= 17; hour++) assert.deepEqual(follow(fan(hour, 2.1), hour).events, []);
  const [end] = follow(calm(18), 18).events;
  assert.deepEqual([end?.value, end?.state, end?.measured], ["unexplained", "cleared", null]);
  assert.match(
    end?.text ?? "",
    /No longer seen: the unexplained line at 13\.1 Hz on Pump 4, sensor 10234/,
  );
  assert.equal(engine.standingAs("10234", "unexplained"), null);
});

test("unexplained – five of eight judged readings raise it; other lines and unjudged readings do not count", () => {
  const { follow, world } = engineOf(BARE);
  const story = [1, 1, 0, 1, 0, 1, 0, 1];
  const events = story.map((isShown, i) => follow(isShown ? fan(i) : calm(i), i + 1).events.length);
  assert.deepEqual(events, [0, 0, 0, 0, 0, 0, 0, 1]);
  const other = engineOf(BARE);
  for (let hour = 1; hour <= 12; hour++) {
    const order = [0.531, 0.7, 3.3][hour % 3] ?? 1;
    assert.deepEqual(other.follow(lined([[order, 6]], hour), hour).events, []);
  }
  const paused = engineOf(BARE);
  for (let hour = 1; hour <= 8; hour++) {
    paused.world.nextRpm = hour % 2 === 0 ? 1600 : null;
    assert.deepEqual(paused.follow(fan(hour), hour).events, []);
  }
  paused.world.nextRpm = null;
  assert.equal(paused.follow(fan(9), 9).events.length, 1);
  assert.equal(world.speedRpm, 1480);
});

test("unexplained – a line is the same in Hz or in order", () => {
  const events = (hzOf: (rpm: number) => number) => {
    const { follow, world } = engineOf(BARE);
    return [1480, 1400, 1320, 1250, 1180].flatMap((rpm, i) => {
      world.speedRpm = rpm;
      return follow(lined([[(60 * hzOf(rpm)) / rpm, 6]], i, rpm), i + 1).events;
    });
  };
  assert.equal(events(() => 17.3).length, 1);
  assert.equal(events((rpm) => (0.62 * rpm) / 60).length, 1);
  assert.equal(events((rpm) => 0.9 * rpm - 1040).length, 0);
});

test("unexplained – without a class or limits it is told, but no alarm", () => {
  const { machineClass: _class, ...bare } = SENSOR;
  const site: Site = { ...siteOf(BARE), sensors: [bare, ...siteOf().sensors.slice(1)] };
  const { engine, follow } = engineOf(BARE, site);
  for (let hour = 1; hour <= 8; hour++) assert.deepEqual(follow(fan(hour), hour).events, []);
  assert.ok(entriesOf(engine).length > 0);
});

test("unexplained – at half of the speed the pulses per revolution are offered, by what they are set to", () => {
  const at = (order: number, pulsesPerRevolution?: number) => {
    const [accel, speed] = siteOf().sensors;
    assert.ok(accel && speed);
    const counted = pulsesPerRevolution === undefined ? speed : { ...speed, pulsesPerRevolution };
    const site: Site = { ...siteOf(BARE), sensors: [accel, counted] };
    const { engine, follow } = engineOf(BARE, site);
    follow(lined([[order, 6]]), 1);
    return entriesOf(engine)[0]?.text ?? "";
  };
  assert.match(at(0.5), /`pulsesPerRevolution` 2 would fit/);
  assert.match(at(0.508, 3), /`pulsesPerRevolution` 6 would fit/);
  assert.match(at(0.513), /`speedRatio` 0\.513 would fit/);
});

test("unexplained – a ratio that stays with its double at speeds 5 % apart offers the factor of the sensor's clock", () => {
  const run = (rpms: readonly number[], hasDouble = true, factor = 1.031) => {
    const { engine, follow, world } = engineOf(BARE);
    const texts = rpms.map((rpm, i) => {
      world.speedRpm = rpm;
      const lines: Lines = hasDouble
        ? [
            [1, 6],
            [2, 2],
          ]
        : [[1, 6]];
      // The record says 6,400 samples a second where there were more: its lines stand too low.
      follow(lined(lines, i, rpm, 16_384, factor), i + 1);
      return entriesOf(engine)[0]?.text ?? "";
    });
    return texts.at(-1) ?? "";
  };
  const speeds = [1480, 1400, 1480, 1400, 1480];
  assert.match(run(speeds), /`sampleRateFactor` 1\.03\d? would fit\), or another shaft/);
  assert.match(run(speeds, true, 1.12), /`sampleRateFactor` 1\.12 would fit/);
  assert.doesNotMatch(run(speeds, false, 1.12), /sampleRateFactor/);
  assert.doesNotMatch(run([1480, 1470, 1480, 1460, 1480], true, 1.12), /sampleRateFactor/);
  assert.doesNotMatch(run(speeds.slice(1), true, 1.12), /sampleRateFactor/);
  assert.equal(run([1480, 1470, 1480, 1460, 1480]), "", "the speed is in doubt");
});

test("unexplained – on a shaft of the site file orders are that shaft's, and the ratio that of the measured one", () => {
  const machine = { ...BARE, shafts: [{ name: "fan", speedRatio: 0.5, points: [1] }] };
  const { engine, follow } = engineOf(machine);
  follow(lined([[0.85, 6]]), 1);
  const [entry] = entriesOf(engine);
  assert.ok(Math.abs((entry?.order ?? 0) - 1.7) < 0.002);
  assert.match(entry?.text ?? "", /\(1\.70x of the fan, axis H\).*`speedRatio` 0\.85 would fit/);
});

test("unexplained – a standing alarm outlasts a restart, goes to the sensor that replaces its own, and ends where it is not possible", () => {
  const { engine, follow, options } = engineOf(BARE);
  for (let hour = 1; hour <= 5; hour++) follow(fan(hour), hour);
  const saved = engine.saved().map(({ sensor, text }) => ({ sensor, text: text ?? "" }));
  const again = new FindingEngine(siteOf(BARE), options);
  for (const state of saved) again.restore(state);
  assert.ok(again.standingAs("10234", "unexplained"));
  const replacing = { ...SENSOR, code: "10299", replaces: ["10234"] };
  const [, speed] = siteOf().sensors;
  assert.ok(speed);
  const old = { ...SENSOR, enabled: false };
  const moved = new FindingEngine({ ...siteOf(BARE), sensors: [replacing, old, speed] }, options);
  for (const state of saved) moved.restore(state);
  moved.reconcile(tx.now, () => true);
  tx.commit();
  assert.ok(moved.standingAs("10299", "unexplained"));
  const { machineClass: _class, ...bare } = SENSOR;
  again.setSite({ ...siteOf(BARE), sensors: [bare, speed] });
  again.reconcile(tx.now, () => false);
  tx.commit();
  assert.equal(again.standingAs("10234", "unexplained"), null);
});

test("unexplained – no sensor takes over what its place cannot have, and of a place without a sensor nothing stands", () => {
  const { engine, follow, options } = engineOf(BARE);
  for (let hour = 1; hour <= 5; hour++) follow(fan(hour), hour);
  const saved = engine.saved().map(({ sensor, text }) => ({ sensor, text: text ?? "" }));
  const [, speed] = siteOf().sensors;
  assert.ok(speed);
  const next: Sensor = { ...SENSOR, code: "10299", replaces: ["10234"] };
  const { machineClass: _class, ...bare } = next;
  const after = (first: Sensor, ...later: readonly Sensor[]) => {
    const findings = new FindingEngine({ ...siteOf(BARE), sensors: [first, speed] }, options);
    for (const state of saved) findings.restore(state);
    for (const sensor of [first, ...later]) {
      findings.setSite({ ...siteOf(BARE), sensors: [sensor, speed] });
      findings.reconcile(tx.now, (code) => code === "10299" && sensor === (later.at(-1) ?? first));
      tx.commit();
    }
    return findings.of("10299").unexplained?.stands ?? findings.of("10234").unexplained?.stands;
  };
  assert.ok(after(next));
  assert.equal(after(bare), undefined, "without a class");
  const { location: _place, ...loose } = next;
  for (const [what, sensor] of [
    ["disabled", { ...next, enabled: false }],
    ["of no machine", loose],
  ] as const)
    assert.equal(after(sensor, next), undefined, what);
});

test("unexplained – a zone alarm of the axis says it, as long as the line stands; its event keeps its words", () => {
  const findings = new FindingEngine(siteOf(BARE), engineOf(BARE).options);
  const alarms = new FollowingEngine({ ...siteOf(BARE), zoneReadings: 1 }, { findings });
  alarms.load(EMPTY);
  const follow = (record: Record, hour: number) => {
    const reading = readingOf(record, hour);
    const values = {
      ...reading.values,
      channel1_zone: "D",
      channel2_zone: "A",
      channel3_zone: "D",
    };
    const up = alarms.follow(tx.now, "10234", "accel", [{ ...reading, values }], null);
    tx.commit();
    return up.events;
  };
  const events = [1, 2, 3, 4, 5].flatMap((hour) => follow(fan(hour), hour));
  const hints = () => new Map([...alarms.alarms()].map((found) => [found.key, alarms.hint(found)]));
  assert.match(
    hints().get("zone/channel1_vel_rms") ?? "",
    /^Most of it is a line at 13\.1 Hz \(0\.531x, axis H\) that nothing in the site file explains\. Another shaft/,
  );
  assert.equal(hints().get("zone/channel3_vel_rms"), null, "below the limit there");
  assert.equal(hints().get("finding/unexplained"), null);
  for (const { alarm, text } of events) if (alarm === "zone") assert.doesNotMatch(text, /explains/);
  follow(calm(6), 6);
  assert.equal(hints().get("zone/channel1_vel_rms"), null);
});

test("unexplained – no change of the site file lets its alarm stand after the findings have forgotten the line", () => {
  const changes: readonly (readonly [string, Partial<Sensor>])[] = [
    ["a channel less", { channels: { channel1: { axis: "H" }, channel2: { axis: "V" } } }],
    ["another axis", { channels: { channel1: { axis: "V" }, channel2: { axis: "H" } } }],
    ["another clock", { sampleRateFactor: 1.01 }],
  ];
  for (const [change, members] of changes) {
    const findings = new FindingEngine(siteOf(BARE), engineOf(BARE).options);
    const alarms = new FollowingEngine(siteOf(BARE), { findings });
    alarms.load(EMPTY);
    const follow = (record: Record, hour: number) => {
      alarms.follow(tx.now, "10234", "accel", [readingOf(record, hour)], null);
      tx.commit();
    };
    for (let hour = 1; hour <= 5; hour++) follow(fan(hour), hour);
    const stands = () => alarms.active("10234").some(({ value }) => value === "unexplained");
    assert.ok(stands(), change);
    const [, speed] = siteOf().sensors;
    assert.ok(speed);
    alarms.setSite({ ...siteOf(BARE), sensors: [{ ...SENSOR, ...members }, speed] });
    alarms.reconcile(tx.now, 0);
    tx.commit();
    for (let hour = 6; hour <= 10; hour++) follow(calm(hour), hour);
    assert.ok(!stands(), change);
  }
});
