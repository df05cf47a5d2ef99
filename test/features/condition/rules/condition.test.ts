import assert from "node:assert/strict";
import { test } from "node:test";
import { changeOf, zoneChange } from "../../../../src/features/condition/rules/change.ts";
import {
  type ConditionInput,
  type ConditionSensor,
  machineCondition,
  type OpenAlarm,
} from "../../../../src/features/condition/rules/condition.ts";
import { worseFirst } from "../../../../src/features/condition/rules/order.ts";

const NOW = Date.parse("2026-11-20T12:00:00Z");
const DAY = 86_400_000;

const sensor = (change: Partial<ConditionSensor> = {}): ConditionSensor => ({
  code: "1",
  name: "Drive end",
  isRead: true,
  lastReadingMs: NOW - 60_000,
  isFresh: true,
  isJudged: true,
  isJudgedNow: true,
  zone: "A",
  isBatteryLow: false,
  ...change,
});
const alarm = (change: Partial<OpenAlarm> = {}): OpenAlarm => ({
  id: "a",
  sensor: "1",
  alarm: "zone",
  value: "channel1_vel_rms",
  severity: "warning",
  isAcknowledged: false,
  isShelved: false,
  sinceMs: NOW - DAY,
  stage: null,
  text: "Vibration is in zone C.",
  ...change,
});
const of = (change: Partial<ConditionInput> = {}) =>
  machineCondition({
    state: null,
    standing: null,
    sensors: [sensor()],
    alarms: [],
    outlook: null,
    nowMs: NOW,
    ...change,
  });
const silent = { isFresh: false, isJudgedNow: false, lastReadingMs: NOW - DAY };

test("machine condition – ok needs a judged reading younger than three intervals", () => {
  assert.equal(of().condition, "ok");
  const stale = of({ sensors: [sensor({ isJudgedNow: false })] });
  assert.deepEqual([stale.condition, stale.unknown], ["unknown", "no_recent_judgement"]);
  // A fresh tachometer says nothing of the vibration that is missing.
  const other = sensor({ code: "2", isJudged: false, isJudgedNow: false, zone: null });
  assert.equal(of({ sensors: [sensor(silent), other] }).condition, "unknown");
});

test("machine condition – unknown says which: no sensor, not read, never read, silent, nothing judged", () => {
  const never = { lastReadingMs: null, isFresh: false, isJudgedNow: false };
  const nothing = { isJudged: false, isJudgedNow: false };
  for (const [sensors, reason] of [
    [[], "no_sensor"],
    [[sensor({ isRead: false })], "not_read"],
    [[sensor(never), sensor({ ...never, code: "2" })], "never_read"],
    [[sensor(silent), sensor({ ...never, code: "2" })], "no_recent_reading"],
    [[sensor(nothing)], "nothing_judged"],
  ] as const) {
    const found = of({ sensors });
    assert.deepEqual([found.condition, found.unknown], ["unknown", reason]);
    assert.match(found.reason, /\.$/);
  }
  assert.equal(of({ sensors: [sensor(silent)] }).since?.timeMs, NOW - DAY);
});

test("machine condition – one silent sensor of several is a mark, all of them unknown", () => {
  const found = of({ sensors: [sensor(), sensor({ ...silent, code: "2", name: "Sensor 2" })] });
  assert.equal(found.condition, "ok");
  assert.deepEqual(found.marks, [{ sensor: "2", mark: "silent", text: "Sensor 2 is silent." }]);
  assert.equal(of({ sensors: [sensor(silent), sensor(silent)] }).condition, "unknown");
});

test("machine condition – alarms of the sensor are never the machine's", () => {
  const own = ["silent", "battery_low", "bad_quality"].map((name) =>
    alarm({ alarm: name, severity: "alarm" }),
  );
  const found = of({ alarms: own, sensors: [sensor({ isBatteryLow: true })] });
  assert.equal(found.condition, "ok");
  assert.deepEqual(
    found.marks.map(({ mark }) => mark),
    ["battery_low", "bad_quality"],
  );
});

test("machine condition – an open alarm counts before all else, also on a silent machine that stands", () => {
  const found = of({ state: "standing", sensors: [sensor(silent)], alarms: [alarm()] });
  assert.equal(found.condition, "warning");
  assert.equal(of({ alarms: [alarm(), alarm({ severity: "alarm" })] }).condition, "alarm");
});

test("machine condition – a shelved alarm does not count and is marked; its zone does not count either", () => {
  const found = of({
    sensors: [sensor({ zone: "D" })],
    alarms: [alarm({ isShelved: true, severity: "alarm" })],
  });
  assert.deepEqual([found.condition, found.zone], ["ok", null]);
  assert.deepEqual(
    found.marks.map(({ mark }) => mark),
    ["shelved"],
  );
});

