import assert from "node:assert/strict";
import { test } from "node:test";
import { BEARING, bearingSamples } from "../../../scripts/bench/simulated-bearing.ts";
import { textbookValues } from "../../../scripts/bench/textbook.ts";
import { analyseAxis } from "../../../src/pipeline/signal/analyse.ts";
import { spectrum, spectrumPeaks } from "../../../src/pipeline/signal/spectrum.ts";

const { sampleRateHz, calibration, faultHz } = BEARING;
const options = { sampleRateHz, calibration };

test("overall values – transforms and the textbook's sums agree to rounding", () => {
  for (const samples of [bearingSamples(1), bearingSamples(2).subarray(0, 1999)]) {
    const ours = analyseAxis(samples, options);
    const want = textbookValues(samples, sampleRateHz, calibration);
    for (const name of ["velocityRms", "displacementRms", "envelopeRms"] as const) {
      const value = ours[name].value ?? Number.NaN;
      assert.ok(Math.abs(value / want[name] - 1) < 1e-10, `${name} of ${samples.length}`);
    }
  }
});

test("a growing bearing fault raises envelope and kurtosis, and its frequency dominates the envelope spectrum", () => {
  const stages = [0, 0.2, 0.5, 1, 2].map((faultG) =>
    analyseAxis(bearingSamples(3, faultG), options),
  );
  for (const [i, stage] of stages.entries()) {
    const before = stages[i - 1];
    if (before === undefined) continue;
    assert.ok((stage.envelopeRms.value ?? 0) > (before.envelopeRms.value ?? 0), `envelope ${i}`);
    assert.ok((stage.kurtosis.value ?? 0) > (before.kurtosis.value ?? 0), `kurtosis ${i}`);
  }
  const [peak] = spectrumPeaks(spectrum(bearingSamples(3, 0.5), options, 6));
  assert.ok(Math.abs((peak?.toneFrequencyHz ?? 0) - faultHz) < 0.5);
});
