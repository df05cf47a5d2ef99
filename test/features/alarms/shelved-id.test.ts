import assert from "node:assert/strict";
import { test } from "node:test";
import type { Sensor } from "../../../src/core/sensor.ts";
import { openAlarms } from "../../support/open-alarms.ts";
import { append, readingOf, START_MS } from "../../support/temp-database.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const speed: Sensor = { code: "100", type: 40, kinds: ["rpm"], channels: {} };
const rule = { name: "speed", select: { values: ["rpm"] }, high: 1500, delay: { readings: 1 } };

test("alarms – one that was shelved is unshelved by the same id after it has ended, or risen again", async (t) => {
  const site = { site: "plant-7", sensors: [speed], alarms: [rule] };
  const { open, store } = openAlarms(t, site, START_MS + HOUR_MS);
  let { actions } = open();
  let minute = 0;
  const turns = (rpm: number) => {
    minute += 1;
    const timeMs = START_MS + minute * MINUTE_MS;
    return append(store, [readingOf(speed.code, timeMs, { kind: "rpm", values: { rpm } })]);
  };
  const act = (id: string, word: "acknowledge" | "shelve" | "unshelve") => {
    const untilMs = word === "shelve" ? START_MS + 2 * HOUR_MS : null;
    return actions.act({ id, word, by: "anna", note: null, untilMs, source: "mqtt" });
  };
  const lists = () => actions.lists({ limit: 0, before: null });

  await turns(1600);
  const id = lists().active[0]?.id ?? "";
  assert.equal((await act(id, "shelve")).ok, true);
  await turns(1400);
  // As a new process finds it.
  ({ actions } = open());
  assert.equal(lists().shelved[0]?.state, "normal");
  assert.equal((await act(id, "shelve")).ok, true);
  await turns(1600);
  // Who acknowledges the alarm of before means that one.
  assert.equal((await act(id, "acknowledge")).ok, false);
  assert.equal((await act(id, "unshelve")).ok, true);
  assert.deepEqual(lists().shelved, []);
  assert.equal(lists().active.length, 1);
});
