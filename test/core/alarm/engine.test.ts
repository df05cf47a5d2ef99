import assert from "node:assert/strict";
import { test } from "node:test";
import { AlarmEngine } from "../../../src/core/alarm/engine.ts";
import { eventPayload, eventText } from "../../../src/core/alarm/event.ts";
import {
  ACCEL,
  Disk,
  engineOf,
  feed,
  LOOP,
  MINUTE,
  PRESSURE,
  PUMP,
  pressures,
  RPM,
  reading,
  siteWith,
  speeds,
  summaries,
  T0,
  vibrations,
} from "./support.ts";

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
    "Warning: Suction pressure at Feed line (30007) is 8.2 bar, above the limit of 8 bar.",
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

test("alarms – a value of bad quality neither raises nor clears, and is an alarm of its own", () => {
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
  const events = feed(engineOf(siteWith([])), vibrations([1, 3, 5, 2.7, 2.5]));
  assert.deepEqual(summaries(events), [
    "zone active warning +10",
    "zone active alarm +20",
    "zone active warning +30",
    "zone cleared warning +40",
  ]);
  assert.equal(events[1]?.limit, 4.5);
  assert.equal(events[1]?.value, "channel1_vel_rms");
});

test("alarms – zoneReadings delays the warning of zone C; zone D is not delayed", () => {
  const site = { ...siteWith([]), zoneReadings: 2 };
  assert.deepEqual(feed(engineOf(site), vibrations([1, 3, 1, 3.5, 1])), []);
  const once = feed(engineOf(site), vibrations([1, 5, 1]));
  assert.deepEqual(summaries(once), ["zone active alarm +10", "zone cleared alarm +20"]);
  const twice = feed(engineOf(site), vibrations([3, 3, 1]));
  assert.deepEqual(summaries(twice), ["zone active warning +10", "zone cleared warning +20"]);
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
  assert.equal(engine.machineState(ACCEL.code, T0 + 4 * MINUTE), "standing");
  assert.deepEqual(feed(engine, vibrations([6], T0 + 4 * MINUTE)), []);
  feed(engine, speeds([1480], T0 + 5 * MINUTE));
  assert.equal(engine.machineState(ACCEL.code, T0 + 5 * MINUTE), "running");
  assert.deepEqual(summaries(feed(engine, vibrations([6], T0 + 6 * MINUTE))), [
    "zone active alarm +6",
  ]);
  feed(engine, speeds([0], T0 + 7 * MINUTE));
  assert.deepEqual(feed(engine, vibrations([0.1], T0 + 8 * MINUTE)), []);
});

test("alarms – onlyRunning waits while the state of the machine is unknown", () => {
  const engine = engineOf(
    siteWith([{ ...PRESSURE, onlyRunning: true, delay: { readings: 1 } }], [PUMP]),
  );
  assert.deepEqual(feed(engine, pressures([9.5])), []);
  feed(engine, speeds([1480, 1480, 1480], T0 + MINUTE));
  assert.deepEqual(summaries(feed(engine, pressures([9.5], T0 + 4 * MINUTE))), [
    "pressure active alarm +4",
  ]);
  // The newest speed is older than three of its intervals of a minute.
  assert.deepEqual(feed(engine, pressures([5], T0 + 7 * MINUTE)), []);
  feed(engine, speeds([1480], T0 + 8 * MINUTE));
  assert.deepEqual(summaries(feed(engine, pressures([5], T0 + 8 * MINUTE))), [
    "pressure cleared alarm +8",
  ]);
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
  assert.deepEqual(engine.follow(RPM.code, "rpm", day).events, expected);
  engine.committed();
  feed(engine, speeds([1480], T0 + 7 * MINUTE));
  assert.deepEqual(summaries(feed(engine, pressures([9.5, 9.5], T0 + 7 * MINUTE))), [
    "pressure active alarm +8",
  ]);
});

test("alarms – a reading behind a stale signal waits for the signal of its own time, however late that arrives", () => {
  const rule = { ...PRESSURE, onlyRunning: true, delay: { readings: 1 } };
  const engine = engineOf(siteWith([rule], [PUMP]));
  feed(engine, speeds([1480, 1480, 1480, 1480]));
  // Three intervals of a minute after the last speed are the last moment at which it counts.
  assert.equal(engine.machineState(LOOP.code, T0 + 6 * MINUTE), "running");
  assert.equal(engine.machineState(LOOP.code, T0 + 6 * MINUTE + 1), null);
  assert.deepEqual(feed(engine, pressures([9.5], T0 + 8 * MINUTE)), [], "it ran five minutes ago");
  assert.deepEqual([...engine.alarms()], []);
  // A newer speed says nothing of the time before it.
  assert.deepEqual(feed(engine, speeds([1480], T0 + 9 * MINUTE)), []);
  assert.deepEqual([...engine.alarms()], []);
  // The one that was missing arrives.
  assert.deepEqual(summaries(feed(engine, speeds([1480], T0 + 7 * MINUTE))), [
    "pressure active alarm +8",
  ]);
  const standing = engineOf(siteWith([rule], [PUMP]));
  feed(standing, speeds([1480, 1480, 1480, 1480]));
  feed(standing, pressures([9.5], T0 + 8 * MINUTE));
  assert.deepEqual(feed(standing, speeds([0], T0 + 7.5 * MINUTE)), [], "it stood by then");
  assert.deepEqual([...standing.alarms()], []);
});

