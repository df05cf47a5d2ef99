/** Faults of the shaft on a drive: its forces grow with the square of the speed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { judge } from "../../../src/features/diagnosis/rules/judge.ts";
import type { Reference } from "../../../src/features/diagnosis/rules/reference.ts";
import { around, learned, shaftRecord } from "./support.ts";

/** Learned at these speeds, with the same normal state at each. */
const learnedAt = (...speeds: number[]): Reference => ({
  speeds: speeds.flatMap((rpm) => learned(0.3, 0.1, 0.1).speeds.map((one) => ({ ...one, rpm }))),
});

/** 1x of 1.1 mm/s is below the limit of 1.39 mm/s, and at 1480 r/min it would be 1.72 mm/s. */
const at = (rpm: number, reference: Reference, fullRpm: number | null = null) =>
  judge(
    shaftRecord(rpm, [{ 1: 1.1 }, { 1: 0.7 }, { 1: 0.3 }]),
    around(rpm, { reference, fullRpm: () => fullRpm }),
  ).verdicts;

test("at a lower speed a drive is judged by what the fault would reach at the highest that was learned", () => {
  assert.deepEqual(at(1184, learnedAt(1184)), []);
  const [verdict] = at(1184, learnedAt(1184, 1480));
  assert.equal(verdict?.finding, "unbalance");
  assert.ok(Math.abs((verdict?.limit ?? 0) - 0.89) < 0.01, `${verdict?.limit}`);
  assert.equal(verdict?.stage, 1);
  // It counts for a row that began at full speed.
  assert.equal(at(1184, learnedAt(1184, 1480), 1480)[0]?.isBelowFull, undefined);
  assert.deepEqual(at(1480, learnedAt(1184, 1480)), []);
});

test("where another speed stands for one that was not learned, a resonance between them is no fault", () => {
  const found = (first: number, reference: Reference) =>
    judge(
      shaftRecord(1184, [{ 1: first }, { 1: 0.7 }, { 1: 0.3 }]),
      around(1184, { reference }),
    ).verdicts.map(({ finding }) => finding);
  const slow = learned(0.8, 0.1, 0.1);
  // More than 1.6 times 0.8 mm/s: at that speed itself it would be told.
  assert.deepEqual(found(1.9, { speeds: slow.speeds.map((one) => ({ ...one, rpm: 1184 })) }), [
    "unbalance",
  ]);
  assert.deepEqual(found(1.9, slow), []);
  assert.deepEqual(found(2.7, slow), ["unbalance"]);
});

test("at a speed that was not learned itself the limit is not lowered", () => {
  assert.deepEqual(at(1184, learnedAt(1320, 1480)), []);
});
