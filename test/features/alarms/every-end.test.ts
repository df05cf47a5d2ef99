/** Every alarm has an end, and one that flaps is one: whatever a value, its sensor or its machine does. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AlarmEvent } from "../../../src/core/alarm/event.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import type { Site } from "../../../src/core/site.ts";
import { Transactions } from "../../support/tx.ts";
import {
  ACCEL,
  EMPTY,
  engineOf,
  type Fed,
  feed,
  LOOP,
  MINUTE,
  PRESSURE,
  PUMP,
  pressures,
  RPM,
  reading,
  siteWith,
  T0,
} from "./support.ts";

const tx = new Transactions();
const words = (events: readonly AlarmEvent[]) =>
  events.map(({ alarm, state, severity }) => `${alarm} ${state === "active" ? severity : state}`);

test("alarms – a bad value ends with its channel, not with a reading that will never come", () => {
  const both: Sensor = {
    ...LOOP,
    channels: { ...LOOP.channels, channel2: { unit: "bar", low: 0, high: 1 } },
  };
  const site: Site = { ...siteWith([]), sensors: [both] };
  const engine = engineOf(site);
  const broken = { channel2: { quality: "bad", reason: "wire_break" } } as const;
  const fed = [0, 1, 2].map(
    (i): Fed => ({
      sensor: both,
      kind: "loop",
      reading: reading(LOOP.code, T0 + i * MINUTE, { channel1: 5, channel2: null }, broken),
    }),
  );
  assert.deepEqual(words(feed(engine, fed)), ["bad_quality warning"]);
  engine.setSite({ ...site, sensors: [LOOP] });
  const { events } = engine.reconcile(tx.now, T0 + 3 * MINUTE);
  tx.commit();
  assert.deepEqual(words(events), ["bad_quality cleared"]);
  assert.deepEqual(engine.active(LOOP.code), []);
});

test("alarms – a sensor replaced by one of which nothing is watched ends the old one's alarm with its first reading", () => {
  const engine = engineOf({ ...siteWith([]), sensors: [ACCEL] });
  const record = (sensor: Sensor, at: number, velocity: number, zone?: string): Fed => ({
    sensor,
    kind: "accel",
    reading: reading(sensor.code, T0 + at * MINUTE, {
      channel1_vel_rms: velocity,
      ...(zone === undefined ? {} : { channel1_zone: zone }),
    }),
  });
  feed(engine, [record(ACCEL, 0, 5, "D")]);
  assert.equal(engine.active(ACCEL.code).length, 1);
  const { machineClass: _none, ...rest } = ACCEL;
  const next: Sensor = { ...rest, code: "99999", replaces: [ACCEL.code] };
  engine.setSite({ ...siteWith([]), sensors: [next] });
  engine.reconcile(tx.now, T0 + MINUTE);
  tx.commit();
  feed(engine, [record(next, 1, 0.5)]);
  assert.deepEqual(engine.active(ACCEL.code), []);
});

test("alarms – what waits at a replaced code ends where the sensor in its place is disabled: no reading takes it over", () => {
  const engine = engineOf(siteWith([PRESSURE]));
  feed(engine, pressures([8.5, 8.5]));
  const next: Sensor = { ...LOOP, code: "30008", replaces: [LOOP.code] };
  const reload = (sensor: Sensor) => {
    engine.setSite({ ...siteWith([PRESSURE]), sensors: [sensor] });
    const { events } = engine.reconcile(tx.now, T0 + 3 * MINUTE);
    tx.commit();
    return words(events);
  };
  assert.deepEqual(reload(next), []);
  assert.deepEqual(reload({ ...next, enabled: false }), ["pressure cleared"]);
  assert.deepEqual(engine.active(LOOP.code), []);
});

const SLOW: Sensor = { ...ACCEL, checkDisplacement: true, speedRpm: 500 };

/** A record of a slow machine: velocity RMS, mm/s, and displacement RMS, um. */
function slow(at: number, velocity: number, um: number): Fed {
  const zone = um > 71 || velocity > 4.5 ? "D" : um > 45 || velocity > 2.8 ? "C" : "A";
  const values = {
    channel1_vel_rms: velocity,
    channel1_disp_pp: um * 2 * Math.SQRT2,
    channel1_zone: zone,
  };
  return { sensor: SLOW, kind: "accel", reading: reading(SLOW.code, T0 + at * MINUTE, values) };
}

