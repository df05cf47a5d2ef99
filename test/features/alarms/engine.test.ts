import assert from "node:assert/strict";
import { test } from "node:test";
import { eventPayload, eventText } from "../../../src/core/alarm/event.ts";
import type { AlarmRule } from "../../../src/core/alarm/rule.ts";
import type { Kind, Sensor } from "../../../src/core/sensor.ts";
import { sinceMs } from "../../../src/features/alarms/rules/since.ts";
import { Wait } from "../../../src/features/machines/rules/wait.ts";
import { FollowingEngine } from "../../support/following-engine.ts";
import { Transactions } from "../../support/tx.ts";
import {
  ACCEL,
  Disk,
  EMPTY,
  engineOf,
  type Fed,
  feed,
  judgeDue,
  LOOP,
  MINUTE,
  PRESSURE,
  PUMP,
  pressures,
  RollingRows,
  RPM,
  readAt,
  reading,
  siteWith,
  speeds,
  summaries,
  T0,
  vibrations,
} from "./support.ts";

const tx = new Transactions();

test("alarms – a limit is entered after the whole delay and left only by the hysteresis", () => {
  const engine = engineOf(siteWith([PRESSURE]));
  // 8.1 and back is one reading; the next two are a delay; 7.8 is inside the band, 7.7 is back.
  const events = feed(engine, pressures([5, 8.1, 7, 8.1, 8.2, 7.8, 8.1, 7.7, 7.6]));
  assert.deepEqual(summaries(events), [
    "pressure active warning +4",
    "pressure cleared warning +7",
  ]);
  assert.equal(events[1]?.worst.measured, 8.2);
  assert.equal(events[0]?.limit, 8);
  assert.equal(events[1]?.raisedMs, T0 + 4 * MINUTE);
  assert.equal(
    events[0]?.text,
    "Warning: Suction pressure at Feed line is 8.2 bar, above the limit of 8 bar.",
  );
});

test("alarms – severity rises and falls within one alarm, with a separate event each time", () => {
  const engine = engineOf(siteWith([PRESSURE]));
  const events = feed(engine, pressures([8.5, 8.5, 9.5, 9.5, 8.8, 8.6, 5]));
  assert.deepEqual(summaries(events), [
    "pressure active warning +1",
    "pressure active alarm +3",
    "pressure active warning +5",
    "pressure cleared warning +6",
  ]);
  assert.ok(events.every(({ raisedMs }) => raisedMs === T0 + MINUTE));
  assert.equal(new Set(events.map(({ id }) => id)).size, 4);
});

test("alarms – a change from too high to too low is reported as another limit of the same alarm", () => {
  const engine = engineOf(siteWith([{ ...PRESSURE, delay: { readings: 1 } }]));
  const events = feed(engine, pressures([8.5, 0.5, 5]));
  assert.deepEqual(
    events.map(({ state, severity, limit }) => [state, severity, limit]),
    [
      ["active", "warning", 8],
      ["active", "alarm", 1],
      ["cleared", "alarm", 1],
    ],
  );
  assert.equal(events[2]?.worst.measured, 0.5);
});

test("alarms – a delay in seconds is measured between readings beyond the limit", () => {
  const engine = engineOf(siteWith([{ ...PRESSURE, delay: { seconds: 120 } }]));
  assert.deepEqual(summaries(feed(engine, pressures([8.5, 8.5, 8.5]))), [
    "pressure active warning +2",
  ]);
  assert.deepEqual(
    summaries(
      feed(
        engineOf(siteWith([{ ...PRESSURE, delay: { seconds: 121 } }])),
        pressures([8.5, 8.5, 8.5]),
      ),
    ),
    [],
  );
});

test("alarms – a value of bad quality neither raises nor clears, and is its own alarm", () => {
  const engine = engineOf(siteWith([PRESSURE]));
  const events = feed(engine, pressures([8.5, 8.5, null, null, null, null, 8.5, 5]));
  assert.deepEqual(summaries(events), [
    "pressure active warning +1",
    "bad_quality active warning +4",
    "bad_quality cleared warning +6",
    "pressure cleared warning +7",
  ]);
  assert.match(events[1]?.text ?? "", /no usable value for 3 readings: wire break/);
  assert.equal(events[1]?.reason, "wire_break");
});

