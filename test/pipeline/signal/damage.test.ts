import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { analyseAxis } from "../../../src/pipeline/signal/analyse.ts";
import { countStep } from "../../../src/pipeline/signal/damage.ts";
import { DftPlans } from "../../../src/pipeline/signal/fft.ts";
import { RandomSequence } from "../../../src/simulator/random.ts";

/** A range of 8 G in 16 bits. */
const PER_G = 4096;
const RATE = { sampleRateHz: 6400, calibration: 1 / PER_G, plans: new DftPlans() };
const SIZE = 4096;

interface Plan {
  /** G: of a tone, its frequency in Hz, of noise, and offset. */
  readonly tone?: number;
  readonly hz?: number;
  readonly noise?: number;
  readonly offset?: number;
  readonly seed?: number;
  readonly size?: number;
}

/** G. */
function signal({ tone = 0, hz = 49.3, noise = 0.02, offset = 0, seed = 1, size = SIZE }: Plan) {
  const random = new RandomSequence(seed);
  return Float64Array.from(
    { length: size },
    (_, n) =>
      offset + tone * Math.sin((2 * Math.PI * hz * n) / 6400 + seed) + noise * random.noise(),
  );
}
const counts = (g: Float64Array) => Int16Array.from(g, (one) => Math.round(one * PER_G));
const flagsOf = (samples: Int16Array, more = {}) =>
  analyseAxis(samples, { ...RATE, ...more }).flags;

test("lost samples – zeros in a record with an offset are found from 20 of 4,096 on, and doubt all values", () => {
  for (const lost of [20, 60, 199]) {
    const samples = counts(signal({ offset: 1, noise: 0.05 }));
    samples.fill(0, 1500, 1500 + lost);
    const { flags, velocityRms, accelRms, envelopeRms } = analyseAxis(samples, RATE);
    assert.ok(flags.includes("SAMPLES_LOST"), `${lost}: ${flags}`);
    for (const { value, doubt } of [velocityRms, accelRms, envelopeRms]) {
      assert.ok(value !== null);
      assert.deepEqual(doubt, { quality: "uncertain", reason: "samples_lost" });
    }
  }
});

test("lost samples – a held value, zeros at either side and a run at the end are found; the start alone is not", () => {
  const held = counts(signal({ tone: 0.5, noise: 0.02 }));
  held.fill(held[700] ?? 0, 700, 760);
  assert.deepEqual(flagsOf(held), ["SAMPLES_LOST"]);
  const ends = counts(signal({ noise: 0.1 }));
  ends.fill(0, SIZE - 32);
  assert.deepEqual(flagsOf(ends), ["SAMPLES_LOST"]);
  const short = counts(signal({ noise: 0.1 }));
  short.fill(0, SIZE - 31);
  assert.deepEqual(flagsOf(short), [], "a run with one side is longer");
  const first = counts(signal({ noise: 0.1 }));
  first.fill(0, 0, 200);
  assert.deepEqual(flagsOf(first), []);
  const second = counts(signal({ noise: 0.1 }));
  second.fill(0, 2, 34);
  assert.deepEqual(flagsOf(second), ["SAMPLES_LOST"], "two samples before it are no side");
});

test("lost samples – a run at the largest or smallest count is none unless it is zero", () => {
  const samples = counts(signal({ offset: 1, noise: 0.05 }));
  const top = Math.max(...samples) + 400;
  samples.fill(top, 1000, 1012);
  assert.ok(!flagsOf(samples).includes("SAMPLES_LOST"));
  samples.fill(0, 1000, 1012);
  assert.ok(flagsOf(samples).includes("SAMPLES_LOST"), "zero is the smallest here");
});

test("lost samples – a quiet record of few counts repeats itself by chance, and is healthy", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const quiet = signal({ noise: 1 / PER_G, seed });
    assert.deepEqual(flagsOf(counts(quiet)), [], `seed ${seed}`);
  }
});

