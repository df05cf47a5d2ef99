import assert from "node:assert/strict";
import { test } from "node:test";
import { analyseAxis } from "../../../src/pipeline/signal/analyse.ts";
import { DftPlans } from "../../../src/pipeline/signal/fft.ts";
import { linePower } from "../../../src/pipeline/signal/line-power.ts";
import { spectrumPeaks } from "../../../src/pipeline/signal/spectrum.ts";
import { meanFree } from "../../../src/pipeline/signal/time-waveform.ts";

const plans = new DftPlans();
const RATE = { sampleRateHz: 6400, calibration: 0.0005, plans };
const shaken = (size: number) =>
  Int16Array.from({ length: size }, (_, n) => Math.round(900 * Math.sin(n * n + n)));

test("checks – at 10 Hz a record of a fifth of a second resolves the band, one sample less does not", () => {
  assert.deepEqual(analyseAxis(shaken(1280), RATE).flags, []);
  assert.deepEqual(analyseAxis(shaken(1279), RATE).flags, ["BAND_LOW_UNRESOLVED"]);
  assert.deepEqual(analyseAxis(shaken(255), RATE).flags, ["RECORD_SHORT"]);
  assert.deepEqual(analyseAxis(shaken(256), RATE).flags, ["BAND_LOW_UNRESOLVED"]);
  assert.ok(
    analyseAxis(shaken(256), { ...RATE, sampleRateHz: 25_600 }).flags[0] === "BAND_UNUSABLE",
  );
});

test("checks – bad outranks uncertain, and among equals the first in table order is the reason", () => {
  const samples = shaken(300);
  samples[5] = 32767;
  const slow = analyseAxis(samples, { ...RATE, speedRpm: 100 });
  assert.deepEqual(slow.flags, ["CLIPPED", "BAND_UNUSABLE"]);
  assert.deepEqual(slow.velocityRms.doubt, { quality: "bad", reason: "too_short" });
  assert.deepEqual(slow.accelRms.doubt, { quality: "uncertain", reason: "clipped" });
  const clipped = analyseAxis(samples, RATE);
  assert.deepEqual(clipped.flags, ["CLIPPED", "BAND_LOW_UNRESOLVED"]);
  assert.deepEqual(clipped.velocityRms.doubt, { quality: "uncertain", reason: "clipped" });
});

test("checks – the band of the envelope determines its quality; a band configured lower is not reported as reduced", () => {
  const at = (sampleRateHz: number, more = {}) =>
    analyseAxis(shaken(4096), { ...RATE, sampleRateHz, ...more });
  assert.deepEqual(at(1600).envelopeRms, {
    value: null,
    doubt: { quality: "bad", reason: "sample_rate_low" },
  });
  assert.deepEqual(at(3200).flags, ["ENVELOPE_BAND_REDUCED"]);
  assert.deepEqual(at(3200, { envLoHz: 300 }).flags, []);
  assert.deepEqual(at(6400).flags, []);
});

test("checks – a record too coarse for one line of the envelope has none, not a silent zero", () => {
  const { flags, envelopeRms } = analyseAxis(shaken(256), { ...RATE, sampleRateHz: 1e6 });
  assert.ok(flags.includes("ENVELOPE_UNAVAILABLE"));
  assert.equal(envelopeRms.value, null);
});

test("velocity – the line at half the sample rate exists once", () => {
  const size = 512;
  const samples = Int16Array.from({ length: size }, (_, n) => (n % 2 === 0 ? 800 : -800));
  samples[3] = 700;
  const options = { ...RATE, sampleRateHz: 1600, fHiHz: 800 };
  const mean = samples.reduce((sum, r) => sum + r, 0) / size;
  const signal = meanFree(samples, mean, 1);
  const power = linePower(plans, signal, size, RATE.calibration);
  let sum = 0;
  for (let k = 4; k <= size / 2; k++) {
    sum += power(k) / ((2 * Math.PI * k * 1600) / size) ** 2;
  }
  const velocity = analyseAxis(samples, options).velocityRms.value ?? 0;
  assert.ok(Math.abs(velocity / (9800 * Math.sqrt(sum)) - 1) < 1e-12, `${velocity}`);
});

test("peaks – a plateau counts once, the ends count as peaks but are not interpolated", () => {
  const peaksOf = (...amplitudes: number[]) =>
    spectrumPeaks({ amplitudes: Float64Array.from(amplitudes), stepHz: 2 });
  const lines = (...amplitudes: number[]) => peaksOf(...amplitudes).map(({ line }) => line);
  assert.deepEqual(lines(0, 1, 0, 3, 3, 0, 0, 2), [3, 7, 1]);
  assert.deepEqual(lines(9, 1, 0, 0), [], "the offset's slope is no peak");
  assert.deepEqual(lines(0, 0.04, 0, 1, 0), [3], "below 5 % of the largest");
  assert.deepEqual(lines(0, 6, 0, 5, 0, 4, 0, 3, 0, 2, 0, 1, 0), [1, 3, 5, 7, 9]);
  assert.deepEqual(lines(), []);
  for (const peak of peaksOf(0, 3, 2, 0, 0, 1.9, 2, 1.5)) {
    assert.equal(peak.toneFrequencyHz, peak.frequencyHz);
    assert.equal(peak.toneAmplitude, peak.amplitude);
  }
});
