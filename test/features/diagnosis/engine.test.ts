import assert from "node:assert/strict";
import { test } from "node:test";
import { sinceFrom, sinceMs } from "../../../src/features/alarms/rules/since.ts";
import { FindingEngine } from "../../../src/features/diagnosis/rules/engine.ts";
import { Wait } from "../../../src/features/machines/rules/wait.ts";
import { WaitRowsInMemory } from "../../../src/features/machines/rules/wait-rows.ts";
import { Transactions } from "../../support/tx.ts";
import { engineOf, MACHINE, PLANT, readingOf, recordOf, siteOf } from "./support.ts";

const tx = new Transactions();

const FAULT = { fault: "outer_race", severity: 0.3 } as const;
const fault = (n: number) => recordOf(FAULT, n);
const KEY = "bearing_outer_race/6205";

test("a finding is raised after five readings in a row, is reported once, and says how often it was seen", () => {
  const { engine, follow } = engineOf();
  for (let hour = 1; hour <= 4; hour++) assert.deepEqual(follow(fault(hour), hour).events, []);
  const [event, ...more] = follow(fault(5), 5).events;
  assert.deepEqual(more, []);
  assert.equal(event?.alarm, "finding");
  assert.equal(event?.value, KEY);
  assert.equal(event?.state, "active");
  assert.match(event?.text ?? "", /Outer-race damage of bearing 6205 on Pump 4, sensor 10234/);
  assert.match(event?.text ?? "", /5 readings in a row/);
  assert.deepEqual(follow(fault(6), 6).events, []);
  assert.equal(engine.of("10234").states.get(KEY)?.inRow, 6);
});

test("a fault whose lines come and go stands after five of eight readings, and says so", () => {
  const { engine, follow } = engineOf();
  const shown = [1, 1, 0, 1, 0, 1];
  for (const [i, isShown] of shown.entries()) {
    assert.deepEqual(follow(isShown ? fault(i) : recordOf({}, i), i + 1).events, []);
  }
  const [event] = follow(fault(7), 7).events;
  assert.equal(event?.value, KEY);
  assert.match(event?.text ?? "", /in 5 of the last 8 readings/);
  const seldom = engineOf();
  for (let hour = 1; hour <= 20; hour++) {
    const record = hour % 2 === 0 ? fault(hour) : recordOf({}, hour);
    assert.deepEqual(seldom.follow(record, hour).events, []);
  }
  assert.equal(engine.of("10234").states.get(KEY)?.inRow, 2);
});

test("a reading at a lower speed that shows nothing does not break the row of a shaft's fault", () => {
  const { engine, follow, world } = engineOf();
  const shaken = (n: number) => recordOf({ fault: "unbalance", severity: 0.95 }, n);
  for (let hour = 1; hour <= 3; hour++) follow(shaken(hour), hour);
  const { speedRpm } = world;
  const slow = recordOf({}, 4, 8192, { ...PLANT, speedRpm: 1000 });
  world.speedRpm = slow.speedRpm;
  follow(slow, 4);
  world.speedRpm = speedRpm;
  follow(shaken(5), 5);
  assert.equal(engine.of("10234").states.get("unbalance")?.inRow, 4);
});

test("a drive that slows down does not break the row, but only what reaches the full limit counts", () => {
  const at = (share: number, hour: number) =>
    recordOf({ fault: "misalignment", severity: 0.95 }, hour, 8192, {
      ...PLANT,
      speedRpm: 1480 * share,
      zoneD: 4.5 * share ** 2,
    });
  const { engine, follow, world } = engineOf();
  const run = (share: number, hour: number) => {
    const record = at(share, hour);
    world.speedRpm = record.speedRpm;
    return follow(record, hour).events;
  };
  for (let hour = 1; hour <= 6; hour++) assert.deepEqual(run(0.8, hour), []);
  const shares = [1, 0.8, 0.85, 0.8, 1, 0.8, 1, 1];
  for (const [i, share] of shares.entries()) assert.deepEqual(run(share, 7 + i), []);
  assert.deepEqual(
    run(1, 15).map(({ value }) => value),
    ["misalignment"],
  );
  // The highest speed of the row is remembered across a restart.
  const [saved] = engine.saved();
  assert.ok(saved !== undefined && saved.text !== null);
  const again = engineOf();
  again.engine.restore({ sensor: saved.sensor, text: saved.text });
  again.world.speedRpm = at(0.8, 16).speedRpm;
  again.follow(at(0.8, 16), 16);
  assert.equal(again.engine.of("10234").states.get("misalignment")?.inRow, 6);
});

