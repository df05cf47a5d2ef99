import assert from "node:assert/strict";
import { test } from "node:test";
import { analyseAxis } from "../../src/pipeline/signal/analyse.ts";
import { wiredRecord, wiredSamples } from "../../src/simulator/wiring.ts";

const SHAKING = Int16Array.from({ length: 4096 }, (_, n) =>
  Math.round(15_000 * Math.sin((2 * Math.PI * 25.3 * n) / 6400) + 40 * Math.sin(n * n)),
);
const flagsOf = (counts: Int16Array) =>
  analyseAxis(counts, { sampleRateHz: 6400, calibration: 8 / 32_768 }).flags;

test("wiring – a clamp the wrong way round, a pulse seen twice and a dead gate alter only their own values", () => {
  const current = { current1: 12.5, battery: 3.6 };
  assert.deepEqual(wiredRecord(current, []), current);
  assert.deepEqual(wiredRecord(current, ["reversed"]), { current1: -12.5, battery: 3.6 });
  assert.deepEqual(wiredRecord({ RPM: 1480.2 }, ["doubled"]), { RPM: 2960.4 });
  assert.deepEqual(wiredRecord({ ...current, RPM: 1480 }, ["dead-gate"]), {
    current1: 0,
    battery: 3.6,
    RPM: 0,
  });
});

test("wiring – lost samples and flat tops are what the flags of a record say of them", () => {
  assert.equal(wiredSamples(SHAKING, ["doubled"]), SHAKING);
  assert.deepEqual(flagsOf(SHAKING), []);
  assert.deepEqual(flagsOf(wiredSamples(SHAKING, ["lost-samples"])), ["SAMPLES_LOST"]);
  assert.deepEqual(flagsOf(wiredSamples(SHAKING, ["flat-tops"])), ["CLIPPED"]);
});
