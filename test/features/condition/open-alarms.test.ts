import assert from "node:assert/strict";
import { test } from "node:test";
import type { ShownAlarm } from "../../../src/core/alarm/shown.ts";
import type { FindingView } from "../../../src/core/diagnosis/shown.ts";
import { bySensor, staged } from "../../../src/features/condition/open-alarms.ts";

const shown = (change: Partial<ShownAlarm>): ShownAlarm => ({
  id: "1",
  sensor: "10234",
  kind: "accel",
  value: "channel1_vel_rms",
  alarm: "zone",
  state: "active",
  severity: "alarm",
  since: "2026-11-20T10:00:00.000Z",
  unit: "mm/s",
  acknowledged: null,
  text: "9.2 mm/s when it rose",
  ...change,
});
const newest = {
  measured: 11,
  limit: 7.1,
  stage: null,
  time: "2026-11-20T12:00:00.000Z",
  text: "11 mm/s now",
};

test("machine reason – is made from what its alarms and findings show now", () => {
  const finding = shown({ alarm: "finding", value: "looseness", id: "2", text: "5 in a row" });
  const active = [shown({ newest }), shown({ id: "3", value: "channel2_vel_rms" }), finding];
  const open = bySensor({ active, acknowledged: [], shelved: [], history: [], before: null });
  const found = {
    sensor: "10234",
    finding: "looseness",
    bearing: null,
    stage: 2,
    text: "125 in a row",
  } as unknown as FindingView;
  const texts = staged(open.get("10234") ?? [], [found]).map(({ text }) => text);
  assert.deepEqual(texts, ["11 mm/s now", "9.2 mm/s when it rose", "125 in a row"]);
});
