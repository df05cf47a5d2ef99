import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type ConditionInput,
  type ConditionSensor,
  machineCondition,
  type OpenAlarm,
} from "../../../src/core/machine-condition/condition.ts";
import { worseFirst } from "../../../src/core/machine-condition/order.ts";

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
  machineCondition({ state: null, standing: null, sensors: [sensor()], alarms: [], ...change });
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
  const found = of({ sensors: [sensor(), sensor({ ...silent, code: "2", name: null })] });
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
});

test("machine order – state, unacknowledged, stage, zone, longest since, name in natural order", () => {
  const base = {
    condition: "warning",
    isAcknowledged: false,
    stage: null,
    zone: null,
    since: null,
  } as const;
  const since = (days: number) => ({ timeMs: NOW - days * DAY, isAtLeast: false });
  const worst = [
    { ...base, condition: "alarm", label: "z" },
    { ...base, condition: "alarm", isAcknowledged: true, stage: 3, label: "a" },
    { ...base, stage: 2, zone: "A", label: "z" },
    { ...base, stage: 1, zone: "D", label: "a" },
    { ...base, zone: "D", since: since(1), label: "z" },
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