/** Vibration of channel 1; a negative one is of a damaged record that reads so much. */
const damaged = (values: readonly number[], reason: "samples_lost" | "jump" | "clipped"): Fed[] =>
  vibrations(values.map(Math.abs)).map((fed, i) => {
    const doubt = { quality: "uncertain", reason } as const;
    const quality = { channel1_vel_rms: doubt, channel1_zone: doubt, channel1_accel_rms: doubt };
    return (values[i] ?? 0) < 0 ? { ...fed, reading: { ...fed.reading, quality } } : fed;
  });

test("alarms – a damaged record neither raises nor ends an alarm, and is as none in its delay", () => {
  for (const reason of ["samples_lost", "jump"] as const) {
    const told = (values: readonly number[]) =>
      summaries(feed(engineOf(siteWith([])), damaged(values, reason)));
    assert.deepEqual(told([1, -20, 1]), []);
    assert.deepEqual(told([5, -1, -1, 5]), ["zone active alarm +0"], "ends nothing");
    assert.deepEqual(told([3, -20, 3]), ["zone active warning +20"], "interrupts no delay");
    assert.deepEqual(told([3, -3, 1]), [], "counts in no delay");
  }
  const clipped = summaries(feed(engineOf(siteWith([])), damaged([1, -20, 1], "clipped")));
  assert.deepEqual(clipped, ["zone active alarm +10", "zone cleared alarm +20"]);
});

test("alarms – three damaged records in a row are a warning per axis with the newest level, until one without", () => {
  const events = feed(engineOf(siteWith([])), damaged([1, -20, -21, -22, -23, 1, -20], "jump"));
  assert.deepEqual(summaries(events), [
    "bad_quality active warning +30",
    "bad_quality cleared warning +50",
  ]);
  const [raised] = events;
  assert.equal(raised?.value, "channel1_vel_rms");
  assert.equal(raised?.measured, 22);
  assert.equal(raised?.reason, "jump");
  assert.match(raised?.text ?? "", /read as 22 mm\/s, but 3 records in a row are damaged: jump/);
  assert.deepEqual(feed(engineOf(siteWith([])), damaged([-9, -9, 1, -9, -9], "samples_lost")), []);
});

test("alarms – a baseline learns nothing from damaged records", () => {
  const rule: AlarmRule = {
    name: "change",
    select: { values: ["*_vel_rms"] },
    baseline: { readings: 10, deviations: 4 },
  };
  const disk = new Disk();
  feed(engineOf(siteWith([rule])), damaged([1, -9, 1, -9, 1], "samples_lost"), disk);
  assert.equal(disk.samples.length, 3);
});

test("alarms – of a sensor without rules, bad quality is an alarm all the same, and a late reading does not turn back its time", () => {
  const engine = engineOf(siteWith([]));
  const readings = pressures([5, null, null, null, 5, 5]);
  assert.deepEqual(summaries(feed(engine, readings)), [
    "bad_quality active warning +3",
    "bad_quality cleared warning +4",
  ]);
  assert.equal(engine.newestMs("30007", "loop"), T0 + 5 * MINUTE);
  assert.deepEqual(feed(engine, readings.slice(0, 1)), []);
  assert.equal(engine.newestMs("30007", "loop"), T0 + 5 * MINUTE);
});

test("alarms – zones C and D are alarms without configuration, and without rules there are no others", () => {
  const events = feed(engineOf(siteWith([])), vibrations([1, 3, 3, 5, 2.7, 2.5]));
  assert.deepEqual(summaries(events), [
    "zone active warning +20",
    "zone active alarm +30",
    "zone active warning +40",
    "zone cleared warning +50",
  ]);
  assert.equal(events[1]?.limit, 4.5);
  assert.equal(events[1]?.value, "channel1_vel_rms");
});

test("alarms – the warning of zone C needs a second reading in a row in C or worse, zone D does not", () => {
  const site = siteWith([]);
  assert.deepEqual(feed(engineOf(site), vibrations([1, 3, 1, 3.5, 1])), []);
  const once = feed(engineOf(site), vibrations([1, 5, 1]));
  assert.deepEqual(summaries(once), ["zone active alarm +10", "zone cleared alarm +20"]);
  const twice = feed(engineOf(site), vibrations([3, 3, 1]));
  assert.deepEqual(summaries(twice), ["zone active warning +10", "zone cleared warning +20"]);
  const atOnce = feed(engineOf({ ...site, zoneReadings: 1 }), vibrations([3, 1]));
  assert.deepEqual(summaries(atOnce), ["zone active warning +0", "zone cleared warning +10"]);
});

