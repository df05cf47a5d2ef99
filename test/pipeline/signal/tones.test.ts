import assert from "node:assert/strict";
import { test } from "node:test";
import { analyseAxis } from "../../../src/pipeline/signal/analyse.ts";
import { SHORT_SIZE_MAX } from "../../../src/pipeline/signal/long-transform.ts";
import { spectrum, spectrumPeaks } from "../../../src/pipeline/signal/spectrum.ts";
import { strongestIn } from "../../../src/pipeline/signal/tones.ts";
import { RandomSequence } from "../../../src/simulator/random.ts";

/** A carrier whose amplitude goes up and down, over a little noise. */
function modulated(size: number, rateHz: number): Int16Array {
  const random = new RandomSequence(1);
  return Int16Array.from({ length: size }, (_, n) => {
    const t = (2 * Math.PI * n) / rateHz;
    const envelope = 1 + 0.5 * Math.sin(87.3 * t);
    return Math.round(
      4000 * envelope * Math.sin(1500 * t) + 2000 * Math.sin(24.67 * t) + 20 * random.noise(),
    );
  });
}

for (const size of [4096, 3000, SHORT_SIZE_MAX + 8192]) {
  test(`tones of ${size} samples equal those of the spectra by definition`, () => {
    const samples = modulated(size, 6400);
    const options = { sampleRateHz: 6400, calibration: 1 / 2048 };
    const { tones } = analyseAxis(samples, { ...options, tones: true });
    assert.ok(tones !== null && tones.envelope !== null);
    const [peak] = spectrumPeaks(spectrum(samples, options, 0));
    assert.ok(peak !== undefined);
    const tone = strongestIn(tones.accel, 1400, 1600);
    assert.ok(Math.abs((tone?.hz ?? 0) - peak.toneFrequencyHz) < 0.1 * tones.accel.resolutionHz);
    assert.ok(Math.abs((tone?.amplitude ?? 0) / peak.toneAmplitude - 1) < 0.03);
    const [ge] = spectrumPeaks(spectrum(samples, options, 6));
    assert.ok(ge !== undefined);
    const own = strongestIn(tones.envelope, 80, 95);
    assert.ok(Math.abs((own?.hz ?? 0) - ge.toneFrequencyHz) < 0.15 * tones.envelope.resolutionHz);
    assert.ok(Math.abs((own?.amplitude ?? 0) / ge.toneAmplitude - 1) < 0.05);
    assert.ok(tones.accel.data.length <= 64 * 3 && tones.envelope.data.length <= 64 * 3);
    // Where only the acceleration's are wanted, they are the same.
    const { tones: alone } = analyseAxis(samples, { ...options, tones: "accel" });
    assert.deepEqual(alone?.accel, tones.accel);
    assert.deepEqual([alone?.envelope, alone?.white ?? null], [null, null]);
  });
}

test("a tone between two lines has the amplitude and frequency that it has on one", () => {
  for (const size of [4096, SHORT_SIZE_MAX + 8192]) {
    for (let between = 0; between < 1; between += 0.1) {
      const hz = ((200 + between) * 6400) / size;
      const samples = Int16Array.from({ length: size }, (_, n) =>
        Math.round(16_000 * Math.sin((2 * Math.PI * hz * n) / 6400 + 1)),
      );
      const options = { sampleRateHz: 6400, calibration: 1 / 2000, tones: true };
      const { tones } = analyseAxis(samples, options);
      assert.ok(tones !== null);
      const tone = strongestIn(tones.accel, hz - 5, hz + 5);
      assert.ok(Math.abs((tone?.amplitude ?? 0) / 8 - 1) < 2e-4, `${between}: ${tone?.amplitude}`);
      assert.ok(Math.abs((tone?.hz ?? 0) - hz) < 2e-3 * tones.accel.resolutionHz, `${between}`);
    }
  }
});

test("tones are found up to the rate over 2.56, where lines may be aliases, and not above", () => {
  for (const size of [4096, SHORT_SIZE_MAX + 8192]) {
    const of = (hz: number) => {
      const samples = Int16Array.from({ length: size }, (_, n) =>
        Math.round(4000 * Math.sin((2 * Math.PI * hz * n) / 6400)),
      );
      const { tones } = analyseAxis(samples, {
        sampleRateHz: 6400,
        calibration: 1 / 4000,
        tones: true,
      });
      assert.ok(tones !== null);
      return strongestIn(tones.accel, hz - 5, hz + 5)?.amplitude ?? 0;
    };
    assert.ok(Math.abs(of(2480) - 1) < 0.03, `${size} ${of(2480)}`);
    assert.equal(of(2520), 0);
  }
});

test("whitened tones – how much a modulation swells noise, of which its sidebands leave the band the sooner the faster it is", () => {
  // From a 32nd of the rate to the rate over 2.56.
  const bandHz = 6400 / 2.56 - 6400 / 32;
  for (const hz of [50, 200, 500]) {
    const random = new RandomSequence(3);
    const samples = Int16Array.from({ length: 16_384 }, (_, n) =>
      Math.round(1500 * (1 + 0.8 * Math.sin((2 * Math.PI * hz * n) / 6400)) * random.noise()),
    );
    const options = { sampleRateHz: 6400, calibration: 1 / 2048, tones: true };
    const white = analyseAxis(samples, options).tones?.white ?? null;
    assert.ok(white !== null);
    const share = strongestIn(white, hz - 2, hz + 2)?.amplitude ?? 0;
    assert.ok(Math.abs(share / (0.8 * (1 - hz / bandHz)) - 1) < 0.1, `${hz} Hz: ${share}`);
  }
});

test("pure noise has hardly any tones, and none that stands out", () => {
  const random = new RandomSequence(9);
  const samples = Int16Array.from({ length: 8192 }, () => Math.round(1500 * random.noise()));
  const options = { sampleRateHz: 6400, calibration: 1 / 2048, tones: true };
  const { tones } = analyseAxis(samples, options);
  assert.ok(tones !== null);
  assert.ok(tones.accel.data.length < 12 * 3);
  assert.ok((strongestIn(tones.accel, 0, 3200)?.ratio ?? 0) < 5);
});

test("whitened tones – weak lines count too, from twice the noise around them", () => {
  const random = new RandomSequence(5);
  const samples = Int16Array.from({ length: 8192 }, () => Math.round(1500 * random.noise()));
  const options = { sampleRateHz: 6400, calibration: 1 / 2048, tones: true };
  const { data } = analyseAxis(samples, options).tones?.white ?? { data: [] };
  const ratios = Array.from(data).filter((_, i) => i % 3 === 2);
  assert.ok(ratios.length > 0 && Math.min(...ratios) >= 2, `${ratios}`);
  assert.ok(Math.min(...ratios) < 2.3, `${ratios}`);
});