test("jump – a step of 0.3 G in a quiet record is found, and one in a loud record is not", () => {
  const quiet = signal({ noise: 0.01 }).map((g, n) => (n < 1800 ? g : g + 0.3));
  const { flags, velocityRms } = analyseAxis(counts(quiet), RATE);
  assert.deepEqual(flags, ["JUMP"]);
  assert.ok((velocityRms.value ?? 0) > 2);
  assert.deepEqual(velocityRms.doubt, { quality: "uncertain", reason: "jump" });
  const down = signal({ noise: 0.01 }).map((g, n) => (n < 3000 ? g : g - 0.3));
  assert.deepEqual(flagsOf(counts(down)), ["JUMP"]);
  const loud = signal({ noise: 0.01, tone: 0.6 }).map((g, n) => (n < 1800 ? g : g + 0.3));
  assert.deepEqual(flagsOf(counts(loud)), [], "most of the velocity is the tone's");
});

test("jump – a slow drift, a slow tone and a step too small to matter are none", () => {
  const drift = signal({ noise: 0.01 }).map((g, n) => g + (0.4 * n) / SIZE);
  assert.deepEqual(flagsOf(counts(drift)), []);
  for (const hz of [2.5, 3.7, 6, 11, 25])
    assert.deepEqual(flagsOf(counts(signal({ tone: 0.5, hz, noise: 0.005 }))), [], `${hz} Hz`);
  const small = signal({ noise: 0.001 }).map((g, n) => (n < 1800 ? g : g + 0.01));
  assert.deepEqual(flagsOf(counts(small)), []);
});

test("jump – without the step the velocity is that of the record before it was damaged", () => {
  // At exactly a quarter of the square the flag changes: the tone's velocity is a half of the whole.
  const at = (tone: number) => {
    const plan = { tone, hz: 400, noise: 0.002 };
    return flagsOf(counts(signal(plan).map((g, n) => (n < 1800 ? g : g + 0.3)))).includes("JUMP");
  };
  const velocity = (g: Float64Array) =>
    analyseAxis(counts(g), RATE).velocityRms.value ?? Number.NaN;
  const step = velocity(signal({ noise: 0 }).map((g, n) => (n < 1800 ? g : g + 0.3)));
  const perG = velocity(signal({ tone: 1, hz: 400, noise: 0 }));
  const half = (step / perG) * Math.sqrt(1 / 3);
  assert.equal(at(half * 0.97), true);
  assert.equal(at(half * 1.03), false);
});

test("flat tops – a tone cut at 3 of 8 G is clipped, and its count says how often", () => {
  const cut = signal({ tone: 4, hz: 49.3, noise: 0.02 }).map((g) => Math.max(-3, Math.min(3, g)));
  const { flags, clipCount, velocityRms } = analyseAxis(counts(cut), RATE);
  assert.deepEqual(flags, ["CLIPPED"]);
  const flat = cut.filter((g) => Math.abs(g) === 3).length;
  assert.ok(
    clipCount !== null && clipCount >= flat && clipCount <= flat * 1.1,
    `${clipCount} ${flat}`,
  );
  assert.deepEqual(velocityRms.doubt, { quality: "uncertain", reason: "clipped" });
  const half = signal({ tone: 4, noise: 0.02 }).map((g) => Math.min(3, g));
  assert.deepEqual(flagsOf(counts(half)), ["CLIPPED"], "one side alone");
});

test("flat tops – a sensor that names its full scale is judged by both, and the larger count holds", () => {
  const cut = counts(signal({ tone: 4 })).map((r) => Math.max(-12_000, Math.min(12_000, r)));
  const by = analyseAxis(cut, { ...RATE, fullScaleCounts: 12_000 });
  assert.deepEqual(by.flags, ["CLIPPED"]);
  assert.ok((by.clipCount ?? 0) >= cut.filter((r) => Math.abs(r) === 12_000).length);
  assert.deepEqual(flagsOf(cut, { fullScaleCounts: 20_000 }), ["CLIPPED"]);
});