test("the machine's normal state is kept over a restart, and learned again on command", () => {
  const { engine, follow, options } = engineOf();
  for (let hour = 1; hour <= 12; hour++) follow(recordOf({}, hour), hour);
  assert.equal(engine.of("10234").reference?.speeds[0]?.readings, 12);
  const again = new FindingEngine(siteOf(), options);
  for (const { sensor, text } of engine.saved()) again.restore({ sensor, text: text ?? "" });
  assert.equal(again.of("10234").reference?.speeds[0]?.readings, 12);
  const states = again.relearn(tx.now, "10234");
  tx.commit();
  assert.deepEqual(states, [{ sensor: "finding:10234", text: null }]);
  assert.equal(again.of("10234").reference, null);
});

test("since when a finding stands is the same after a restart: a late reading moves it over no healthy days", () => {
  const sinces = [false, true].map((isRestarted) => {
    const { engine, follow, options } = engineOf();
    for (let hour = 20; hour <= 32; hour++) follow(recordOf({}, hour), hour);
    const again = isRestarted ? new FindingEngine(siteOf(), options) : engine;
    if (isRestarted) {
      for (const { sensor, text } of engine.saved()) again.restore({ sensor, text: text ?? "" });
      again.prime("10234", readingOf(recordOf({}, 32), 32).timeMs);
    }
    for (const hour of [33, 34, 35, 36, 37, 3]) {
      again.follow(tx.now, "10234", "accel", [readingOf(fault(hour), hour)]);
      tx.commit();
    }
    const state = again.of("10234").states.get(KEY);
    assert.ok(state?.stands);
    return sinceMs(state.since) / 3_600_000;
  });
  assert.deepEqual(sinces, [33, 33]);
});

test("a cage stands after four of six readings, other findings after five in a row", () => {
  const pattern = [true, false, true, true, false, true] as const;
  for (const [fault, expected] of [
    ["cage", ["cage/6205"]],
    ["outer_race", []],
  ] as const) {
    const { follow, world } = engineOf();
    const told = pattern.flatMap((isShown, hour) => {
      const record = recordOf(isShown ? { fault, severity: 0.3 } : {}, hour);
      world.speedRpm = record.speedRpm;
      return follow(record, hour + 1).events.map(({ value }) => value);
    });
    assert.deepEqual(told, expected, fault);
  }
});

test("a repaired machine ends the finding after five readings, with an event", () => {
  const { engine, follow } = engineOf();
  for (let hour = 1; hour <= 5; hour++) follow(fault(hour), hour);
  for (let hour = 6; hour <= 9; hour++)
    assert.deepEqual(follow(recordOf({}, hour), hour).events, []);
  const [event] = follow(recordOf({}, 10), 10).events;
  assert.equal(event?.state, "cleared");
  assert.equal(engine.of("10234").states.size, 0);
});

test("readings wait for the speed of their time, over a restart too, and count when it arrives", () => {
  const rows = new WaitRowsInMemory();
  const open = () => {
    const wait = new Wait(siteOf(), { rows });
    wait.load();
    return { wait, engine: new FindingEngine(siteOf(), { wait }) };
  };
  const first = open();
  for (let hour = 1; hour <= 5; hour++) {
    const up = first.engine.follow(tx.now, "10234", "accel", [readingOf(fault(hour), hour)]);
    assert.deepEqual(up, { events: [], states: [] });
  }
  assert.equal(rows.all().length, 5);
  const { wait, engine } = open();
  const speeds = [1, 2, 3, 4, 5].map((hour) => {
    const reading = readingOf(fault(hour), hour);
    return { ...reading, timeMs: reading.timeMs - 1000, values: { rpm: 1480 }, tones: null };
  });
  wait.note(tx.now, "50021", "rpm", speeds, { day: "1970-01-01", atMs: 86_400_000 });
  const { events } = engine.follow(tx.now, "50021", "rpm", speeds);
  assert.equal(events[0]?.value, KEY);
  assert.deepEqual(rows.all(), []);
});

test("readings of a stopped machine neither count nor end anything", () => {
  const { engine, follow, world } = engineOf({
    ...MACHINE,
    running: { sensor: "50021", kind: "rpm", value: "rpm", above: 300 },
  });
  world.state = "running";
  for (let hour = 1; hour <= 5; hour++) follow(fault(hour), hour);
  world.state = "standing";
  for (let hour = 6; hour <= 20; hour++) assert.deepEqual(follow(fault(hour), hour).events, []);
  const state = engine.of("10234").states.get(KEY);
  assert.equal(state?.inRow, 5);
  assert.notEqual(state?.stands, null);
});