test("machine condition – the reason is that of the worst alarm, with the number of the others", () => {
  assert.equal(of({ alarms: [alarm()] }).reason, "Vibration is in zone C.");
  const found = of({
    alarms: [
      alarm(),
      alarm({ sinceMs: NOW - 9 * DAY }),
      alarm({ severity: "alarm", isAcknowledged: true, text: "Outer-race damage.", stage: 3 }),
    ],
  });
  assert.equal(found.reason, "Outer-race damage. (and 2 more)");
  assert.equal(found.since?.timeMs, NOW - DAY);
  assert.equal(found.stage, 3);
  // Nobody needs to look at the alarm again; the warning is not what makes the state.
  assert.equal(found.isAcknowledged, true);
});

test("machine condition – a machine that stands is judged by its last running record", () => {
  const standing = { timeMs: NOW - DAY, isAtLeast: true };
  const found = of({
    state: "standing",
    standing,
    sensors: [sensor({ isJudgedNow: false, zone: "B" })],
  });
  assert.deepEqual([found.condition, found.since], ["standing", standing]);
  assert.match(found.reason, /zone B/);
  assert.equal(of({ state: "standing", standing, sensors: [sensor(silent)] }).condition, "unknown");
});

test("machine condition – without alarms the zone speaks for itself", () => {
  for (const [zone, condition] of [
    ["B", "ok"],
    ["C", "warning"],
    ["D", "alarm"],
  ] as const)
    assert.equal(of({ alarms: null, sensors: [sensor({ zone })] }).condition, condition);
  // For as long as it is one of now.
  const old = sensor({ ...silent, zone: "D" });
  assert.equal(of({ alarms: null, sensors: [old] }).condition, "unknown");
});

test("machine condition – an outlook that begins within 60 days is watched, before unknown and standing, never above an alarm", () => {
  const outlook = (days: number) => ({ fromMs: NOW + days * DAY, text: "Reaches 4.5 mm/s." });
  const watched = of({ outlook: outlook(60) });
  assert.deepEqual([watched.condition, watched.reason], ["watch", "Reaches 4.5 mm/s."]);
  assert.equal(watched.outlookMs, NOW + 60 * DAY);
  assert.equal(of({ outlook: outlook(61) }).condition, "ok");
  assert.equal(of({ outlook: outlook(9), sensors: [sensor(silent)] }).condition, "watch");
  assert.equal(of({ outlook: outlook(9), alarms: [alarm()] }).condition, "warning");
});

test("change – the month before, else the pinned measurement, the baseline, or the day from which there is one", () => {
  const pump = { code: "1", type: 3, kinds: ["accel"], channels: {} } as const;
  const input = {
    sensor: pump,
    value: "channel1_vel_rms",
    unit: "mm/s",
    now: 4.1234,
    month: 2,
    pin: { timeMs: NOW - 90 * DAY, number: 1.5 },
    baseline: 1.8,
    firstDay: Math.floor(NOW / DAY) - 20,
  };
  const text = (change: object) => changeOf({ ...input, ...change }).text;
  const head = "Vibration velocity (RMS) of axis H: 4.12 mm/s in the last day";
  assert.equal(text({}), `${head}, 2 mm/s a month ago.`);
  assert.equal(text({ month: null }), `${head}, 1.5 mm/s in the pinned measurement of 22 Aug.`);
  assert.equal(text({ month: null, pin: null }), `${head}, 1.8 mm/s is usual (its baseline).`);
  const none = { month: null, pin: null, baseline: null };
  assert.equal(text(none), `${head}, nothing to compare with before 27 Nov.`);
  assert.match(text({ now: null }), /none of the running machine in the last day, 2 mm\/s a month/);
});

test("zone change – the day from which the newest zone holds without a break", () => {
  const days = (zones: string) => Array.from(zones, (zone, day) => ({ day: 100 + day, zone }));
  assert.deepEqual(zoneChange(days("ABBACCC")), { day: 104, zone: "C", before: "A" });
  assert.equal(zoneChange(days("BBB")), null);
  assert.equal(zoneChange([]), null);
});

test("machine order – state, unacknowledged, stage, zone, earliest outlook, longest since, name in natural order", () => {
  const base = {
    condition: "warning",
    isAcknowledged: false,
    stage: null,
    zone: null,
    outlookMs: null,
    since: null,
  } as const;
  const since = (days: number) => ({ timeMs: NOW - days * DAY, isAtLeast: false });
  const worst = [
    { ...base, condition: "alarm", label: "z" },
    { ...base, condition: "alarm", isAcknowledged: true, stage: 3, label: "a" },
    { ...base, stage: 2, zone: "A", label: "z" },
    { ...base, stage: 1, zone: "D", label: "a" },
    { ...base, zone: "D", since: since(1), label: "z" },
    { ...base, zone: "C", outlookMs: NOW + DAY, label: "z" },
    { ...base, zone: "C", outlookMs: NOW + 9 * DAY, since: since(9), label: "z" },
    { ...base, zone: "C", since: since(9), label: "z" },
    { ...base, zone: "C", since: since(1), label: "a" },
    { ...base, isAcknowledged: true, label: "a" },
    { ...base, condition: "unknown", label: "a" },
    { ...base, condition: "standing", label: "a" },
    { ...base, condition: "ok", label: "Pump 2" },
    { ...base, condition: "ok", label: "pump 10" },
  ] as const;
  assert.deepEqual([...worst].reverse().toSorted(worseFirst), worst);
});