test("flat tops – tones, noise and impacts without a cut have none", () => {
  for (let seed = 1; seed <= 30; seed++) {
    const hz = 5 + seed * 37.3;
    assert.deepEqual(flagsOf(counts(signal({ tone: 2, hz, seed, noise: 0 }))), [], `tone ${hz}`);
    const ringing = signal({ noise: 0.05, seed }).map(
      (g, n) => g + 3 * Math.exp(-(n % 173) / 20) * Math.sin((n % 173) * 1.9),
    );
    assert.deepEqual(flagsOf(counts(ringing)), [], `impacts ${seed}`);
  }
});

/** What a converter keeps of a count beyond 16 bits. */
const wrap = (g: Float64Array) =>
  Int16Array.from(g, (one) => ((Math.round(one * PER_G) + 32_768) & 0xffff) - 32_768);

test("wrapped – 9 G in a range of 8 G is found at any frequency of machines, and is uncertain as clipped is", () => {
  for (const hz of [7.1, 24.7, 49.3, 97, 155, 240, 400, 611]) {
    const samples = wrap(signal({ tone: 9, hz, noise: 0.02 }));
    if (samples.some((r) => Math.abs(r) >= 32_767)) continue;
    assert.deepEqual(flagsOf(samples), ["WRAPPED"], `${hz} Hz`);
    const { velocityRms } = analyseAxis(samples, RATE);
    assert.deepEqual(velocityRms.doubt, { quality: "uncertain", reason: "wrapped" });
  }
});

test("wrapped – one overrun of one impact is found; a record at full scale is clipped instead, never both", () => {
  const impact = signal({ noise: 0.2 });
  for (let n = 0; n < 6; n++) impact[2000 + n] = [3, 7, 9, 8.5, 7.2, 2][n] ?? 0;
  assert.deepEqual(flagsOf(wrap(impact)), ["WRAPPED"]);
  const both = wrap(impact);
  both[10] = 32_767;
  assert.deepEqual(flagsOf(both), ["CLIPPED"]);
});

test("wrapped – loud healthy records are none, up to the highest frequencies that filters let pass", () => {
  for (let seed = 1; seed <= 60; seed++) {
    const hz = seed * 41.7;
    const tone = counts(signal({ tone: 7.6, hz, noise: 0.02, seed }));
    assert.ok(!flagsOf(tone).includes("WRAPPED"), `${hz} Hz`);
    const quarter = signal({ tone: 7.6, hz: 1600, noise: 0.01, seed: seed / 20 });
    assert.ok(!flagsOf(counts(quarter)).includes("WRAPPED"), `a quarter of the rate, ${seed}`);
    const third = signal({ tone: 7.6, hz: 6400 / 3, noise: 0.01, seed: seed / 20 });
    assert.ok(!flagsOf(counts(third)).includes("WRAPPED"), `a third of the rate, ${seed}`);
    const noise = counts(signal({ noise: 1.9, seed }));
    assert.ok(!flagsOf(noise).includes("WRAPPED"), `noise ${seed}`);
  }
});

test("damage – every healthy record of the vectors keeps its flags", () => {
  const file = new URL("../../vectors/signal.jsonl", import.meta.url);
  for (const line of readFileSync(file, "utf8").trim().split("\n")) {
    const { case: name, channel, sample_rate, calibration } = JSON.parse(line);
    const samples = Int16Array.from(channel);
    const flags = flagsOf(samples, { sampleRateHz: sample_rate, calibration });
    for (const flag of ["SAMPLES_LOST", "JUMP", "WRAPPED"] as const)
      assert.ok(!flags.includes(flag), `${name}: ${flags}`);
  }
});

test("damage – counts in steps of several are judged in their own steps", () => {
  assert.equal(countStep(Int16Array.of(5, 21, -11, 37)), 16);
  assert.equal(countStep(Int16Array.of(7, 7, 7)), 0);
  assert.equal(countStep(Int16Array.of(-32_768, 32_767)), 65_535);
});