test("alarms – a low battery in the node's own state is reported as one in a record is", () => {
  const read = { operation: "getState", fields: { battery: { from: "B", unit: "V" } } };
  const node = { ...ACCEL, batteryLowV: 3, stateReads: [read] };
  const engine = engineOf({ site: "plant-7", sensors: [node] });
  const events = [3.2, 2.9, 3.2].flatMap((battery, i) =>
    feed(engine, [
      {
        sensor: node,
        kind: "node",
        reading: reading(node.code, T0 + i * MINUTE, { battery, firmware: "2.1" }),
      },
    ]),
  );
  assert.deepEqual(summaries(events), [
    "battery_low active warning +1",
    "battery_low cleared warning +2",
  ]);
});

test("alarms – a battery in the node's own state is historical only if another kind has told the battery since", () => {
  const read = { operation: "getState", fields: { battery: { from: "B", unit: "V" } } };
  const sensor: Sensor = { ...RPM, stateReads: [read] };
  const events = (battery: object, nodeAtMs: number) => {
    const engine = engineOf({ site: "plant-7", sensors: [sensor] });
    const at = (kind: Kind, atMs: number, values: object): Fed => ({
      sensor,
      kind,
      reading: reading(sensor.code, atMs, { ...values }),
    });
    return feed(engine, [
      at("rpm", T0 + MINUTE, { rpm: 1, ...battery }),
      at("node", nodeAtMs, { battery: 2.9 }),
    ]).map(({ historical }) => historical);
  };
  // The state's own time is older than the newest speed, which says nothing of the battery.
  assert.deepEqual(events({}, T0), [false]);
  assert.deepEqual(events({ battery: 3.6 }, T0), [true]);
  assert.deepEqual(events({ battery: 3.6 }, T0 + MINUTE), [false]);
});

test("alarms – a low battery is reported if the site file gives a limit", () => {
  const engine = engineOf(siteWith([]));
  const events = [3.2, 2.9, 3.02, 3.2].flatMap((battery, i) =>
    feed(engine, [
      {
        sensor: RPM,
        kind: "rpm",
        reading: reading(RPM.code, T0 + i * MINUTE, { rpm: 1, battery }),
      },
    ]),
  );
  assert.deepEqual(summaries(events), [
    "battery_low active warning +1",
    "battery_low cleared warning +3",
  ]);
});

test("alarms – a stopped machine raises no vibration alarm and ends none", () => {
  const engine = engineOf(siteWith([], [PUMP]));
  feed(engine, speeds([0, 0, 0, 0]));
  assert.equal(engine.wait.stateAt(ACCEL.code, T0 + 4 * MINUTE), "standing");
  assert.deepEqual(feed(engine, vibrations([6], T0 + 4 * MINUTE)), []);
  assert.deepEqual(feed(engine, speeds([1480], T0 + 5 * MINUTE)), []);
  assert.equal(engine.wait.stateAt(ACCEL.code, T0 + 5 * MINUTE), "running");
  assert.deepEqual(feed(engine, vibrations([6], T0 + 6 * MINUTE)), []);
  assert.deepEqual(summaries(feed(engine, speeds([0], T0 + 7 * MINUTE))), ["zone active alarm +6"]);
  feed(engine, vibrations([0.1], T0 + 8 * MINUTE));
  assert.deepEqual(feed(engine, speeds([0], T0 + 9 * MINUTE)), []);
  assert.equal([...engine.alarms()].length, 1);
});

/** The signal's day was read at this minute. */
const speedRead = (engine: FollowingEngine, minute: number) => {
  engine.wait.noteRead(RPM.code, "rpm", readAt(T0 + minute * MINUTE));
  return judgeDue(engine);
};
const RUNNING_RULE = { ...PRESSURE, onlyRunning: true, delay: { readings: 1 } };

