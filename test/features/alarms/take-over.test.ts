import assert from "node:assert/strict";
import { test } from "node:test";
import { eventPayload, eventText } from "../../../src/core/alarm/event.ts";
import type { AlarmRule } from "../../../src/core/alarm/rule.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import type { Site } from "../../../src/core/site.ts";
import { isNewestEvent } from "../../../src/features/alarms/active-payloads.ts";
import { FollowingEngine } from "../../support/following-engine.ts";
import { Transactions } from "../../support/tx.ts";
import {
  Disk,
  engineOf,
  feed,
  LOOP,
  MINUTE,
  PRESSURE,
  pressures,
  siteWith,
  T0,
} from "./support.ts";

const tx = new Transactions();

const CHANGE: AlarmRule = {
  name: "pressure-change",
  select: { values: ["channel1"] },
  baseline: { readings: 20, deviations: 4 },
  delay: { readings: 9 },
};
const BEFORE = siteWith([PRESSURE, CHANGE]);
const NEXT: Sensor = { ...LOOP, code: "30008", replaces: ["30007"] };
const withSensors = (...sensors: readonly Sensor[]): Site => ({ ...BEFORE, sensors });
const AFTER = withSensors(NEXT);
const learning = Array.from({ length: 20 }, (_, i) => 5 + (i % 3) * 0.02);
const KEY = "pressure-change/channel1@any";
const of = (sensor: Sensor, values: readonly number[], fromMs: number) =>
  pressures(values, fromMs).map(({ reading, kind }) => ({
    sensor,
    kind,
    reading: { ...reading, id: `${sensor.code}${reading.timeMs}`.padStart(32, "0") },
  }));

/** An active, acknowledged alarm and a learned baseline under the old code. */
function inAlarm(disk: Disk): FollowingEngine {
  const engine = engineOf(BEFORE);
  feed(engine, pressures([...learning, 8.5, 8.5]), disk);
  const [found] = [...engine.alarms()].filter(({ state }) => state.alarm === "pressure");
  assert.ok(found);
  const acknowledged = { by: "Ann", timeMs: T0 + 23 * MINUTE, note: "valve" };
  disk.write(
    engine.change(
      tx.now,
      found,
      { acknowledged, shelved: null, note: null },
      "acknowledge",
      T0 + 23 * MINUTE,
      "Ann",
    ),
  );
  tx.commit();
  return engine;
}

test("sensor replaced – an active alarm stands under the old code until the new one's first reading, then under the new one", () => {
  const disk = new Disk();
  const engine = inAlarm(disk);
  const before = engine.active("30007").find(({ alarm }) => alarm === "pressure");
  engine.setSite(AFTER);
  assert.deepEqual(engine.reconcile(tx.now, T0 + 60 * MINUTE).events, [], "nothing ends before");
  tx.commit();
  assert.equal(engine.active("30007").length, 1);

  const [ended, stands, ...more] = feed(engine, of(NEXT, [8.6], T0 + 70 * MINUTE), disk);
  assert.deepEqual(
    [ended?.sensor, ended?.state, ended?.reason, ended?.alarm],
    ["30007", "cleared", "replaced", "pressure"],
  );
  assert.deepEqual(
    [stands?.sensor, stands?.state, stands?.severity, stands?.raisedMs, stands?.sinceMs],
    ["30008", "active", "warning", ended?.raisedMs, ended?.sinceMs],
  );
  assert.deepEqual(stands?.acknowledged, before?.acknowledged);
  assert.deepEqual(more, []);
  assert.deepEqual(engine.active("30007"), []);
  const [now] = engine.active("30008");
  assert.equal(now?.raised?.timeMs, before?.raised?.timeMs);
  // The sentence names the former sensor, so it says why, wherever the alarm is shown.
  assert.match(stands?.text ?? "", /Feed line .*Continued from sensor 30007, which was replaced/);
  assert.equal(now?.raised?.text, stands?.text);
  assert.equal(engine.find(stands?.id ?? "")?.code, "30008");
  assert.ok(engine.baselines("30008").get(KEY)?.first, "the baseline goes on");
  assert.equal(engine.baselines("30007").size, 0);

  // It ends by the new sensor's readings; a restart in between changes nothing.
  const again = new FollowingEngine(AFTER);
  again.load(disk.saved());
  again.prime("30008", "loop", { timeMs: T0 + 70 * MINUTE, id: "0" });
  assert.deepEqual(again.reconcile(tx.now, T0 + 71 * MINUTE).events, []);
  const [cleared] = feed(again, of(NEXT, [5], T0 + 72 * MINUTE));
  assert.deepEqual([cleared?.sensor, cleared?.state, cleared?.reason], ["30008", "cleared", null]);
});

