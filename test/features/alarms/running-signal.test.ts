import assert from "node:assert/strict";
import { test } from "node:test";
import type { Machine } from "../../../src/core/machine.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import type { Site } from "../../../src/core/site.ts";
import { FollowingEngine } from "../../support/following-engine.ts";
import { Transactions } from "../../support/tx.ts";
import { ACCEL, Disk, EMPTY, type Fed, feed, MINUTE, reading, summaries, T0 } from "./support.ts";

const tx = new Transactions();
const FEEDER: Sensor = {
  code: "20871",
  type: 9,
  name: "Pump 4 feeder",
  kinds: ["current"],
  channels: { current1: { clamp: 100 } },
};
const PUMP: Machine = {
  id: 40,
  name: "Pump 4",
  running: { sensor: "20871", kind: "current", value: "current1", above: 10 },
};
const siteOf = (accel: Sensor = ACCEL): Site => ({
  site: "plant-7",
  sensors: [accel, FEEDER],
  machines: [PUMP],
});

const record = (minute: number, velocity: number, sensor = ACCEL): Fed => ({
  sensor,
  kind: "accel",
  reading: reading(sensor.code, T0 + minute * MINUTE, {
    channel1_vel_rms: 0.4,
    channel2_vel_rms: velocity,
    channel2_zone: velocity > 4.5 ? "D" : velocity > 2.8 ? "C" : "A",
  }),
});
const current = (minute: number, amperes: number): Fed => ({
  sensor: FEEDER,
  kind: "current",
  reading: reading(FEEDER.code, T0 + minute * MINUTE, { current1: amperes }),
});

/** A record every ten minutes of `velocities`, and the current five minutes before and after each. */
function story(velocities: readonly number[], amperes = (_minute: number) => 0.02, of = ACCEL) {
  const start = [current(-35, amperes(-35))];
  return [
    ...start,
    ...velocities.flatMap((velocity, i) => [
      current(10 * i - 5, amperes(10 * i - 5)),
      record(10 * i, velocity, of),
      current(10 * i + 1, amperes(10 * i + 1)),
    ]),
  ];
}

function engineOf(site = siteOf(), usual: number | null = null): FollowingEngine {
  const engine = new FollowingEngine(site, { usualLevel: () => usual });
  engine.load(EMPTY);
  return engine;
}
const told = (fed: readonly Fed[], engine = engineOf()) => summaries(feed(engine, fed));

test("running signal – a machine that shakes in zone D though it is reported as stopped is told at its third record", () => {
  const engine = engineOf();
  const events = feed(engine, story(Array.from({ length: 10 }, () => 9)));
  const [first, second] = events;
  assert.deepEqual(summaries(events).slice(0, 2), [
    "zone active warning +20",
    "zone active alarm +20",
  ]);
  assert.equal(events.length, 2);
  assert.deepEqual(
    [first?.value, first?.measured, first?.limit, first?.unit],
    ["running_signal", 9, 4.5, "mm/s"],
  );
  assert.equal(
    first?.text,
    "Warning: Pump 4 is reported as stopped (current1 of 'Pump 4 feeder' 0.02 A at 2026-11-20T08:15:00.000Z, running above 10), yet it vibrates at 9 mm/s.",
  );
  assert.equal(second?.value, "channel2_vel_rms", "the record that raised it counts for zones");
  assert.equal(engine.wait.stateOf(40, T0 + 19 * MINUTE), "standing");
  assert.equal(engine.wait.stateOf(40, T0 + 21 * MINUTE), null);
});

test("running signal – it ends after three records below 0.8 of its limit, or when the signal says running, at its time", () => {
  const ended = told(story([9, 9, 9, 3.5, 3.5, 9, 3.5, 3.5, 3.5, 9]));
  assert.deepEqual(
    ended.filter((_, i) => i === 0 || i === ended.length - 1),
    ["zone active warning +20", "zone cleared warning +80"],
  );
  const again = feed(
    engineOf(),
    story([9, 9, 9, 9], (minute) => (minute >= 25 ? 30 : 0.02)),
  );
  const over = again.find(({ state }) => state === "cleared");
  assert.deepEqual([over?.value, over?.timeMs], ["running_signal", T0 + 25 * MINUTE]);
  assert.equal(over?.text, "Cleared: Pump 4 is reported as running again.");
});

