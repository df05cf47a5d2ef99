/** Where limits and delays begin and end, to the reading and the millisecond. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Limits } from "../../../src/core/alarm/compile.ts";
import type { WatchDelay } from "../../../src/core/alarm/rule.ts";
import { NORMAL, step } from "../../../src/features/alarms/rules/watch-state.ts";

const LIMITS = { highHigh: 9, high: 8, low: 2, lowLow: 1 };

/** Severities after each of these values, one a second. */
function ranks(values: readonly number[], delay: WatchDelay, limits: Limits = LIMITS): number[] {
  let state = NORMAL;
  return values.map((value, second) => {
    const seen = { value, timeMs: second * 1000 };
    state = step(state, { limits, hysteresis: () => 0.5 }, delay, seen).state;
    return state.active?.rank ?? 0;
  });
}

test("watch – a value on a limit has not exceeded it", () => {
  assert.deepEqual(ranks([8, 8.001], {}), [0, 1]);
  assert.deepEqual(ranks([2, 1.999], {}), [0, 1]);
  assert.deepEqual(ranks([9, 9.001], {}), [1, 2]);
  assert.deepEqual(ranks([1, 0.999], {}), [1, 2]);
});

test("watch – a delay of readings is over with the last of them", () => {
  assert.deepEqual(ranks([8.5, 8.5, 8.5], { readings: 1 }), [1, 1, 1]);
  assert.deepEqual(ranks([8.5, 8.5, 8.5], { readings: 3 }), [0, 0, 1]);
  assert.deepEqual(ranks([8.5, 7, 8.5, 8.5], { readings: 2 }), [0, 0, 0, 1]);
  assert.deepEqual(ranks([9.5, 9.5, 9.5], { readings: 2, alarmReadings: 3 }), [0, 1, 2]);
});

test("watch – a delay of seconds is over when they have passed since the first reading beyond the limit", () => {
  assert.deepEqual(ranks([8.5, 8.5, 8.5, 8.5], { seconds: 2 }), [0, 0, 1, 1]);
  assert.deepEqual(ranks([8.5, 8.5], { seconds: 0 }), [1, 1]);
});

test("watch – an alarm ends at the hysteresis, not before", () => {
  assert.deepEqual(ranks([8.5, 7.501, 7.5], {}), [1, 1, 0]);
  assert.deepEqual(ranks([1.5, 2.499, 2.5], {}), [1, 1, 0]);
});

test("watch – where the end needs calm readings, one that is back among worse ones ends nothing", () => {
  let state = NORMAL;
  const bounds = { limits: { high: 8, low: 2 }, hysteresis: () => 3, calmReadings: 3 };
  const sides = (values: readonly number[]) =>
    values.map((value, second) => {
      state = step(state, bounds, {}, { value, timeMs: second * 1000 }).state;
      return state.active?.side ?? "-";
    });
  assert.deepEqual(sides([9, 4, 4, 9, 4, 7]), ["high", "high", "high", "high", "high", "high"]);
  // Back within the limit, but not by the hysteresis; then by it, and no reading beyond the limit since.
  assert.deepEqual(sides([7, 7, 5]), ["high", "high", "-"]);
  // What falls through the other limit is no high level any more.
  assert.deepEqual(sides([9, 1, 6, 6, 6]), ["high", "low", "low", "low", "-"]);
});