test("late readings raise nothing; a transaction that fails leaves nothing behind", () => {
  const { engine, follow } = engineOf();
  follow(recordOf({}, 1), 100);
  for (let hour = 1; hour <= 9; hour++) assert.deepEqual(follow(fault(hour), hour).events, []);
  assert.equal(engine.of("10234").states.size, 0);
  engine.follow(tx.now, "10234", "accel", [readingOf(fault(1), 101)]);
  tx.rollBack();
  assert.equal(engine.of("10234").states.size, 0);
  // Stored at the next attempt, it is not late.
  engine.follow(tx.now, "10234", "accel", [readingOf(fault(1), 101)]);
  tx.commit();
  assert.equal(engine.of("10234").states.size > 0, true);
});

test("a restart at any point gives the same events with the same ids, and stored state is limited", () => {
  const whole = engineOf();
  const ids = [1, 2, 3, 4, 5, 6].flatMap((hour) =>
    whole.follow(fault(hour), hour).events.map(({ id }) => id),
  );
  assert.equal(ids.length, 1);
  for (let cut = 1; cut <= 5; cut++) {
    const { options } = engineOf();
    let engine = new FindingEngine(siteOf(), options);
    let saved: { sensor: string; text: string }[] = [];
    const seen: string[] = [];
    for (let hour = 1; hour <= 6; hour++) {
      const up = engine.follow(tx.now, "10234", "accel", [readingOf(fault(hour), hour)]);
      tx.commit();
      seen.push(...up.events.map(({ id }) => id));
      for (const { sensor, text } of up.states) saved = text === null ? [] : [{ sensor, text }];
      assert.ok((saved[0]?.text.length ?? 0) < 8000);
      if (hour !== cut) continue;
      engine = new FindingEngine(siteOf(), options);
      for (const state of saved) assert.equal(engine.restore(state), null);
    }
    assert.deepEqual(seen, ids, `cut after ${cut}`);
  }
});

test("a damaged state is skipped and named", () => {
  const { engine } = engineOf();
  assert.equal(engine.restore({ sensor: "finding:10234", text: "{" }), "10234");
});

test("a finding says since when the machine has shown it, also by readings of earlier days that come late", () => {
  const { engine, follow } = engineOf();
  for (let hour = 101; hour <= 105; hour++) follow(fault(hour), hour);
  const since = () =>
    sinceMs(engine.of("10234").states.get(KEY)?.since ?? sinceFrom(0)) / 3_600_000;
  assert.equal(since(), 101);
  for (let hour = 76; hour <= 99; hour++)
    follow(hour < 82 ? recordOf({}, hour) : fault(hour), hour);
  assert.equal(since(), 82);
  for (let hour = 52; hour <= 75; hour++) follow(fault(hour), hour);
  assert.equal(since(), 82);
});

test("a finding of today is not told since yesterday where the machine was whole between, though today was read first", () => {
  const { engine, follow } = engineOf();
  for (let hour = 96; hour <= 105; hour++)
    follow(hour < 101 ? recordOf({}, hour) : fault(hour), hour);
  const since = () =>
    sinceMs(engine.of("10234").states.get(KEY)?.since ?? sinceFrom(0)) / 3_600_000;
  assert.equal(since(), 101);
  for (let hour = 72; hour <= 95; hour++) follow(fault(hour), hour);
  assert.equal(since(), 101);
});

test("a few late readings without the fault at the start of a day do not end what stood before", () => {
  const { engine, follow } = engineOf();
  for (let hour = 98; hour <= 105; hour++)
    follow(hour < 101 ? recordOf({}, hour) : fault(hour), hour);
  const since = () =>
    sinceMs(engine.of("10234").states.get(KEY)?.since ?? sinceFrom(0)) / 3_600_000;
  // A day that begins with four readings that do not show it, then the day before.
  for (let hour = 72; hour <= 95; hour++)
    follow(hour < 76 ? recordOf({}, hour) : fault(hour), hour);
  assert.equal(since(), 76);
  for (let hour = 60; hour <= 71; hour++) follow(fault(hour), hour);
  assert.equal(since(), 60);
});