test("sensor replaced – a baseline that was being learned goes on where it was, across restarts", () => {
  const disk = new Disk();
  feed(engineOf(BEFORE), pressures(learning.slice(0, 12)), disk);
  const second = new FollowingEngine(AFTER);
  second.load(disk.saved());
  disk.write(second.reconcile(tx.now, T0 + 60 * MINUTE));
  tx.commit();
  feed(second, of(NEXT, [5], T0 + 61 * MINUTE), disk);
  assert.equal(second.baselines("30008").get(KEY)?.count, 13);
  const third = new FollowingEngine(AFTER);
  third.load(disk.saved());
  assert.equal(third.baselines("30008").get(KEY)?.count, 13);
  feed(third, of(NEXT, learning.slice(0, 7), T0 + 62 * MINUTE), disk);
  assert.ok(third.baselines("30008").get(KEY)?.first);
});

test("sensor replaced – a chain, listed in any order or told by entries that are still there", () => {
  for (const site of [
    withSensors({ ...LOOP, code: "30009", replaces: ["30007", "30008"] }),
    withSensors({ ...LOOP, code: "30009", replaces: ["30008", "30007"] }),
    withSensors({ ...LOOP, code: "30009", replaces: ["30008"] }, { ...NEXT, enabled: false }),
  ]) {
    const engine = inAlarm(new Disk());
    engine.setSite(site);
    engine.reconcile(tx.now, T0 + 60 * MINUTE);
    tx.commit();
    const events = feed(engine, of({ ...LOOP, code: "30009" }, [8.6], T0 + 70 * MINUTE));
    assert.deepEqual(
      events.map(({ sensor, state }) => [sensor, state]),
      [
        ["30007", "cleared"],
        ["30009", "active"],
      ],
    );
  }
});

test("sensor replaced – where the new one has readings already, it takes over with the reload", () => {
  const engine = inAlarm(new Disk());
  engine.setSite(withSensors(LOOP, { ...LOOP, code: "30008" }));
  feed(engine, of({ ...LOOP, code: "30008" }, [5], T0 + 50 * MINUTE));
  engine.setSite(AFTER);
  const { events } = engine.reconcile(tx.now, T0 + 60 * MINUTE);
  tx.commit();
  assert.deepEqual(
    events.map(({ sensor, state }) => [sensor, state]),
    [
      ["30007", "cleared"],
      ["30008", "active"],
    ],
  );
});

test("sensor replaced – where both are in alarm, the new one's goes on, since the earlier of both began", () => {
  const site = (...sensors: readonly Sensor[]): Site => ({
    ...siteWith([{ ...PRESSURE, select: { values: ["channel1"] } }]),
    sensors,
  });
  const since = (engine: FollowingEngine, code: string) => engine.active(code)[0]?.since ?? null;
  const other = { ...LOOP, code: "30008" };
  for (const ownFromMs of [T0 + 50 * MINUTE, T0 - 50 * MINUTE]) {
    const engine = engineOf(site(LOOP, other));
    feed(engine, of(LOOP, [8.5, 8.5], T0));
    feed(engine, of(other, [8.5, 8.5], ownFromMs));
    const before = [since(engine, "30007"), since(engine, "30008")];
    assert.ok(before.every((one) => one !== null));
    engine.setSite(site(NEXT));
    const { events } = engine.reconcile(tx.now, T0 + 60 * MINUTE);
    tx.commit();
    assert.deepEqual(
      events.map(({ sensor, state }) => [sensor, state]),
      [["30007", "cleared"]],
    );
    assert.deepEqual(since(engine, "30008"), before[ownFromMs > T0 ? 0 : 1]);
  }
});

