import assert from "node:assert/strict";
import { test } from "node:test";
import { explains } from "../../../src/features/diagnosis/rules/line-series.ts";

/** Of a rolling element that repeats at 50 Hz, in a cage that turns at 0.4 of the shaft's speed. */
const isExplained = (hz: number, isCage = false) =>
  explains({ shaftHz: 7 }, { resolutionHz: 0.5 }, { hz: 50, isCage }, 0.4, hz);

test("line series – harmonics and side bands at the shaft's and the cage's spacing are explained, others not", () => {
  for (const hz of [50, 100, 300, 100.4, 150 + 7, 150 - 21, 100 + 2.8, 14])
    assert.ok(isExplained(hz), `${hz}`);
  for (const hz of [75, 125, 350, 102, 150 + 28]) assert.ok(!isExplained(hz), `${hz}`);
});

test("line series – of a cage 24 harmonics are, without side bands", () => {
  for (const hz of [50, 700, 1200]) assert.ok(isExplained(hz, true), `${hz}`);
  for (const hz of [25, 57, 1250]) assert.ok(!isExplained(hz, true), `${hz}`);
});