test("alarms – a zone by the displacement holds by a tenth of its own limit, and is told in um", () => {
  const engine = engineOf({ ...siteWith([]), sensors: [SLOW] });
  const around = Array.from({ length: 60 }, (_, i) => slow(i, 1, 71 * (i % 2 === 0 ? 0.99 : 1.01)));
  const events = feed(engine, around);
  // The warning after two readings in C or worse, the alarm with the first in D.
  assert.deepEqual(words(events), ["zone alarm"]);
  const [first] = events;
  assert.equal(first?.unit, "um");
  assert.equal(first?.limit, 71);
  assert.ok(Math.abs((first?.measured ?? 0) - 71.71) < 0.01);
  assert.match(
    first?.text ?? "",
    /Displacement \(RMS\) of axis H .* 71\.71 um, above the zone limit of 71 um/,
  );
  // Back by a tenth: C by the displacement, then normal.
  assert.deepEqual(words(feed(engine, [slow(60, 1, 63), slow(61, 1, 40)])), [
    "zone warning",
    "zone cleared",
  ]);
});

test("alarms – a velocity that is worse than the displacement takes the alarm over, in its own unit", () => {
  const engine = engineOf({ ...siteWith([]), sensors: [SLOW] });
  const events = feed(engine, [slow(0, 1, 60), slow(1, 1, 60), slow(2, 5, 60)]);
  assert.deepEqual(
    events.map(({ unit, limit, worst }) => [unit, limit, worst.measured]),
    [
      ["um", 45, 60],
      ["mm/s", 4.5, 5],
    ],
  );
});

const TEMPERATURE = {
  name: "temp",
  select: { kinds: ["loop"], values: ["channel1"] },
  baseline: { readings: 60, deviations: 4 },
} as const;

for (const [on, off] of [
  [2, 2],
  [10, 10],
] as const) {
  test(`alarms – a machine that runs ${on} readings and stands ${off} has one alarm by its learned level, for as long as it is hot`, () => {
    const engine = engineOf(siteWith([TEMPERATURE], [PUMP]));
    let minute = 0;
    const phase = (count: number, running: number): Fed[] =>
      Array.from({ length: count }, (_, i) => {
        const runs = i % (on + off) < on;
        minute += 1;
        const at = T0 + minute * MINUTE;
        const degrees = (runs ? running : 25) + 0.3 * Math.sin(i);
        return [
          { sensor: RPM, kind: "rpm", reading: reading(RPM.code, at, { rpm: runs ? 1480 : 0 }) },
          { sensor: LOOP, kind: "loop", reading: reading(LOOP.code, at, { channel1: degrees }) },
        ] satisfies Fed[];
      }).flat();
    feed(engine, phase(400, 60));
    const ofTemperature = (events: readonly AlarmEvent[]) =>
      words(events.filter(({ alarm }) => alarm === "temp"));
    assert.deepEqual(ofTemperature(feed(engine, phase(400, 140))), ["temp warning"]);
    assert.deepEqual(ofTemperature(feed(engine, phase(100, 60))), ["temp cleared"]);
  });
}

