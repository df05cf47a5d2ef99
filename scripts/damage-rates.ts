/**
 * How often records of healthy machines are called damaged: `node --import tsx scripts/damage-rates.ts [MACHINES] [RECORDS]`.
 * Simulated machines differ in speed, load, gears, blades, noise and mains; speeds swing, and records have three rates and lengths.
 */
import { analyseAxis } from "../src/pipeline/signal/analyse.ts";
import { DftPlans } from "../src/pipeline/signal/fft.ts";
import { chance } from "../src/simulator/random.ts";
import { faultyRecord } from "../test/support/machines/faulty-machine.ts";
import type { FaultyMachine } from "../test/support/machines/machine-fault.ts";

const [machines = 50, records = 60] = process.argv.slice(2).map(Number);
const FLAGS = ["SAMPLES_LOST", "JUMP", "CLIPPED", "WRAPPED"] as const;
const SHAPES = [
  { sampleRateHz: 6400, samples: 4096, rangeG: 8 },
  { sampleRateHz: 12_800, samples: 8192, rangeG: 16 },
  { sampleRateHz: 3200, samples: 2048, rangeG: 4 },
];
const found = new Map<string, number>(FLAGS.map((flag) => [flag, 0]));
const plans = new DftPlans();
let axes = 0;
for (let seed = 1; seed <= machines; seed++) {
  const machine: FaultyMachine = {
    seed,
    speedRpm: 600 + Math.round(2400 * chance(seed, 1)),
    speedSwing: 0.2 * chance(seed, 2),
    lineHz: seed % 2 === 0 ? 50 : 60,
    blades: 4 + (seed % 6),
    teeth: [17 + (seed % 20), 60 + (seed % 40)],
    bearing: { balls: 9, ballMm: 7.94, pitchMm: 39.04, angleDeg: 0 },
    zoneD: 4.5,
  };
  for (let n = 1; n <= records; n++) {
    const shape = SHAPES[(seed + n) % SHAPES.length] ?? SHAPES[0];
    if (shape === undefined) continue;
    // Rubble in the pump on one day of ten, and a knock now and then.
    const isBadDay = n % 10 === 0;
    const isKnocked = n % 25 === 0;
    const healthy = { fault: null, severity: 0, load: chance(seed, n, 3), isBadDay, isKnocked };
    const { channels, calibration } = faultyRecord(machine, healthy, n, shape);
    for (const samples of channels) {
      axes += 1;
      const { sampleRateHz } = shape;
      const { flags } = analyseAxis(samples, { sampleRateHz, calibration, plans });
      for (const flag of FLAGS)
        if (flags.includes(flag)) found.set(flag, (found.get(flag) ?? 0) + 1);
    }
  }
}
process.stdout.write(
  `${axes} axes of healthy records: ${[...found].map(([flag, count]) => `${flag} ${count}`).join(", ")}\n`,
);