test("sensor replaced – its own battery, silence and bad values end with it, and a value in another unit does not go on", () => {
  const bad = { channel1: { quality: "bad", reason: "wire_break" } } as const;
  const wireBreak = pressures([null, null, null], T0 + 40 * MINUTE);
  assert.deepEqual(wireBreak[0]?.reading.quality, bad);
  const engine = inAlarm(new Disk());
  feed(engine, wireBreak);
  const kpa = { channel1: { name: "Suction pressure", unit: "kPa", low: 0, high: 1000 } };
  engine.setSite(withSensors({ ...NEXT, channels: kpa }));
  const atOnce = engine.reconcile(tx.now, T0 + 60 * MINUTE).events;
  tx.commit();
  assert.deepEqual(
    atOnce.map(({ alarm, state }) => [alarm, state]),
    [["bad_quality", "cleared"]],
  );
  const events = feed(engine, of(NEXT, [500], T0 + 70 * MINUTE));
  assert.deepEqual(
    events.map(({ sensor, alarm, reason }) => [sensor, alarm, reason]),
    [["30007", "pressure", "replaced"]],
  );
  assert.equal(engine.baselines("30008").get(KEY)?.count, 1);
});

const ZEROS: Sensor = { ...LOOP, code: "0030007" };

/** The same under a code with leading zeros, after a restart. */
function zerosInAlarm(disk: Disk, after: Site): FollowingEngine {
  const engine = engineOf(withSensors(ZEROS));
  feed(engine, of(ZEROS, [8.5, 8.5], T0), disk);
  assert.equal(engine.active("30007").length, 1);
  const again = new FollowingEngine(after);
  again.load(disk.saved());
  return again;
}

test("alarms – the end under a code that is gone from the site file has it as topics have it, with its leading zeros", () => {
  const removed = zerosInAlarm(new Disk(), withSensors());
  assert.equal([...removed.alarms()][0]?.written, "0030007");
  const { events } = removed.reconcile(tx.now, T0 + 60 * MINUTE);
  tx.commit();
  assert.deepEqual(
    events.map(({ sensor, state }) => [sensor, state]),
    [["0030007", "cleared"]],
  );

  const replaced = zerosInAlarm(new Disk(), AFTER);
  const told = feed(replaced, of(NEXT, [8.6], T0 + 70 * MINUTE));
  assert.deepEqual(
    told.map(({ sensor, state }) => [sensor, state]),
    [
      ["0030007", "cleared"],
      ["30008", "active"],
    ],
  );
});

test("alarms – a code written with other leading zeros ends there and stands here, once, and clears here", () => {
  const disk = new Disk();
  const engine = zerosInAlarm(disk, withSensors(LOOP));
  const [before] = engine.active("30007");
  const up = engine.reconcile(tx.now, T0 + 60 * MINUTE);
  disk.write(up);
  tx.commit();
  const [ended, stands, ...more] = up.events;
  assert.deepEqual([ended?.sensor, ended?.state], ["0030007", "cleared"]);
  assert.deepEqual(
    [stands?.sensor, stands?.state, stands?.raisedMs],
    ["30007", "active", before?.raised?.timeMs],
  );
  assert.deepEqual(more, []);
  assert.equal(new Set([before?.raised?.eventId, ended?.id, stands?.id]).size, 3);
  const site = engine.site.site;
  const payload = (event = ended) => eventPayload(`${event?.id}`, site, eventText(event as never));
  assert.ok(isNewestEvent(engine, payload()), "the topic of the former spelling is cleared");
  assert.ok(isNewestEvent(engine, payload(stands)));
  assert.deepEqual(engine.reconcile(tx.now, T0 + 61 * MINUTE).events, []);
  tx.commit();

  const again = new FollowingEngine(withSensors(LOOP));
  again.load(disk.saved());
  assert.deepEqual(again.reconcile(tx.now, T0 + 62 * MINUTE).events, []);
  tx.commit();
  const [cleared] = feed(again, of(LOOP, [5], T0 + 70 * MINUTE));
  assert.deepEqual([cleared?.sensor, cleared?.state], ["30007", "cleared"]);
});

test("sensor replaced – a transaction that fails leaves everything with the old one", () => {
  const engine = inAlarm(new Disk());
  engine.setSite(AFTER);
  const [first] = of(NEXT, [8.6], T0 + 70 * MINUTE);
  assert.ok(first);
  engine.follow(tx.now, "30008", "loop", [first.reading]);
  tx.rollBack();
  assert.equal(engine.active("30007").length, 1);
  assert.equal(engine.active("30008").length, 0);
});
