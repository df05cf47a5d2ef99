import assert from "node:assert/strict";
import { test } from "node:test";
import { analyseAxis, analysisSteps } from "../../../src/core/signal/analyse.ts";
import { bandsOf } from "../../../src/core/signal/bands.ts";
import { DftPlans } from "../../../src/core/signal/fft.ts";
import { longValues } from "../../../src/core/signal/long-analysis.ts";
import { LongTransform, SHORT_SIZE_MAX } from "../../../src/core/signal/long-transform.ts";
import { countFacts } from "../../../src/core/signal/statistics.ts";

const OPTIONS = { sampleRateHz: 25_600, calibration: 0.000_244, speedRpm: 1_480 };

function record(size: number): Int16Array {
  const samples = new Int16Array(size);
  for (let n = 0; n < size; n++) {
    const ringing = Math.sin(n * 1.1) * (1 + Math.sin(n / 40));
    samples[n] = Math.round(6_000 * Math.sin(n / 7) + 900 * ringing + ((n * 7_919) % 101));
  }
  return samples;
}

function drain<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

const isNear = (actual: number | null, expected: number | null, what: string) => {
  assert.ok(actual !== null && expected !== null, what);
  assert.ok(
    Math.abs(actual - expected) <= 1e-9 * Math.abs(expected),
    `${what} ${actual} ${expected}`,
  );
};

test("long transform – gives the same lines as the plans, at any length", () => {
  for (const size of [64, 1_000, 1_024, 4_099, 10_000]) {
    const plan = new DftPlans().complex(size);
    // Room for more than is asked for: tables of another length must not show.
    for (const work of [new LongTransform(size), new LongTransform(3 * size)]) {
      for (let i = 0; i < 2 * size; i++) {
        plan.input[i] = Math.sin(i * i * 0.37) + 0.2;
        work.data[i] = plan.input[i] ?? 0;
      }
      plan.run();
      drain(work.run(size));
      for (let i = 0; i < 2 * size; i++) {
        assert.ok(
          Math.abs((work.data[i] ?? 0) - (plan.output[i] ?? 0)) < 1e-9 * size,
          `${size} ${i}`,
        );
      }
    }
  }
});

test("long transform – velocity, displacement and envelope of a record equal those of the short transform", () => {
  for (const size of [4_096, 6_400, 16_411, 25_600]) {
    const samples = record(size);
    const expected = analyseAxis(samples, OPTIONS);
    const { mean } = countFacts(samples, 32_767);
    const values = drain(
      longValues(samples, mean, OPTIONS, bandsOf(size, OPTIONS), { motion: true, envelope: true }),
    );
    isNear(values.velocityRms, expected.velocityRms.value, `${size} velocity`);
    isNear(values.displacementRms, expected.displacementRms.value, `${size} displacement`);
    isNear(values.envelopeRms, expected.envelopeRms.value, `${size} envelope`);
  }
});

test("long transform – a record of usual length takes one step, a long one many", () => {
  const stepsOf = (size: number) => {
    let count = 0;
    const steps = analysisSteps(record(size), { ...OPTIONS, plans: new DftPlans() });
    while (steps.next().done !== true) count += 1;
    return count;
  };
  assert.equal(stepsOf(25_600), 0);
  assert.ok(stepsOf(SHORT_SIZE_MAX + 1) > 20);
});
