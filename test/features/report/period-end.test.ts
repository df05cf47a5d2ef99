import assert from "node:assert/strict";
import { test } from "node:test";
import type { ShownAlarm, ShownEvent } from "../../../src/core/alarm/shown.ts";
import { stateThen } from "../../../src/features/report/rules/period-end.ts";

const at = (day: number) => `2026-11-${String(day).padStart(2, "0")}T00:00:00Z`;
const END_MS = Date.parse(at(20));
const event = (id: string, day: number, more: Partial<ShownEvent> = {}): ShownEvent => ({
  id,
  sensor: "1001",
  kind: "accel",
  value: "channel1_vel_rms",
  alarm: "zone",
  severity: "warning",
  state: "active",
  time: at(day),
  since: at(day),
  raised: at(day),
  unit: "mm/s",
  acknowledged: null,
  text: `${id} of ${day}`,
  ...more,
});
const cleared = (id: string, day: number, raised: number) =>
  event(id, day, { state: "cleared", since: at(raised), raised: at(raised) });

test("report – a period that is over tells what stood at its end, whatever came afterwards", () => {
  const events = [
    event("late", 22, { severity: "alarm" }),
    cleared("a", 21, 15),
    event("a", 18, { severity: "alarm", since: at(15), raised: at(15) }),
    event("a", 15),
    cleared("over", 12, 10),
    event("over", 10, { severity: "alarm" }),
    event("b", 11),
  ];
  assert.deepEqual(stateThen(events, [event("late", 22)], END_MS), {
    condition: "alarm",
    reason: "a of 18 (and 1 more)",
    worst: events[2],
    sinceMs: Date.parse(at(15)),
  });
  assert.equal(stateThen(events, [], Date.parse(at(11))).reason, "over of 10");
  assert.equal(stateThen(events, [], Date.parse(at(10))).condition, "no alarm");
});

test("report – an alarm whose beginning is no longer among the events stood if it ended, or stands, after the period", () => {
  const open: ShownAlarm = event("open", 1);
  assert.equal(stateThen([], [open], END_MS).reason, "open of 1");
  assert.equal(stateThen([cleared("c", 25, 1)], [], END_MS).condition, "warning");
  assert.equal(stateThen([cleared("c", 25, 21)], [], END_MS).condition, "no alarm");
  // Shelved, and not active.
  assert.equal(stateThen([], [{ ...open, state: "normal" }], END_MS).condition, "no alarm");
});
