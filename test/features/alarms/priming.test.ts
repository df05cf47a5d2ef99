import assert from "node:assert/strict";
import { test } from "node:test";
import type { Sensor } from "../../../src/core/sensor.ts";
import { openAlarms } from "../../support/open-alarms.ts";
import { append, readingOf, START_MS } from "../../support/temp-database.ts";

const HOUR_MS = 3_600_000;
const node: Sensor = {
  code: "100",
  type: 3,
  kinds: ["rpm"],
  channels: {},
  batteryLowV: 3,
  stateReads: [{ operation: "getState", fields: { battery: { from: "B", unit: "V" } } }],
};

test("alarms – after a restart a late state of a node raises no live alarm, as a late record does not", async (t) => {
  const site = { site: "plant-7", sensors: [node] };
  const { open, store } = openAlarms(t, site, START_MS + 2 * HOUR_MS);
  const state = (timeMs: number, battery: number) =>
    append(store, [readingOf(node.code, timeMs, { kind: "node", values: { battery } })]);
  await state(START_MS + HOUR_MS, 3.2);
  const engine = open().engines.alarms;
  await state(START_MS, 2.9);
  assert.deepEqual(engine.active(node.code), []);
  await state(START_MS + HOUR_MS + 60_000, 2.9);
  assert.deepEqual(
    engine.active(node.code).map(({ alarm }) => alarm),
    ["battery_low"],
  );
});