test("alarms – a reading waits for the signal of its own time, or for a read an interval after it", () => {
  const engine = engineOf(siteWith([RUNNING_RULE], [PUMP]));
  assert.deepEqual(feed(engine, pressures([9.5])), []);
  // Nothing shows the state before the first speed.
  assert.deepEqual(feed(engine, speeds([1480, 1480, 1480], T0 + MINUTE)), []);
  assert.deepEqual(feed(engine, pressures([9.5], T0 + 4 * MINUTE)), []);
  assert.deepEqual(speedRead(engine, 4.9), []);
  assert.deepEqual(summaries(speedRead(engine, 5)), ["pressure active alarm +4"]);
  // The newest speed is older than three of its intervals of a minute.
  assert.deepEqual(feed(engine, pressures([5], T0 + 7 * MINUTE)), []);
  assert.deepEqual(feed(engine, speeds([1480], T0 + 8 * MINUTE)), []);
  assert.deepEqual(summaries(feed(engine, pressures([5], T0 + 8 * MINUTE))), [
    "pressure cleared alarm +8",
  ]);
});

test("alarms – today's speed ends no wait of last week, and a week that was read without one does", () => {
  const engine = engineOf(siteWith([RUNNING_RULE], [PUMP]));
  const week = 7 * 1440;
  feed(engine, speeds([1480, 1480, 1480]));
  assert.deepEqual(feed(engine, pressures([9.5], T0 - week * MINUTE)), []);
  assert.deepEqual(feed(engine, speeds([1480], T0 + 3 * MINUTE)), []);
  const day = speeds([1480], T0 - week * MINUTE).map(({ reading: one }) => one);
  const { events } = engine.follow(tx.now, RPM.code, "rpm", day, {
    ...readAt(T0 - week * MINUTE),
    atMs: T0 + 4 * MINUTE,
  });
  assert.deepEqual(summaries(events), [`pressure active alarm +${-week}`]);
});

test("alarms – a sensor that cannot be read holds nobody for more than half an hour of running time", () => {
  let runningMs = 0;
  const site = siteWith(
    [RUNNING_RULE, { ...PRESSURE, name: "always", delay: { readings: 1 } }],
    [PUMP],
  );
  let pending: readonly string[] = [];
  const options = { runningMs: () => runningMs, pendingDays: () => pending };
  const engine = new FollowingEngine(site, { wait: new Wait(site, options) });
  engine.load(EMPTY);
  assert.deepEqual(summaries(feed(engine, pressures([9.5]))), ["always active alarm +0"]);
  feed(engine, vibrations([6]));
  runningMs = 29 * MINUTE;
  assert.deepEqual(judgeDue(engine), []);
  // A day that will be read is awaited for longer.
  runningMs = 31 * MINUTE;
  pending = ["2026-11-20"];
  assert.deepEqual(judgeDue(engine), []);
  pending = [];
  runningMs = 33 * MINUTE;
  // Unknown counts for zones as running, for onlyRunning not at all.
  assert.deepEqual(summaries(judgeDue(engine)), ["zone active alarm +0"]);
});

test("alarms – onlyRunning evaluates readings that arrived before the speed of their time", () => {
  const rule = { ...PRESSURE, onlyRunning: true };
  const inOrder = engineOf(siteWith([rule], [PUMP]));
  feed(inOrder, speeds([1480, 1480, 1480, 0, 0, 0]));
  const values = [9.5, 9.5, 5, 9.5, 9.5, 9.5];
  const expected = feed(inOrder, pressures(values));
  assert.deepEqual(summaries(expected), ["pressure active alarm +1", "pressure cleared alarm +2"]);

  const engine = engineOf(siteWith([rule], [PUMP]));
  assert.deepEqual(feed(engine, pressures(values)), []);
  const day = speeds([1480, 1480, 1480, 0, 0, 0]).map(({ reading: one }) => one);
  const up = engine.follow(tx.now, RPM.code, "rpm", day, readAt(T0 + 6 * MINUTE));
  assert.deepEqual(up.events, expected);
});

test("alarms – a transaction that fails keeps the waiting readings", () => {
  const rows = new RollingRows();
  const site = siteWith([RUNNING_RULE], [PUMP]);
  const engine = new FollowingEngine(site, { wait: new Wait(site, { rows }) });
  feed(engine, pressures([9.5]));
  rows.commit();
  const day = speeds([1480]).map(({ reading: one }) => one);
  assert.equal(engine.follow(tx.now, RPM.code, "rpm", day, readAt(T0)).events.length, 1);
  tx.rollBack();
  rows.rollBack();
  assert.equal(engine.follow(tx.now, RPM.code, "rpm", day, readAt(T0)).events.length, 1);
});

