import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bearing } from "../../../src/core/machine.ts";
import { judge } from "../../../src/features/diagnosis/rules/judge.ts";
import { analyseAxis } from "../../../src/pipeline/signal/analyse.ts";
import { chance } from "../../../src/simulator/random.ts";
import { SENSOR } from "./support.ts";

const RATE_HZ = 12_000;
const SIZE = 8192;
const SHAFT_HZ = 29.95;
const B6203: Bearing = {
  point: 1,
  name: "6203",
  bpfo: 3.053,
  bpfi: 4.9469,
  bsf: 1.9938,
  ftf: 0.3816,
};
const B6205: Bearing = {
  point: 1,
  name: "6205",
  bpfo: 3.5848,
  bpfi: 5.4152,
  bsf: 2.3567,
  ftf: 0.3983,
};

const sine = (hz: number, t: number) => Math.sin(2 * Math.PI * hz * t);
const mmPerS = (rms: number, hz: number) => (rms * Math.SQRT2 * 2 * Math.PI * hz) / 9800;

function gauss(seed: number, n: number): number {
  const u = Math.max(1e-12, chance(seed, n, 1));
  return Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * chance(seed, n, 2));
}

/** Decaying rings at the times of impacts, each with its own little slip. */
function impacts(seed: number, hz: number, ringHz: number, sizeG: (t: number) => number) {
  const signal = new Float64Array(SIZE);
  for (let at = 0.2 / hz, i = 0; at < SIZE / RATE_HZ; at += (1 + 0.01 * gauss(seed, i)) / hz, i++) {
    for (let n = Math.ceil(at * RATE_HZ); n < Math.min(SIZE, (at + 0.006) * RATE_HZ); n++) {
      const t = n / RATE_HZ - at;
      signal[n] = (signal[n] ?? 0) + sizeG(at) * Math.exp(-t / 0.001) * sine(ringHz, t);
    }
  }
  return signal;
}

/** What one axis of a signal in G shows. */
function judged(
  signalG: Float64Array,
  bearing: Bearing,
  speedRpm = 60 * SHAFT_HZ,
  { held = null, ...more }: { readonly lineHz?: number; readonly held?: string | null } = {},
) {
  const calibration = 1 / 2000;
  const counts = Int16Array.from(signalG, (value) => Math.round(value / calibration));
  const analysis = analyseAxis(counts, { sampleRateHz: RATE_HZ, calibration, tones: true });
  const values = {
    channel1_vel_rms: analysis.velocityRms.value,
    channel1_env_rms: analysis.envelopeRms.value,
  };
  const durationS = SIZE / RATE_HZ;
  const { tones } = analysis;
  return judge(
    { tones: [{ channel: 1, axis: "H", durationS, isClipped: false, tones }], values },
    {
      machine: { id: 40, speed: { sensor: "50021" }, bearings: [bearing], ...more },
      sensor: SENSOR,
      speedRpm,
      state: "running",
      isHeld: (key) => key === held,
    },
  );
}

const signalOf = (value: (t: number, n: number) => number) =>
  Float64Array.from({ length: SIZE }, (_, n) => value(n / RATE_HZ, n));
const names = ({ verdicts }: ReturnType<typeof judge>) =>
  verdicts.map(({ finding, lines }) => `${finding}, ${lines[0]?.spectrum}`);

test("an outer race at 3.05x is found, and is not taken for three times the shaft", () => {
  const hits = impacts(1, 3.056 * SHAFT_HZ, 3000, () => 1.5);
  const bearingTone = 3.056 * SHAFT_HZ;
  const signal = signalOf(
    (t, n) =>
      (hits[n] ?? 0) + 0.02 * sine(bearingTone, t) + 0.002 * sine(SHAFT_HZ, t) + 0.05 * gauss(2, n),
  );
  assert.deepEqual(names(judged(signal, B6203)), ["bearing_outer_race, envelope"]);
});

