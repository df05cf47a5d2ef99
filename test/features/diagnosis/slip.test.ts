/** Long records, in which the slip of a bearing spreads its lines. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bearing } from "../../../src/core/machine.ts";
import type { ChannelTones } from "../../../src/core/reading.ts";
import { judge, type Measured } from "../../../src/features/diagnosis/rules/judge.ts";
import { analyseAxis } from "../../../src/pipeline/signal/analyse.ts";
import { DftPlans } from "../../../src/pipeline/signal/fft.ts";
import { chance } from "../../../src/simulator/random.ts";
import { SENSOR, toneList } from "./support.ts";

const RATE_HZ = 12_800;
const SHAFT_HZ = 25;
const B6205: Bearing = { point: 1, name: "6205", balls: 9, ballMm: 7.94, pitchMm: 39.04 };
const B6203: Bearing = { ...B6205, name: "6203", bpfo: 3.053, bpfi: 4.947, bsf: 1.994, ftf: 0.382 };
const plans = new DftPlans();

function gauss(seed: number, n: number): number {
  const u = Math.max(1e-12, chance(seed, n, 1));
  return Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * chance(seed, n, 2));
}

/** Blows that ring, each a share of the period early or late, which adds up, over noise of 0.35 G. */
function blows(seed: number, size: number, hz: number, peakG: number, slip: number): Float64Array {
  const signal = Float64Array.from({ length: size }, (_, n) => 0.35 * gauss(seed, n));
  for (let at = 0.003, i = 0; at < size / RATE_HZ; at += (1 + slip * gauss(seed + 1, i)) / hz) {
    const from = Math.ceil(at * RATE_HZ);
    const own = peakG * (0.8 + 0.4 * chance(seed + 2, i++));
    for (let n = from; n < Math.min(size, from + 60); n++) {
      const t = n / RATE_HZ - at;
      const ring = own * Math.exp(-900 * t) * Math.sin(2 * Math.PI * 3100 * t);
      signal[n] = (signal[n] ?? 0) + ring;
    }
  }
  return signal;
}

function found(tones: ChannelTones[], values: Measured["values"], bearing: Bearing): string[] {
  const { verdicts } = judge(
    { tones, values },
    {
      machine: { id: 40, speed: { sensor: "50021" }, bearings: [bearing] },
      sensor: SENSOR,
      speedRpm: 60 * SHAFT_HZ,
      state: "running",
      isHeld: () => false,
    },
  );
  return verdicts.map(({ finding }) => finding);
}

function foundIn(signalG: Float64Array, bearing: Bearing): string[] {
  const calibration = 1 / 4000;
  const counts = Int16Array.from(signalG, (value) => Math.round(value / calibration));
  const options = { sampleRateHz: RATE_HZ, calibration, plans, tones: true };
  const { tones, velocityRms, envelopeRms } = analyseAxis(counts, options);
  const values = { channel1_vel_rms: velocityRms.value, channel1_env_rms: envelopeRms.value };
  const durationS = counts.length / RATE_HZ;
  return found([{ channel: 1, axis: "H", durationS, isClipped: false, tones }], values, bearing);
}

for (const size of [8192, 32_768]) {
  test(`a race whose blows slip is found in ${size} samples: a longer record names no less`, () => {
    for (const seed of [10, 20, 30]) {
      const signal = blows(seed, size, 3.585 * SHAFT_HZ, 1, 0.03);
      assert.deepEqual(foundIn(signal, B6205), ["bearing_outer_race"], `${seed}`);
    }
  });
}

test("a band that touches an order of the shaft is not the bearing's, one beside it is", () => {
  const bandsAt = (order: number): string[] => {
    const none = toneList(SHAFT_HZ, 0.5, []);
    const spread = toneList(SHAFT_HZ, 0.5, [
      [order, 0.3, 8],
      [2 * order, 0.2, 5],
    ]);
    const tones = { accel: none, envelope: null, white: none, spread };
    return found([{ channel: 1, axis: "H", durationS: 2, isClipped: false, tones }], {}, B6203);
  };
  assert.deepEqual(bandsAt(3.03), []);
  assert.deepEqual(bandsAt(3.1), ["bearing_outer_race"]);
});