test("alarms – a decimal limit and its hysteresis clear exactly where they say", () => {
  const at = (rule: Partial<AlarmRule>, values: readonly number[]) => {
    const only = { name: "exact", select: PRESSURE.select ?? {}, ...rule };
    return summaries(feed(engineOf(siteWith([only])), pressures(values)));
  };
  // 7.1 − 0.2 is 6.8999999999999995 as a double, 0.1 + 0.2 is 0.30000000000000004.
  assert.deepEqual(at({ high: 7.1, hysteresis: 0.2 }, [7.2, 6.91, 6.9]), [
    "exact active warning +0",
    "exact cleared warning +2",
  ]);
  assert.deepEqual(at({ low: 0.1, hysteresis: 0.2 }, [0.05, 0.29, 0.3]), [
    "exact active warning +0",
    "exact cleared warning +2",
  ]);
});

test("alarms – a hysteresis that is a share of its limit is told as a decimal number", () => {
  // 2.8 · 0.1 is 0.27999999999999997 as a double, 2.9 · 0.02 is 0.057999999999999996.
  const zones = feed(engineOf(siteWith([])), vibrations([3, 3]));
  assert.deepEqual(
    zones.map(({ limit, hysteresis }) => [limit, hysteresis]),
    [[2.8, 0.28]],
  );
  const site = { ...siteWith([]), sensors: [{ ...RPM, batteryLowV: 2.9 }] };
  const [low] = feed(engineOf(site), [
    { sensor: RPM, kind: "rpm", reading: reading(RPM.code, T0, { battery: 2.8 }) },
  ]);
  assert.deepEqual([low?.alarm, low?.limit, low?.hysteresis], ["battery_low", 2.9, 0.058]);
});

test("alarms – an event of an action says who did what, before what it is about", () => {
  const engine = engineOf(siteWith([{ ...PRESSURE, delay: { readings: 1 } }]));
  feed(engine, pressures([8.5]));
  const [found] = engine.alarms();
  assert.ok(found);
  const change = (word: string, next: object) => {
    const current = engine.refreshed(found);
    const up = engine.change(tx.now, current, { ...current.state, ...next }, word, T0, "anna");
    tx.commit();
    return up.events[0]?.text;
  };
  const mark = { by: "anna", timeMs: T0, note: "valve is stuck" };
  const about = "Warning: Suction pressure at Feed line is 8.5 bar, above the limit of 8 bar.";
  assert.equal(
    change("acknowledge", { acknowledged: mark }),
    `Acknowledged by anna (“valve is stuck”). ${about}`,
  );
  assert.equal(
    change("shelve", { shelved: { ...mark, note: null, untilMs: T0 + MINUTE } }),
    `Shelved until 2026-11-20T08:01:00.000Z by anna. ${about}`,
  );
  assert.equal(engine.nextShelfEndMs(), T0 + MINUTE);
  const [over] = engine.tick(tx.now, T0 + MINUTE, [], true).events;
  tx.commit();
  assert.equal(over?.text, `The shelf has ended. ${about}`);
});

test("alarms – texts name the axis as the dashboard does, and the worst value beside the present one", () => {
  const [event] = feed(engineOf(siteWith([])), vibrations([4, 3]));
  assert.equal(
    event?.text,
    "Warning: Vibration velocity (RMS) of axis H at Pump 4 drive end is 3 mm/s, above the zone limit of 2.8 mm/s (zone C); the worst was 4 mm/s.",
  );
});

test("alarms – a message never says that a value within the hysteresis is beyond the limit", () => {
  const engine = engineOf(siteWith([{ ...PRESSURE, delay: { readings: 1 } }]));
  const [, warning] = feed(engine, pressures([9.5, 7.8]));
  assert.equal(
    warning?.text,
    "Warning: Suction pressure at Feed line is 7.8 bar, not yet 0.3 bar below the limit of 8 bar.",
  );
});

test("alarms – the machine's state at an earlier time is taken from the signal of that time", () => {
  const engine = engineOf(siteWith([], [PUMP]));
  feed(engine, speeds([1480, 1480, 0, 0, 1480]));
  assert.equal(engine.wait.stateAt(LOOP.code, T0 + 2.5 * MINUTE), "standing");
  assert.equal(engine.wait.stateAt(LOOP.code, T0 + 1.5 * MINUTE), "running");
  assert.equal(engine.wait.stateAt(LOOP.code, T0 - 1), null);
});

