import assert from "node:assert/strict";
import { test } from "node:test";
import { spreadTonesOf } from "../../../src/pipeline/signal/spread-tones.ts";
import {
  noiseLevels,
  strongestIn,
  type ToneList,
  tonesOf,
} from "../../../src/pipeline/signal/tones.ts";
import { chance } from "../../../src/simulator/random.ts";

const COUNT = 2700;

/** Amplitudes of noise of mean 1, as of a Hann spectrum: neighbours share a part of it. */
function noiseLines(seed: number): number[] {
  const gauss = (n: number, part: number) =>
    Math.sqrt(-2 * Math.log(Math.max(1e-12, chance(seed, n, part)))) *
    Math.cos(2 * Math.PI * chance(seed, n, part + 1));
  const part = (k: number, of: number) =>
    gauss(k, of) - 0.5 * (gauss(k - 1, of) + gauss(k + 1, of));
  const scale = Math.sqrt(2 / Math.PI / 1.5);
  return Array.from(
    { length: COUNT },
    (_, k) => scale * Math.hypot(part(k + 1, 10), part(k + 1, 20)),
  );
}

const spectrumOf = (line: readonly number[]) => {
  const lines = { lines: [...line], count: COUNT, first: 2 };
  const noise = noiseLevels(lines, new Float64Array(COUNT));
  return { ...lines, noise, scale: 1, stepHz: 1, resolutionHz: 1 };
};
const spread = (lines: readonly number[]) =>
  spreadTonesOf(spectrumOf(lines), new Float64Array(COUNT + 1));

test("spread tones – noise reaches a ratio in bands no more often than in single lines", () => {
  let bands = 0;
  let singles = 0;
  const strong = ({ data }: ToneList) => data.filter((value, at) => at % 3 === 2 && value >= 3);
  for (let seed = 1; seed <= 20; seed++) {
    const lines = noiseLines(seed);
    bands += strong(spread(lines)).length;
    singles += strong(tonesOf(spectrumOf(lines))).length;
  }
  assert.ok(bands > 0 && bands <= singles, `${bands} bands, ${singles} lines`);
});

test("spread tones – what no line shows, a band does, at its centre and with its power", () => {
  const lines = noiseLines(5);
  for (let k = 594; k <= 606; k++) lines[k] = Math.hypot(lines[k] ?? 0, 2.5);
  const single = strongestIn(tonesOf(spectrumOf(lines)), 585, 615);
  const band = strongestIn(spread(lines), 585, 615);
  assert.equal(single, null);
  assert.ok((band?.ratio ?? 0) > 2.5, `${band?.ratio}`);
  assert.ok(Math.abs((band?.hz ?? 0) - 600) < 1.5, `${band?.hz}`);
  const amplitude = 2.5 * Math.sqrt(13 / 1.5);
  assert.ok(Math.abs((band?.amplitude ?? 0) / amplitude - 1) < 0.15, `${band?.amplitude}`);
});

test("spread tones – a sharp line keeps its amplitude", () => {
  const lines = noiseLines(7).map((line) => 0.02 * line);
  for (const k of [20, 800]) {
    lines[k - 1] = 0.5;
    lines[k] = 1;
    lines[k + 1] = 0.5;
  }
  for (const hz of [20, 800]) {
    const tone = strongestIn(spread(lines), hz - 3, hz + 3);
    assert.ok(Math.abs((tone?.amplitude ?? 0) - 1) < 0.03, `${hz}: ${tone?.amplitude}`);
    assert.ok(Math.abs((tone?.hz ?? 0) - hz) < 0.1, `${hz}: ${tone?.hz}`);
  }
});