test("an outer race whose load changes with each turn is no inner race", () => {
  const hits = impacts(3, 3.58 * SHAFT_HZ, 3000, (t) => 1 + 0.9 * sine(SHAFT_HZ, t));
  const signal = signalOf((_t, n) => (hits[n] ?? 0) + 0.05 * gauss(4, n));
  assert.deepEqual(names(judged(signal, B6205)), ["bearing_outer_race, envelope"]);
});

test("impacts that another band drowns are found in the whitened envelope, in stage 1", () => {
  const hits = impacts(5, 3.58 * SHAFT_HZ, 4000, () => 0.25);
  const state = { one: 0, two: 0 };
  const signal = signalOf((_t, n) => {
    const ring = 1.6 * state.one - 0.98 * state.two + gauss(6, n);
    state.two = state.one;
    state.one = ring;
    return 0.15 * ring + 0.01 * gauss(7, n) + (hits[n] ?? 0);
  });
  const judgement = judged(signal, B6205);
  assert.deepEqual(names(judgement), ["bearing_outer_race, whitened envelope"]);
  assert.equal(judgement.verdicts[0]?.stage, 1);
  assert.equal(judgement.verdicts[0]?.unit, "%");
});

/** Noise of a band around 1,500 Hz, far above the noise elsewhere, whose amplitude `share` modulates. */
function modulatedBand(seed: number, share: (t: number) => number, noiseG = 0.05): Float64Array {
  const state = { one: 0, two: 0 };
  return signalOf((t, n) => {
    const ring = 1.39 * state.one - 0.96 * state.two + gauss(seed, n);
    state.two = state.one;
    state.one = ring;
    return 0.1 * ring * (1 + share(t)) + noiseG * gauss(seed + 1, n);
  });
}

test("traces of a part that only one band shows are no finding, and deep ones are", () => {
  const hz = 5.4 * SHAFT_HZ;
  const inner = (depth: number) => (t: number) => depth * (sine(hz, t) + 0.6 * sine(2 * hz, t));
  assert.deepEqual(names(judged(modulatedBand(21, inner(0.17), 0.3), B6205)), []);
  const [deep] = names(judged(modulatedBand(21, inner(0.5), 0.3), B6205));
  assert.equal(deep, "bearing_inner_race, envelope");
});

test("side bands of the shaft make an outer race no inner race's, where that has no line", () => {
  const hits = impacts(31, 3.061 * SHAFT_HZ, 3000, () => 1);
  // The shaft's 4x in the envelope, where BPFO + 1x would be.
  const band = modulatedBand(32, (t) => 0.5 * sine(4.03 * SHAFT_HZ, t));
  const signal = signalOf((_t, n) => (hits[n] ?? 0) + 0.5 * (band[n] ?? 0));
  assert.deepEqual(names(judged(signal, B6203)), ["bearing_outer_race, envelope"]);
});

test("a load that changes smoothly with each turn of the cage is no cage fault, impacts of it are", () => {
  const cageHz = 0.3816 * SHAFT_HZ;
  const smooth = (t: number) => 0.5 * (sine(cageHz, t) + sine(2 * cageHz, t) + sine(3 * cageHz, t));
  assert.deepEqual(names(judged(modulatedBand(41, smooth), B6203)), []);
  const hits = impacts(42, cageHz, 3000, () => 1);
  const signal = signalOf((_t, n) => (hits[n] ?? 0) + 0.03 * gauss(43, n));
  assert.deepEqual(names(judged(signal, B6203)), ["cage, envelope"]);
  // Beside a damaged element they are its side bands.
  const held = "rolling_element/6203";
  assert.deepEqual(names(judged(signal, B6203, undefined, { held })), []);
});

/** Noise of the whole band, whose amplitude `share` modulates. */
const modulatedNoise = (seed: number, share: (t: number) => number): Float64Array =>
  signalOf((t, n) => 0.3 * gauss(seed, n) * (1 + share(t)));