test("alarms – late readings do not change the live alarm and report what they would have done", () => {
  const engine = engineOf(siteWith([{ ...PRESSURE, delay: { readings: 1 } }]));
  feed(engine, pressures([8.5], T0 + 10 * MINUTE));
  const late = feed(engine, pressures([5, 9.5, 5]));
  assert.deepEqual(summaries(late), [
    "pressure active alarm +1 historical",
    "pressure cleared alarm +2 historical",
  ]);
  assert.deepEqual(
    [...engine.alarms()].map(({ state }) => state.watch.active?.rank),
    [1],
  );
});

test("alarms – readings dated in the future are skipped", () => {
  const engine = engineOf(siteWith([{ ...PRESSURE, delay: { readings: 1 } }]));
  const [future] = pressures([9.5], T0 + 1e10);
  assert.ok(future);
  const up = engine.follow(tx.now, LOOP.code, "loop", [{ ...future.reading, isFuture: true }]);
  assert.deepEqual(up.events, []);
  tx.commit();
  assert.deepEqual(summaries(feed(engine, pressures([8.5]))), ["pressure active warning +0"]);
});

test("alarms – what was evaluated in a failed transaction is undone", () => {
  const engine = engineOf(siteWith([PRESSURE]));
  const [first, second] = pressures([8.5, 8.5]);
  assert.ok(first && second);
  const readings = [first.reading, second.reading];
  const failed = engine.follow(tx.now, LOOP.code, "loop", readings);
  tx.rollBack();
  const again = engine.follow(tx.now, LOOP.code, "loop", readings);
  tx.commit();
  assert.deepEqual(summaries(again.events), ["pressure active warning +1"]);
  assert.ok(again.states.length > 0);
  assert.deepEqual(again, failed);
});

test("alarms – a sensor that falls silent is reported once, also across a restart, and once when it sends again", () => {
  const disk = new Disk();
  const site = siteWith([]);
  const engine = engineOf(site);
  feed(engine, pressures([5]), disk);
  const reads = { lastReadingMs: T0, cadenceS: 60, lastReadAtMs: null };
  const state = (
    word: "silent" | "online",
    lastReadingMs: number,
    lastError: string | null = null,
  ) => [
    {
      code: LOOP.code,
      state: word,
      lastReadingMs,
      batteryV: null,
      kinds: [{ kind: "loop", ...reads, lastError } as const],
    },
  ];
  const unreadable = engineOf(site);
  feed(unreadable, pressures([5]), new Disk());
  const [event] = unreadable.tick(
    tx.now,
    T0 + 4 * MINUTE,
    state("silent", T0, "HTTP 500"),
    true,
  ).events;
  assert.match(
    event?.text ?? "",
    /had no reading for 4 minutes; reading it from the gateway fails/,
  );
  const tick = (of: FollowingEngine, word: "silent" | "online", minute: number, lastMs = T0) => {
    const up = of.tick(tx.now, T0 + minute * MINUTE, state(word, lastMs), true);
    disk.write(up);
    tx.commit();
    return up.events;
  };
  const [silent] = tick(engine, "silent", 4);
  assert.equal(silent?.readingId, pressures([5])[0]?.reading.id);
  assert.match(silent?.text ?? "", /Feed line has sent nothing for 4 minutes/);
  const overtaken = engineOf(site);
  feed(overtaken, pressures([5, 5]), new Disk());
  const stale = overtaken.tick(tx.now, T0 + 4 * MINUTE, state("silent", T0), true).events;
  assert.deepEqual(stale, [], "a reading was stored between the look at the sensors and this");
  const again = new FollowingEngine(site);
  again.load(disk.saved());
  assert.deepEqual(tick(again, "silent", 5), []);
  assert.deepEqual(summaries(tick(again, "online", 6, T0 + 6 * MINUTE)), [
    "silent cleared warning +6",
  ]);
  assert.equal(disk.states.size, 0);
});