test("running signal – stops, coast-down and starts are none: the signal ran within the half hour, before or after", () => {
  assert.deepEqual(
    told([current(-25, 30), ...story([9, 9, 9, 9]).slice(1)]),
    ["zone active warning +30", "zone active alarm +30"],
    "ran 25 minutes before the first",
  );
  const start = story([9, 9, 9], (minute) => (minute > 20 ? 30 : 0.02));
  assert.deepEqual(
    told(start).filter((one) => one.includes("warning")),
    [],
  );
  assert.deepEqual(told(story([9, 9, 3, 9, 9])), [], "not in a row");
  assert.deepEqual(told(story([4.4, 4.4, 4.4, 4.4])), [], "not in zone D");
});

test("running signal – three records within five and a half minutes are too few", () => {
  const fast = [
    current(-1, 0),
    ...[0, 1, 2, 3, 4, 5].flatMap((m) => [record(m, 9), current(m + 0.5, 0)]),
  ];
  assert.deepEqual(told(fast), []);
  assert.equal(told([...fast, record(5.5, 9), current(6, 0)])[0], "zone active warning +5.5");
});

test("running signal – without a class it takes 2.8 mm/s and what the machine shows while it runs", () => {
  const { machineClass: _, ...plain } = ACCEL;
  const site = siteOf(plain);
  const shaking = (velocity: number) => story([velocity, velocity, velocity], undefined, plain);
  assert.deepEqual(told(shaking(9), engineOf(site, null)), [], "nothing known");
  assert.deepEqual(told(shaking(2.8), engineOf(site, 1)), []);
  assert.deepEqual(told(shaking(4), engineOf(site, 5)), []);
  const events = feed(engineOf(site, 5), shaking(4.1));
  assert.deepEqual(summaries(events), ["zone active warning +20"]);
  assert.equal(events[0]?.limit, 4);
});

test("running signal – it survives a restart, and a damaged record counts neither way", () => {
  const disk = new Disk();
  const fed = story([9, 9, 9, 9]);
  const damaged = fed.map((one, i) =>
    one.kind === "accel" && i === 5
      ? {
          ...one,
          reading: {
            ...one.reading,
            quality: {
              channel1_vel_rms: { quality: "uncertain", reason: "jump" } as const,
              channel2_vel_rms: { quality: "uncertain", reason: "jump" } as const,
              channel2_zone: { quality: "uncertain", reason: "jump" } as const,
            },
          },
        }
      : one,
  );
  const engine = engineOf();
  const before = feed(engine, damaged, disk);
  assert.equal(summaries(before)[0], "zone active warning +30");
  const restarted = new FollowingEngine(siteOf());
  restarted.load(disk.saved());
  assert.deepEqual([...restarted.alarms()].map(({ state }) => state.value).toSorted(), [
    "channel2_vel_rms",
    "running_signal",
  ]);
});

test("running signal – it ends when the sensor is moved, and in quiet records though its signal is no longer read", () => {
  const raised = story([9, 9, 9, 9]);
  const other: Machine = { ...PUMP, id: 41, name: "Pump 5" };
  const { location } = ACCEL;
  assert.ok(location);
  const ends: readonly (readonly [string, Site])[] = [
    [
      "moved to another machine",
      {
        ...siteOf({ ...ACCEL, location: { ...location, machine: 41 } }),
        machines: [PUMP, other],
      },
    ],
    ["its signal is disabled", { ...siteOf(), sensors: [ACCEL, { ...FEEDER, enabled: false }] }],
  ];
  for (const [what, site] of ends) {
    const engine = engineOf();
    feed(engine, raised);
    const stands = () => engine.active(ACCEL.code).some(({ value }) => value === "running_signal");
    assert.ok(stands(), what);
    engine.setSite(site);
    engine.reconcile(tx.now, T0 + 41 * MINUTE);
    tx.commit();
    feed(
      engine,
      [50, 60, 70, 80].map((minute) => record(minute, 0.5)),
    );
    assert.ok(!stands(), what);
  }
});