test("impacts of a cage that loud lines drown are told in the whitened envelope, faint ones and a load that changes are not", () => {
  const cageHz = 0.3816 * SHAFT_HZ;
  const beside = (of: (t: number, n: number) => number) =>
    signalOf(
      (t, n) => of(t, n) + sine(2000, t) + sine(2000 + 2 * SHAFT_HZ, t) + 0.05 * gauss(44, n),
    );
  const hits = impacts(42, cageHz, 3000, () => 1);
  const struck = judged(
    beside((_t, n) => hits[n] ?? 0),
    B6203,
  );
  assert.deepEqual(names(struck), ["cage, whitened envelope"]);
  assert.equal(struck.verdicts[0]?.stage, 1);
  const faint = beside((_t, n) => 0.5 * (hits[n] ?? 0));
  assert.deepEqual(names(judged(faint, B6203)), []);
  const load = modulatedNoise(
    45,
    (t) => 0.3 * (sine(cageHz, t) + sine(2 * cageHz, t) + sine(3 * cageHz, t)),
  );
  const loaded = beside((_t, n) => load[n] ?? 0);
  assert.deepEqual(names(judged(loaded, B6203)), []);
});

test("an element that the cage carries through loads is told by them where its own line hides at an order", () => {
  const cageHz = 0.3796 * SHAFT_HZ;
  const loads = (fixed: number, turning: number, t: number) =>
    fixed * sine(cageHz, t) + turning * sine(SHAFT_HZ - cageHz, t);
  // Seven of eight elements hide at the same multiple of the shaft as that of a 6203.
  const carried = judged(
    modulatedNoise(91, (t) => loads(0.4, 0.3, t)),
    B6203,
  );
  assert.deepEqual(names(carried), ["rolling_element, whitened envelope"]);
  assert.deepEqual(
    carried.verdicts[0]?.lines.map(({ name }) => name),
    ["FTF", "1x - FTF"],
  );
  assert.deepEqual(
    names(
      judged(
        modulatedNoise(91, (t) => loads(0.4, 0, t)),
        B6203,
      ),
    ),
    [],
  );
  // Slow changes of any frequency are no element's.
  const slow = (t: number) => loads(0.2, 0.15, t) + 0.5 * sine(0.7 * SHAFT_HZ, t);
  assert.deepEqual(names(judged(modulatedNoise(91, slow), B6203)), []);
});

test("another bearing's damage nearby, which sends its cage's lines along, is no element's", () => {
  const cageHz = 0.3796 * SHAFT_HZ;
  const far = (t: number) => 0.3 * sine(3.585 * SHAFT_HZ, t) + 0.25 * sine(2 * 3.585 * SHAFT_HZ, t);
  const carried = (t: number) => 0.4 * sine(cageHz, t) + 0.3 * sine(SHAFT_HZ - cageHz, t);
  assert.deepEqual(
    names(
      judged(
        modulatedNoise(91, (t) => carried(t) + far(t)),
        B6203,
      ),
    ),
    [],
  );
});

test("an element of which one race answers less is told at BSF, with the cage's line", () => {
  const spun = (t: number) => 0.4 * sine(0.3963 * SHAFT_HZ, t) + 0.25 * sine(2.345 * SHAFT_HZ, t);
  const found = judged(modulatedNoise(93, spun), B6205);
  assert.deepEqual(names(found), ["rolling_element, whitened envelope"]);
  assert.deepEqual(
    found.verdicts[0]?.lines.map(({ name }) => name),
    ["FTF", "BSF"],
  );
});

test("higher harmonics without the first line are somebody else's", () => {
  const hz = 5.4 * SHAFT_HZ;
  const higher = (t: number) => 0.5 * sine(2 * hz, t) + 0.4 * sine(4 * hz, t);
  assert.deepEqual(names(judged(modulatedBand(61, higher), B6205)), []);
  const all = (t: number) => 0.4 * sine(hz, t) + higher(t);
  assert.deepEqual(names(judged(modulatedBand(61, all), B6205)), ["bearing_inner_race, envelope"]);
});

