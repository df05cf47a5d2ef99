import assert from "node:assert/strict";
import { test } from "node:test";
import { inOneGo } from "../../../src/core/steps.ts";
import { analyseAxis } from "../../../src/pipeline/signal/analyse.ts";
import { bandsOf } from "../../../src/pipeline/signal/bands.ts";
import { dominantAt, dominantLines } from "../../../src/pipeline/signal/dominant.ts";
import { DftPlans } from "../../../src/pipeline/signal/fft.ts";
import { recordLines } from "../../../src/pipeline/signal/line-power.ts";
import { RandomSequence } from "../../../src/simulator/random.ts";

const plans = new DftPlans();
const CALIBRATION = 16 / 32_768;

/** Tones of these velocities, mm/s RMS, in noise of these counts. */
function record(
  size: number,
  sampleRateHz: number,
  tones: readonly (readonly [hz: number, mmS: number])[],
  noise: number,
  seed = 1,
): Int16Array {
  const random = new RandomSequence(seed);
  const parts = tones.map(([hz, mmS]) => {
    const g = (mmS * Math.SQRT2 * 2 * Math.PI * hz) / 9800;
    return {
      counts: g / CALIBRATION,
      perSample: (2 * Math.PI * hz) / sampleRateHz,
      phase: random.next() * 6,
    };
  });
  return Int16Array.from({ length: size }, (_, n) =>
    Math.round(
      parts.reduce(
        (sum, { counts, perSample, phase }) => sum + counts * Math.sin(perSample * n + phase),
        noise * random.noise(),
      ),
    ),
  );
}

function linesOf(samples: Int16Array, sampleRateHz: number) {
  const options = { sampleRateHz, calibration: CALIBRATION };
  return analyseAxis(samples, { ...options, plans, tones: "accel" }).tones?.dominant ?? [];
}

test("a line that holds half of the power from 0.2 to 10 times the shaft's frequency dominates, with its frequency and level", () => {
  // Bin-centred at 6400/4096 Hz: line 9 is at 14.0625 Hz.
  const stepHz = 6400 / 4096;
  const lines = linesOf(
    record(
      4096,
      6400,
      [
        [9 * stepHz, 6],
        [25, 1],
      ],
      1,
    ),
    6400,
  );
  const found = dominantAt(lines, 25);
  assert.ok(found !== null);
  assert.ok(Math.abs(found.hz - 9 * stepHz) < 0.01);
  // Integration weighs the three lines of the window unequally.
  assert.ok(Math.abs(found.level - 6) < 0.06);
  // The range of a fast shaft begins above it; where it cuts the line, its slope is none.
  assert.ok(Math.abs((dominantAt(lines, 14.0625 * 5.8)?.hz ?? 0) - 25) < 0.05);
  assert.equal(dominantAt(lines, 14.0625 * 5.2), null);
});

test("two lines of the same power share it: neither dominates, of 4 to 3 the stronger does", () => {
  const stepHz = 6400 / 4096;
  const at = (mmS: number) =>
    dominantAt(
      linesOf(
        record(
          4096,
          6400,
          [
            [20 * stepHz, 4],
            [60 * stepHz, mmS],
            [90 * stepHz, 1],
          ],
          0,
        ),
        6400,
      ),
      25,
    );
  assert.equal(at(4), null);
  assert.ok(Math.abs((at(3)?.level ?? 0) - 4) < 0.01);
});

test("for every speed it is what a look at the whole range finds", () => {
  for (let seed = 1; seed <= 24; seed++) {
    const random = new RandomSequence(seed);
    const size = [512, 1000, 1024, 2048][seed % 4] ?? 512;
    const sampleRateHz = [800, 1600, 3200][seed % 3] ?? 800;
    const tones = Array.from(
      { length: 1 + (seed % 4) },
      () => [5 + 0.4 * sampleRateHz * random.next() ** 2, 8 * random.next()] as const,
    );
    const samples = record(size, sampleRateHz, tones, 30 * random.next(), seed);
    const bands = bandsOf(size, { sampleRateHz, calibration: CALIBRATION });
    const mean = samples.reduce((sum, count) => sum + count, 0) / size;
    const { accel } = inOneGo(
      recordLines(samples, mean, bands, { calibration: CALIBRATION, plans }),
    );
    const powers = Array.from({ length: size / 2 + 1 }, (_, k) => accel(k));
    const lines = dominantLines((k) => powers[k] ?? 0, size, sampleRateHz, bands);
    const stepHz = sampleRateHz / size;
    const velocity = (k: number) => (powers[k] ?? 0) * (9800 / (2 * Math.PI * k * stepHz)) ** 2;
    const isIn = (k: number) => k >= bands.lineMin && k <= size / 2.56;
    for (let hz = 8.003 * stepHz; hz < sampleRateHz / 5; hz *= 1.0137) {
      let best = 0;
      let all = 0;
      for (let k = 1; k <= size / 2.56; k++) {
        if (!isIn(k) || k + 0.02 < (0.2 * hz) / stepHz || k * stepHz > 10 * hz) continue;
        all += velocity(k);
        if (best === 0 || velocity(k) > velocity(best)) best = k;
      }
      const held = [best - 1, best, best + 1].reduce(
        (sum, k) => sum + (k >= bands.lineMin ? velocity(k) : 0),
        0,
      );
      const isPeak =
        best > 0 && velocity(best - 1) <= velocity(best) && velocity(best + 1) <= velocity(best);
      const found = dominantAt(lines, hz);
      const what = `seed ${seed}, shaft ${hz} Hz`;
      if (best === 0 || held < 0.5 * all || !isPeak) assert.equal(found, null, what);
      else {
        assert.ok(found !== null, what);
        assert.ok(Math.abs(found.level - Math.sqrt(held)) < 1e-9 * found.level, what);
        assert.ok(Math.abs(found.hz - best * stepHz) <= stepHz, what);
      }
    }
  }
});

test("a slope that the high-pass cuts is no line, and a shaft of less than eight revolutions has none", () => {
  const drift = Int16Array.from({ length: 4096 }, (_, n) =>
    Math.round(4000 * Math.sin((2 * Math.PI * 7.4 * n) / 6400)),
  );
  assert.deepEqual(
    linesOf(drift, 6400).filter(({ hz }) => hz < 11),
    [],
  );
  for (const { fromHz } of linesOf(record(4096, 6400, [[30, 3]], 1), 6400))
    assert.ok(fromHz >= 12.5);
});