test("alarms – a transaction that fails keeps the waiting readings", () => {
  const engine = engineOf(
    siteWith([{ ...PRESSURE, onlyRunning: true, delay: { readings: 1 } }], [PUMP]),
  );
  feed(engine, pressures([9.5]));
  const day = speeds([1480]).map(({ reading: one }) => one);
  assert.equal(engine.follow(RPM.code, "rpm", day).events.length, 1);
  engine.undone();
  assert.equal(engine.follow(RPM.code, "rpm", day).events.length, 1);
});

test("alarms – a message never says that a value within the hysteresis is beyond the limit", () => {
  const engine = engineOf(siteWith([{ ...PRESSURE, delay: { readings: 1 } }]));
  const [, warning] = feed(engine, pressures([9.5, 7.8]));
  assert.equal(
    warning?.text,
    "Warning: Suction pressure at Feed line (30007) is 7.8 bar, not yet 0.3 bar below the limit of 8 bar.",
  );
});

test("alarms – the machine's state at an earlier time is taken from the signal of that time", () => {
  const engine = engineOf(siteWith([], [PUMP]));
  feed(engine, speeds([1480, 1480, 0, 0, 1480]));
  assert.equal(engine.machineState(LOOP.code, T0 + 2.5 * MINUTE), "standing");
  assert.equal(engine.machineState(LOOP.code, T0 + 1.5 * MINUTE), "running");
  assert.equal(engine.machineState(LOOP.code, T0 - 1), null);
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
  const up = engine.follow(LOOP.code, "loop", [{ ...future.reading, isFuture: true }]);
  assert.deepEqual(up.events, []);
  engine.committed();
  assert.deepEqual(summaries(feed(engine, pressures([8.5]))), ["pressure active warning +0"]);
});

test("alarms – what was evaluated in a failed transaction is undone", () => {
  const engine = engineOf(siteWith([PRESSURE]));
  const [first, second] = pressures([8.5, 8.5]);
  assert.ok(first && second);
  engine.follow(LOOP.code, "loop", [first.reading, second.reading]);
  engine.undone();
  assert.deepEqual(summaries(feed(engine, [first, second])), ["pressure active warning +1"]);
});

test("alarms – a sensor that falls silent is reported once, also across a restart, and once when it sends again", () => {
  const disk = new Disk();
  const site = siteWith([]);
  const engine = engineOf(site);
  feed(engine, pressures([5]), disk);
  const state = (word: "silent" | "online", lastReadingMs: number) => [
    { code: LOOP.code, state: word, lastReadingMs, batteryV: null, kinds: [] },
  ];
  const tick = (of: AlarmEngine, word: "silent" | "online", minute: number, lastMs = T0) => {
    const up = of.tick(T0 + minute * MINUTE, state(word, lastMs), true);
    disk.write(up);
    of.committed();
    return up.events;
  };
  const [silent] = tick(engine, "silent", 4);
  assert.equal(silent?.readingId, pressures([5])[0]?.reading.id);
  assert.match(silent?.text ?? "", /Feed line \(30007\) has sent nothing for 4 minutes/);
  const again = new AlarmEngine(site);
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
    const { events } = engine.tick(T0 + minute * MINUTE, seen, true);
    engine.committed();
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

test("alarms – an alarm that is no longer configured ends with a closing event", () => {
  const disk = new Disk();
  feed(engineOf(siteWith([PRESSURE])), pressures([8.5, 8.5]), disk);
  const engine = new AlarmEngine(siteWith([]));
  engine.load(disk.saved());
  const up = engine.reconcile(T0 + MINUTE * 5);
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
  disk.write(before.tick(T0 + 4 * MINUTE, [{ ...silent, state: "silent" }], true));
  before.committed();
  const sensors = site.sensors.map((sensor) =>
    sensor.code === "30007" ? { ...sensor, enabled: false } : sensor,
  );
  const engine = new AlarmEngine({ ...site, sensors });
  engine.load(disk.saved());
  const baselines = engine.baselines("30007").size;
  const up = engine.reconcile(T0 + MINUTE * 5);
  assert.deepEqual(summaries(up.events).toSorted(), [
    "pressure cleared warning +5",
    "silent cleared warning +5",
  ]);
  assert.equal(
    up.events[0]?.text,
    "Cleared: alarm pressure on channel1 has ended, because sensor 30007 is disabled.",
  );
  engine.committed();
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
    "worst",
    "acknowledged",
    "text",
    "historical",
  ]);
  assert.equal(payload["time"], "2026-11-20T08:01:00.000Z");
});