test("envelopes are analysed only where the point has a bearing and the machine a speed", () => {
  const wanted = (machine: typeof MACHINE) => engineOf(machine).engine.wantedTones("10234");
  const { bearings = [], speed: _speed, ...unmeasured } = MACHINE;
  assert.equal(wanted(MACHINE), true);
  assert.equal(wanted({ ...MACHINE, bearings: [] }), "accel");
  assert.equal(
    wanted({ ...MACHINE, bearings: bearings.map((one) => ({ ...one, point: 2 })) }),
    "accel",
  );
  assert.equal(wanted({ ...unmeasured, bearings }), "accel");
  assert.equal(engineOf().engine.wantedTones("50021"), false);
});

test("what is checked is what may be found, so that a standing finding is never ended as not configured", () => {
  const { engine, follow } = engineOf();
  follow(recordOf({}, 1), 1);
  const judged = engine.of("10234").seen?.judged ?? [];
  assert.ok(judged.length > 8, judged.join());
  assert.deepEqual(
    judged.filter((key) => !engine.possible("10234").includes(key)),
    [],
  );
});

test("findings – a record whose axes are all damaged is judged by nothing; one damaged axis leaves the others", () => {
  const { engine, follow } = engineOf();
  const record = recordOf({ fault: "unbalance", severity: 0.9 });
  const damaged = (channels: number) => ({
    ...record,
    tones: record.tones.map((axis) => ({ ...axis, isDamaged: axis.channel <= channels })),
  });
  follow(record, 1);
  const before = engine.of("10234");
  assert.notEqual(before.seen, null);
  follow(damaged(3), 2);
  assert.deepEqual(engine.of("10234"), before);
  follow(damaged(1), 3);
  const seen = engine.of("10234");
  assert.equal(seen.newestMs, 3 * 3_600_000);
  const lines = [...seen.states.values()].flatMap(({ last }) => last.verdict.lines);
  assert.ok(lines.length > 0 && lines.every(({ channel }) => channel > 1));
});

const FAN = {
  ...MACHINE,
  shafts: [{ name: "fan", speedRatio: 0.531, points: [1], blades: 6 }],
};

test("shafts – a fault of a shaft at another speed is found there, and its sentence names the shaft", () => {
  const { engine, follow, world } = engineOf(FAN);
  world.speedRpm = 1480 / 0.531;
  const shaken = (n: number) => recordOf({ fault: "unbalance", severity: 0.95 }, n);
  const events = [1, 2, 3, 4, 5].flatMap((hour) => follow(shaken(hour), hour).events);
  assert.deepEqual(
    events.map(({ value }) => value),
    ["unbalance"],
  );
  assert.match(events[0]?.text ?? "", /1x of the fan, 1480 rpm \(24\.\d Hz/);
  assert.equal(Math.round(engine.of("10234").seen?.speedRpm ?? 0), 1480);
  const motor = engineOf();
  motor.world.speedRpm = 1480 / 0.531;
  const others = [1, 2, 3, 4, 5].flatMap((hour) => motor.follow(shaken(hour), hour).events);
  assert.deepEqual(
    others.map(({ value }) => value),
    ["unexplained"],
  );
});

test("shafts – below 30 r/min of its own a shaft stands; behind a belt it is sought within two per cent", () => {
  const slow = engineOf({ ...FAN, shafts: [{ name: "drum", speedRatio: 0.01, points: [1] }] });
  slow.world.speedRpm = 1480;
  slow.follow(recordOf({}), 1);
  assert.equal(slow.engine.of("10234").seen?.cannot[0]?.reason, "machine_standing");
  const belt = engineOf({
    ...FAN,
    shafts: [{ name: "fan", speedRatio: 0.531, points: [1], belt: true }],
  });
  // The belt slips by 1.5 %.
  belt.world.speedRpm = 1480 / 0.531 / 0.985;
  const shaken = (n: number) => recordOf({ fault: "unbalance", severity: 0.95 }, n);
  const events = [1, 2, 3, 4, 5].flatMap((hour) => belt.follow(shaken(hour), hour).events);
  assert.equal(events[0]?.value, "unbalance");
});

test("shafts – another ratio, or another count of pulses, makes the normal state be learned anew", () => {
  const { engine, follow } = engineOf();
  for (let hour = 1; hour <= 12; hour++) follow(recordOf({}, hour), hour);
  assert.notEqual(engine.of("10234").reference ?? null, null);
  const known = JSON.stringify(engine.of("10234").reference);
  engine.setSite(
    siteOf({ ...FAN, shafts: [{ name: "fan", speedRatio: 1, points: [1], blades: 7 }] }),
  );
  follow(recordOf({}, 13), 13);
  assert.notEqual(JSON.stringify(engine.of("10234").reference), known);
});
