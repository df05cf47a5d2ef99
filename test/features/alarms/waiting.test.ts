import assert from "node:assert/strict";
import { test } from "node:test";
import type { Sensor } from "../../../src/core/sensor.ts";
import type { Site } from "../../../src/core/site.ts";
import { WaitTable } from "../../../src/features/machines/wait-table.ts";
import { alarmLogOf } from "../../support/alarm-log.ts";
import { openAlarms } from "../../support/open-alarms.ts";
import { append, dayOf, keyOf, readingOf, START_MS } from "../../support/temp-database.ts";

const MINUTE_MS = 60_000;
const location = { company: 1, area: 1, machine: 40, point: 1 };
const pump: Sensor = {
  code: "200",
  type: 3,
  kinds: ["accel"],
  channels: {},
  machineClass: "group2-rigid",
  location,
};
const speed: Sensor = { code: "300", type: 6, kinds: ["rpm"], channels: {} };
const SITE: Site = {
  site: "plant-7",
  sensors: [pump, speed],
  machines: [{ id: 40, running: { sensor: "300", kind: "rpm", value: "rpm", above: 300 } }],
};

test("alarms – what waits for a signal survives a restart, and is judged with the signal or by a read without one", async (t) => {
  const { open, store } = openAlarms(t, SITE, START_MS);
  const waiting = new WaitTable(store.tables.db);
  const vibration = (minute: number) => {
    const values = { channel1_vel_rms: 9, channel1_zone: "D" };
    const timeMs = START_MS + minute * MINUTE_MS;
    return append(store, [readingOf(pump.code, timeMs, { kind: "accel", values })]);
  };
  const rpm = (minute: number, value: number) => {
    const timeMs = START_MS + minute * MINUTE_MS;
    const key = keyOf(speed.code, "rpm", dayOf(timeMs));
    const readings = [readingOf(speed.code, timeMs, { kind: "rpm", values: { rpm: value } })];
    return append(store, readings, key, null, timeMs);
  };
  await vibration(1);
  await rpm(0, 1480);
  let { engines } = open();
  assert.deepEqual(engines.alarms.active(pump.code), []);
  await rpm(2, 1480);
  const [alarm] = engines.alarms.active(pump.code);
  assert.equal(alarm?.raised?.timeMs, START_MS + MINUTE_MS);

  await rpm(10, 0);
  await vibration(12);
  ({ engines } = open());
  await alarmLogOf(store).apply("judge", (tx) => engines.alarms.judgeDue(tx), true);
  assert.equal(waiting.all().length, 1);
  engines.alarms.wait.noteRead(speed.code, "rpm", {
    day: dayOf(START_MS),
    atMs: START_MS + 22 * MINUTE_MS,
  });
  assert.equal(engines.alarms.wait.releases(), true);
  await alarmLogOf(store).apply("judge", (tx) => engines.alarms.judgeDue(tx), true);
  assert.deepEqual(waiting.all(), []);
  assert.equal(engines.alarms.active(pump.code)[0]?.raised?.seenMs, START_MS + MINUTE_MS);
});