test("alarms – only a newer reading ends a silence: a state that changes without one clears nothing", () => {
  const disk = new Disk();
  const engine = engineOf(siteWith([]));
  feed(engine, pressures([5]), disk);
  const at = (word: "silent" | "online", minute: number, lastReadingMs = T0) => {
    const seen = [{ code: LOOP.code, state: word, lastReadingMs, batteryV: null, kinds: [] }];
    const hasNews = engine.hasNews(T0 + minute * MINUTE, seen);
    const { events } = engine.tick(tx.now, T0 + minute * MINUTE, seen, true);
    tx.commit();
    assert.equal(hasNews, events.length > 0);
    return events;
  };
  const raised = at("silent", 4);
  assert.deepEqual(summaries(raised), ["silent active warning +4"]);
  assert.deepEqual(at("online", 5), []);
  assert.deepEqual(at("silent", 40), []);
  const cleared = at("online", 41, T0 + 41 * MINUTE);
  assert.deepEqual(summaries(cleared), ["silent cleared warning +41"]);
  const again = at("silent", 60, T0 + 41 * MINUTE);
  assert.deepEqual(summaries(again), ["silent active warning +60"]);
  assert.notEqual(again[0]?.id, raised[0]?.id);
});

test("alarms – states and samples whose text is damaged are named with their table; the others are loaded", () => {
  const disk = new Disk();
  feed(engineOf(siteWith([PRESSURE])), pressures([8.5, 8.5]), disk);
  const engine = new FollowingEngine(siteWith([PRESSURE]));
  const samples = [{ sensor: "30007", number: 4, text: "{" }];
  const damaged = engine.load({
    states: [...disk.saved().states, { sensor: "30008", text: "s" }],
    samples,
  });
  assert.deepEqual(damaged, { alarm_states: ["30008"], alarm_samples: ["30007 4"] });
  assert.equal(engine.active("30007").length, 1);
});

test("alarms – an alarm that is no longer configured ends with a closing event", () => {
  const disk = new Disk();
  feed(engineOf(siteWith([PRESSURE])), pressures([8.5, 8.5]), disk);
  const engine = new FollowingEngine(siteWith([]));
  engine.load(disk.saved());
  const up = engine.reconcile(tx.now, T0 + MINUTE * 5);
  assert.deepEqual(summaries(up.events), ["pressure cleared warning +5"]);
  assert.deepEqual(up.states, [{ sensor: "30007", text: null }]);
});

test("alarms – alarms of a disabled sensor end, because nothing would ever clear them; its baselines stay", () => {
  const disk = new Disk();
  const learning = { name: "change", baseline: { readings: 10, deviations: 4 } };
  const site = siteWith([PRESSURE, learning]);
  const before = engineOf(site);
  feed(before, pressures([8.5, 8.5]), disk);
  const silent = { code: LOOP.code, lastReadingMs: T0, batteryV: null, kinds: [] };
  disk.write(before.tick(tx.now, T0 + 4 * MINUTE, [{ ...silent, state: "silent" }], true));
  tx.commit();
  const sensors = site.sensors.map((sensor) =>
    sensor.code === "30007" ? { ...sensor, enabled: false } : sensor,
  );
  const engine = new FollowingEngine({ ...site, sensors });
  engine.load(disk.saved());
  const baselines = engine.baselines("30007").size;
  const up = engine.reconcile(tx.now, T0 + MINUTE * 5);
  assert.deepEqual(summaries(up.events).toSorted(), [
    "pressure cleared warning +5",
    "silent cleared warning +5",
  ]);
  assert.equal(
    up.events[0]?.text,
    "Cleared: alarm pressure on Suction pressure at Feed line has ended, because its sensor is disabled.",
  );
  tx.commit();
  assert.deepEqual(engine.active("30007"), []);
  assert.ok(baselines > 0);
  assert.equal(engine.baselines("30007").size, baselines);
});

test("alarms – the payload has the members of the specification", () => {
  const [event] = feed(engineOf(siteWith([PRESSURE])), pressures([8.5, 8.5]));
  assert.ok(event);
  const payload: Record<string, unknown> = JSON.parse(
    eventPayload(event.id, "plant-7", eventText(event)),
  );
  assert.deepEqual(Object.keys(payload), [
    "v",
    "id",
    "site",
    "sensor",
    "kind",
    "value",
    "alarm",
    "severity",
    "state",
    "time",
    "limit",
    "hysteresis",
    "measured",
    "unit",
    "readingId",
    "raised",
    "since",
    "worst",
    "acknowledged",
    "text",
    "historical",
  ]);
  assert.equal(payload["time"], "2026-11-20T08:01:00.000Z");
});