test("alarms – what passes the level of one state waits while the machine is in the other, over a restart", () => {
  const site = siteWith([TEMPERATURE], [PUMP]);
  let engine = engineOf(site);
  const saved = new Map<string, string>();
  let minute = 0;
  const one = (runs: boolean, degrees: number): string[] => {
    minute += 1;
    const at = T0 + minute * MINUTE;
    const fed: Fed[] = [
      { sensor: RPM, kind: "rpm", reading: reading(RPM.code, at, { rpm: runs ? 1480 : 0 }) },
      { sensor: LOOP, kind: "loop", reading: reading(LOOP.code, at, { channel1: degrees }) },
    ];
    const events = fed.flatMap(({ sensor, kind, reading: read }) => {
      const up = engine.follow(tx.now, sensor.code, kind, [read], { day: "2026-11-20", atMs: at });
      for (const { sensor: code, text } of up.states)
        if (text === null) saved.delete(code);
        else saved.set(code, text);
      tx.commit();
      return up.events;
    });
    return words(events.filter(({ alarm }) => alarm === "temp"));
  };
  for (let i = 0; i < 130; i += 1) one(i % 2 === 0, (i % 2 === 0 ? 60 : 25) + 0.3 * Math.sin(i));
  assert.deepEqual([one(true, 140), one(false, 25), one(true, 140), one(false, 25)].flat(), []);
  engine = engineOf(site);
  engine.load({ ...EMPTY, states: [...saved].map(([sensor, text]) => ({ sensor, text })) });
  assert.deepEqual(one(true, 140), ["temp warning"]);
  assert.deepEqual(one(false, 25), []);
  assert.deepEqual(one(true, 60), ["temp cleared"]);
});

/** A machine of which the standing level was passed twice, of the three times that raise an alarm, before it ran again. */
function waiting() {
  const site = siteWith([TEMPERATURE], [PUMP]);
  const engine = engineOf(site);
  let minute = 0;
  const events = (count: number, runs: boolean, degrees: number) => {
    const fed = Array.from({ length: count }, (): Fed[] => {
      minute += 1;
      const at = T0 + minute * MINUTE;
      return [
        { sensor: RPM, kind: "rpm", reading: reading(RPM.code, at, { rpm: runs ? 1480 : 0 }) },
        { sensor: LOOP, kind: "loop", reading: reading(LOOP.code, at, { channel1: degrees }) },
      ];
    });
    return words(feed(engine, fed.flat()));
  };
  const learn = () => assert.deepEqual([...events(60, true, 60), ...events(60, false, 25)], []);
  learn();
  assert.deepEqual([...events(2, false, 90), ...events(1, true, 60)], []);
  return { engine, site, events, learn, nowMs: () => T0 + minute * MINUTE };
}

test("alarms – what waits of the standing machine does not stop the level of the running one from following it", () => {
  const { engine, events } = waiting();
  const slow = () => engine.baselines(LOOP.code).get("temp/channel1@running")?.slow?.median ?? 0;
  assert.equal(slow(), 60);
  assert.deepEqual(events(200, true, 61), []);
  assert.ok(slow() > 60, `${slow()}`);
  // It goes on where it was.
  assert.deepEqual(events(1, false, 90), ["temp warning"]);
});

test("alarms – what waits of a level that begins anew is forgotten with it, by another unit or on command", () => {
  const [first, second] = [waiting(), waiting()];
  const channel1 = { ...LOOP.channels["channel1"], unit: "kPa" };
  const sensors = first.site.sensors.map((one) =>
    one === LOOP ? { ...LOOP, channels: { channel1 } } : one,
  );
  first.engine.setSite({ ...first.site, sensors });
  first.engine.reconcile(tx.now, first.nowMs());
  assert.deepEqual(second.events(3, true, 140), ["temp warning"]);
  second.engine.relearn(tx.now, LOOP.code, "temp", "channel1", second.nowMs());
  tx.commit();
  for (const { events, learn } of [first, second]) {
    learn();
    assert.deepEqual(events(1, false, 90), []);
  }
});

test("alarms – what an active alarm shows now stands beside the words of its transition", () => {
  const engine = engineOf(siteWith([PRESSURE]));
  const [raised] = feed(engine, pressures([8.5, 8.5, 8.7]));
  const [found] = engine.alarms();
  assert.ok(raised !== undefined && found !== undefined);
  const newest = engine.newest(found);
  assert.deepEqual(
    { ...newest, text: undefined },
    {
      measured: 8.7,
      limit: 8,
      stage: null,
      time: new Date(T0 + 2 * MINUTE).toISOString(),
      text: undefined,
    },
  );
  assert.match(newest?.text ?? "", /is 8\.7 bar, above the limit of 8 bar/);
  assert.match(raised.text, /is 8\.5 bar/);
});