test("what an order and twice the mains frequency make together in the envelope is no bearing's line", () => {
  const hz = 14 * SHAFT_HZ - 100;
  const beat = (t: number) =>
    0.5 * sine(hz, t) + 0.3 * sine(hz + SHAFT_HZ, t) + 0.3 * sine(hz - SHAFT_HZ, t);
  const bearing = { point: 1, bpfi: hz / SHAFT_HZ } as const;
  const hum = modulatedBand(51, (t) => beat(t) + 0.4 * sine(100, t));
  assert.deepEqual(names(judged(hum, bearing, undefined, { lineHz: 50 })), []);
  assert.deepEqual(names(judged(hum, bearing)), ["bearing_inner_race, envelope"]);
  // Without a line at twice the mains there is nothing that could beat: to state the mains costs no finding.
  const quiet = modulatedBand(51, beat);
  assert.deepEqual(names(judged(quiet, bearing, undefined, { lineHz: 50 })), [
    "bearing_inner_race, envelope",
  ]);
});

/** An inner race's lines in the velocity, mm/s, and blows at its frequency that ring with this share. */
function raceInVelocity(depth: number, unbalance = 0.4): Float64Array {
  const hz = 5.4 * SHAFT_HZ;
  const tone = (rms: number, at: number, t: number) => mmPerS(rms, at) * sine(at, t);
  const ringing = modulatedBand(8, (t) => depth * (sine(hz, t) + 0.6 * sine(2 * hz, t)), 0.005);
  return signalOf(
    (t, n) =>
      tone(1.6, hz, t) +
      tone(0.5, 2 * hz, t) +
      tone(0.6, hz - SHAFT_HZ, t) +
      tone(0.6, hz + SHAFT_HZ, t) +
      tone(unbalance, SHAFT_HZ, t) +
      0.02 * (ringing[n] ?? 0),
  );
}

test("lines of an inner race in the velocity are a finding where blows ring with them", () => {
  const [first] = names(judged(raceInVelocity(0.8), B6205));
  assert.match(first ?? "", /^bearing_inner_race, /);
});

test("smooth lines of a bearing in the velocity are no damage: both readings are told, and the shaft is judged", () => {
  const { verdicts, cannot } = judged(raceInVelocity(0, 6), B6205);
  assert.deepEqual(
    verdicts.map(({ finding }) => finding),
    ["unbalance"],
  );
  const told = cannot.find(({ finding }) => finding === "bearing_inner_race");
  assert.equal(told?.reason, "ambiguous");
  assert.match(told?.text ?? "", /line at BPFI .* without blows/);
});

test("a speed that is 3 % wrong is said, and leads to no finding of the shaft", () => {
  const signal = signalOf((t, n) => mmPerS(4, SHAFT_HZ) * sine(SHAFT_HZ, t) + 0.002 * gauss(9, n));
  assert.deepEqual(names(judged(signal, B6205)), ["unbalance, velocity"]);
  const { verdicts, cannot } = judged(signal, B6205, 60 * SHAFT_HZ * 1.03);
  assert.deepEqual(verdicts, []);
  const why = cannot.find(({ finding }) => finding === "unbalance");
  assert.equal(why?.reason, "speed_doubtful");
  assert.match(
    why?.text ?? "",
    /No line stands at the measured speed of 1851 r\/min, but one at 179\d/,
  );
});

test("a speed that is 3 % wrong is said at the speed of the mains too, whose lines are then no electrical fault", () => {
  const signal = signalOf(
    (t, n) => mmPerS(4, 50) * sine(50, t) + mmPerS(3, 100) * sine(100, t) + 0.002 * gauss(11, n),
  );
  const { verdicts, cannot } = judged(signal, B6205, 3000 * 1.03, { lineHz: 50 });
  assert.deepEqual(verdicts, []);
  for (const finding of ["unbalance", "electrical"]) {
    assert.equal(cannot.find((one) => one.finding === finding)?.reason, "speed_doubtful", finding);
  }
});