test("alarms – since says when the machine began to show it, also by readings that come late, day by day backwards", () => {
  const engine = engineOf(siteWith([{ ...PRESSURE, delay: { readings: 2 } }]));
  const since = () => [...engine.alarms()].map(({ state }) => state.since && sinceMs(state.since));
  const DAY = 1440 * MINUTE;
  const [event] = feed(engine, pressures([5, 8.5, 8.6, 8.6]));
  assert.equal(event?.raisedMs, T0 + 2 * MINUTE);
  assert.equal(event?.sinceMs, T0 + MINUTE);
  // A late reading that is normal lies between.
  feed(engine, pressures([8.5, 8.5, 5], T0 - MINUTE * 60));
  assert.deepEqual(since(), [T0 + MINUTE]);

  // What was read in its order lies between as well, as on a first start, which reads today first.
  const morning = engineOf(siteWith([{ ...PRESSURE, delay: { readings: 2 } }]));
  feed(morning, pressures([5, 5, 8.5, 8.6]));
  feed(morning, pressures([8.5, 8.5, 8.5], T0 - DAY));
  assert.deepEqual(
    [...morning.alarms()].map(({ state }) => state.since && sinceMs(state.since)),
    [T0 + 2 * MINUTE],
  );

  const first = engineOf(siteWith([{ ...PRESSURE, delay: { readings: 2 } }]));
  const sinceFirst = () =>
    [...first.alarms()].map(({ state }) => state.since && sinceMs(state.since));
  feed(first, pressures([8.5, 8.6, 8.6]));
  feed(first, pressures([9.5, 8.5, 8.5], T0 - DAY));
  assert.deepEqual(sinceFirst(), [T0 - DAY]);
  feed(first, pressures([8.5, 5, 8.5, 8.5], T0 - 2 * DAY));
  assert.deepEqual(sinceFirst(), [T0 - 2 * DAY + 2 * MINUTE]);
  // Nothing before a normal reading counts.
  feed(first, pressures([8.5, 8.5], T0 - 3 * DAY));
  assert.deepEqual(sinceFirst(), [T0 - 2 * DAY + 2 * MINUTE]);
  const [cleared] = feed(first, pressures([5], T0 + 5 * MINUTE));
  assert.equal(cleared?.sinceMs, T0 - 2 * DAY + 2 * MINUTE);
});

test("alarms – after a restart, too, nothing before a normal reading counts for since", () => {
  const site = siteWith([{ ...PRESSURE, delay: { readings: 1 } }]);
  const disk = new Disk();
  feed(engineOf(site), pressures([5, 5, 5]), disk);
  const engine = new FollowingEngine(site);
  engine.load(disk.saved());
  const newestMs = T0 + 2 * MINUTE;
  engine.prime(LOOP.code, "loop", { timeMs: newestMs, id: "0".repeat(32) });
  const [event] = feed(engine, pressures([8.5], newestMs + MINUTE));
  feed(engine, pressures([8.5], T0 - 1440 * MINUTE));
  const since = [...engine.alarms()].map(({ state }) => state.since && sinceMs(state.since));
  assert.deepEqual([event?.sinceMs, ...since], [newestMs + MINUTE, newestMs + MINUTE]);
});

test("alarms – since begins with the readings beyond the limit that is passed, not with those beyond the other one before", () => {
  const rule = { ...PRESSURE, low: 2, delay: { readings: 2 } };
  const engine = engineOf(siteWith([rule]));
  const events = feed(engine, pressures([5, 1, 1, 8.5, 8.6]));
  assert.deepEqual(summaries(events), [
    "pressure active warning +2",
    "pressure cleared warning +3",
    "pressure active warning +4",
  ]);
  const minutes = events.map(({ sinceMs }) => (sinceMs - T0) / MINUTE);
  assert.deepEqual(minutes, [1, 1, 3]);
  // A late reading between them that shows it as well; before the last of the former alarm none counts.
  feed(engine, pressures([8.5], T0 + 2.5 * MINUTE));
  feed(engine, pressures([8.5], T0 + 1.5 * MINUTE));
  const since = () => [...engine.alarms()].map(({ state }) => state.since && sinceMs(state.since));
  assert.deepEqual(since(), [T0 + 2.5 * MINUTE]);

  // The same where the former limit was not passed for the whole delay.
  const [raised] = feed(engineOf(siteWith([rule])), pressures([5, 1, 8.5, 8.6]));
  assert.equal(raised?.sinceMs, T0 + 2 * MINUTE);
});
