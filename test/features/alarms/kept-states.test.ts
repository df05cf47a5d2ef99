/** When a state is written: as soon as what is saved of it differs, once, and again if that is taken back. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { UNLEARNED } from "../../../src/features/alarms/rules/baseline.ts";
import {
  copySensor,
  emptySensor,
  isSameSensor,
  normalAlarm,
  type SensorAlarms,
} from "../../../src/features/alarms/rules/sensor-alarms.ts";
import { AlarmStates } from "../../../src/features/alarms/rules/states.ts";
import { Transactions } from "../../support/tx.ts";

const ALARM = normalAlarm({ alarm: "high", kind: "loop", value: "channel1", unit: "bar" });
/** A value that is beyond its limit, for less than the delay. */
const WAITING = {
  ...ALARM,
  watch: {
    ...ALARM.watch,
    passing: {
      side: "high",
      sinceMs: 1,
      readings: 1,
      alarmSinceMs: null,
      alarmReadings: 0,
    },
  },
} as const;

function known(): SensorAlarms {
  const state = emptySensor();
  state.live.set("high/channel1", ALARM);
  state.baselines.set("change/channel1@any", UNLEARNED);
  return state;
}

for (const { what, change } of [
  { what: "an alarm that waits", change: (s) => s.live.set("high/channel1", WAITING) },
  { what: "an alarm that is over", change: (s) => s.live.delete("high/channel1") },
  { what: "a late alarm", change: (s) => s.past.set("high/channel1", WAITING) },
  { what: "the time of late readings", change: (s) => s.pastMs.set("loop", 5) },
  {
    what: "a baseline",
    change: (s) => s.baselines.set("change/channel1@any", { ...UNLEARNED, from: 3 }),
  },
  {
    what: "the samples of a baseline",
    change: (s) => {
      s.nextSample += 1;
    },
  },
  {
    what: "a scale",
    change: (s) => {
      s.scales = '{"loop/channel1":["bar"]}';
    },
  },
] satisfies { what: string; change: (state: SensorAlarms) => unknown }[])
  test(`alarm states – ${what} makes a state another one`, () => {
    const before = known();
    const now = copySensor(before);
    assert.equal(isSameSensor(before, now), true);
    change(now);
    assert.equal(isSameSensor(before, now), false);
    assert.equal(isSameSensor(now, before), false);
  });

test("alarm states – the time of the newest reading alone is no reason to write", () => {
  const now = copySensor(known());
  now.newest.set("loop", { timeMs: 7, id: "a" });
  assert.equal(isSameSensor(known(), now), true);
});

test("alarm states – each change of a transaction is written once, with what a later response of it adds", () => {
  const states = new AlarmStates();
  const tx = new Transactions();
  const written = () => states.changes(tx.now).map(({ sensor }) => sensor);
  states.put(tx.now, "1", "high/channel1", WAITING);
  assert.deepEqual(written(), ["1"]);
  assert.deepEqual(written(), []);
  states.edit(tx.now, "1").past.set("high/channel1", WAITING);
  states.edit(tx.now, "2");
  assert.deepEqual(written(), ["1"]);
  tx.commit();
  states.edit(tx.now, "1");
  assert.deepEqual(written(), []);
  tx.commit();
});

test("alarm states – what a transaction that failed had written is written again by the next one", () => {
  const states = new AlarmStates();
  const tx = new Transactions();
  const write = () => {
    states.put(tx.now, "1", "high/channel1", WAITING);
    return states.changes(tx.now).length;
  };
  assert.equal(write(), 1);
  tx.rollBack();
  assert.equal(states.of("1").live.size, 0);
  assert.equal(write(), 1);
  tx.commit();
  assert.equal(write(), 0);
});

test("alarm states – say whose have changed since a revision, also by what was taken back", () => {
  const states = new AlarmStates();
  const tx = new Transactions();
  const start = states.revision;
  states.put(tx.now, "1", "high/channel1", WAITING);
  tx.commit();
  const first = states.revision;
  states.put(tx.now, "2", "high/channel1", WAITING);
  const within = states.revision;
  tx.rollBack();
  const since = (revision: number) => [...(states.changedSince(revision) ?? ["any"])];
  assert.deepEqual(since(start), ["1", "2"]);
  assert.deepEqual(since(first), ["2"]);
  assert.deepEqual(since(within), ["2"]);
  assert.deepEqual(since(states.revision), []);
  states.replaced();
  assert.deepEqual(since(first), ["any"], "by another site file");
  assert.deepEqual(since(states.revision), []);
});
