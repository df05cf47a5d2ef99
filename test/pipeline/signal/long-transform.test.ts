import assert from "node:assert/strict";
import { test } from "node:test";
import type { Band } from "../../../src/core/bands/band.ts";
import { type BandOptions, bandSteps, measureBands } from "../../../src/core/bands/measure.ts";
import { inOneGo } from "../../../src/core/steps.ts";
import { analyseAxis, analysisSteps } from "../../../src/pipeline/signal/analyse.ts";
import { bandsOf } from "../../../src/pipeline/signal/bands.ts";
import { envelopeSignal } from "../../../src/pipeline/signal/envelope.ts";
import { DftPlans } from "../../../src/pipeline/signal/fft.ts";
import { type LinePower, linePower } from "../../../src/pipeline/signal/line-power.ts";
import { longValues } from "../../../src/pipeline/signal/long-analysis.ts";
import { LongTransform, SHORT_SIZE_MAX } from "../../../src/pipeline/signal/long-transform.ts";
import { countFacts } from "../../../src/pipeline/signal/statistics.ts";

const OPTIONS = { sampleRateHz: 25_600, calibration: 0.000_244, speedRpm: 1_480 };

function record(size: number): Int16Array {
  const samples = new Int16Array(size);
  for (let n = 0; n < size; n++) {
    const ringing = Math.sin(n * 1.1) * (1 + Math.sin(n / 40));
    samples[n] = Math.round(6_000 * Math.sin(n / 7) + 900 * ringing + ((n * 7_919) % 101));
  }
  return samples;
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
      inOneGo(work.run(size));
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
    const values = inOneGo(
      longValues({ samples, mean, step: 1 }, OPTIONS, bandsOf(size, OPTIONS), {
        motion: true,
        envelope: true,
      }),
    );
    isNear(values.velocityRms, expected.velocityRms.value, `${size} velocity`);
    isNear(values.displacementRms, expected.displacementRms.value, `${size} displacement`);
    isNear(values.envelopeRms, expected.envelopeRms.value, `${size} envelope`);
  }
});

const BAND_OPTIONS: BandOptions = { ...OPTIONS, shaftHz: 24.7, isSteady: true };
const BANDS: readonly Band[] = [
  { name: "low", from: 10, to: 60, unit: "Hz", of: "velocity" },
  { name: "order", order: 2 },
  { name: "high", from: 3_000, to: 3_400, unit: "Hz", of: "accel" },
  { name: "bearing", bearing: 3.58 },
];

test("long transform – bands of a record equal those of the lines of the short transform", () => {
  for (const size of [SHORT_SIZE_MAX + 5, 40_000]) {
    const samples = record(size);
    const { mean } = countFacts(samples, 32_767);
    const limits = bandsOf(size, OPTIONS);
    const plans = new DftPlans();
    const values = measureBands(samples, BANDS, { ...BAND_OPTIONS, plans });
    const stepHz = OPTIONS.sampleRateHz / size;
    const sum = (power: LinePower, lowHz: number, highHz: number, of = stepHz) => {
      let total = 0;
      for (let k = Math.ceil(lowHz / of); k <= Math.floor(highHz / of); k++) total += power(k);
      return total;
    };
    const signal = Float64Array.from(samples, (count) => count - mean);
    const power = linePower(plans, signal, size, OPTIONS.calibration);
    const velocity: LinePower = (k) => power(k) * (9_800 / (2 * Math.PI * k * stepHz)) ** 2;
    const near = (name: string, total: number) =>
      isNear(values.get(name)?.value ?? null, Math.sqrt(total), `${size} ${name}`);
    near("low", sum(velocity, 10, 60));
    const half = 0.01 * 49.4 + 1.5 * stepHz;
    near("order", sum(velocity, 49.4 - half, 49.4 + half));
    near("high", sum(power, 3_000, 3_400));
    const envelope = envelopeSignal(plans, samples, mean, limits, OPTIONS);
    const { envSize } = limits;
    const envelopePower = linePower(plans, envelope, envSize, 1);
    const envelopeHz = OPTIONS.sampleRateHz / envSize;
    const around = [1, 2, 3].map((n) => {
      const hz = n * 3.58 * 24.7;
      const beside = Math.min(0.02 * hz, 0.4 * 24.7) + 1.5 * envelopeHz;
      return sum(envelopePower, hz - beside, hz + beside, envelopeHz);
    });
    near(
      "bearing",
      around.reduce((all, one) => all + one, 0),
    );
  }
});

test("long transform – calculations in steps over the same tables do not disturb each other", () => {
  const size = SHORT_SIZE_MAX + 1_024;
  const plans = new DftPlans();
  const samples = record(size);
  const other = samples.map((count) => count >> 1);
  const running = [
    analysisSteps(samples, { ...OPTIONS, plans }),
    bandSteps(other, BANDS, { ...BAND_OPTIONS, plans }),
  ] as const;
  for (let n = 0; n < 10; n++) for (const steps of running) assert.ok(!steps.next().done);
  // A request in between, in one go.
  analyseAxis(other, { ...OPTIONS, plans });
  const [analysis, bands] = [inOneGo(running[0]), inOneGo(running[1])];
  assert.deepEqual(analysis, analyseAxis(samples, OPTIONS));
  assert.deepEqual(bands, measureBands(other, BANDS, BAND_OPTIONS));
});

test("long transform – a record of usual length takes one step, a long one many", () => {
  const countOf = (steps: Generator<void, unknown>) => {
    let count = 0;
    while (steps.next().done !== true) count += 1;
    return count;
  };
  const [usual, long] = [record(SHORT_SIZE_MAX), record(SHORT_SIZE_MAX + 1)];
  assert.equal(countOf(analysisSteps(usual, OPTIONS)), 0);
  assert.equal(countOf(bandSteps(usual, BANDS, BAND_OPTIONS)), 0);
  assert.ok(countOf(analysisSteps(long, OPTIONS)) > 20);
  assert.ok(countOf(bandSteps(long, BANDS, BAND_OPTIONS)) > 20);
});
