/**
 * How often noise alone looks like a bearing fault in one reading: `node --import tsx scripts/diagnosis-noise.ts [readings]`.
 * Coloured noise without any line, at several rates, lengths, speeds and bearings; a finding needs five such readings in a
 * row. The thresholds of the whitened envelope rest on this table.
 */

import type { Bearing } from "../src/core/machine.ts";
import type { Sensor } from "../src/core/sensor.ts";
import { judge } from "../src/features/diagnosis/rules/judge.ts";
import { analyseAxis } from "../src/pipeline/signal/analyse.ts";
import { DftPlans } from "../src/pipeline/signal/fft.ts";
import { chance, mix } from "../src/simulator/random.ts";

const [readings = 400] = process.argv.slice(2).map(Number);
const BEARINGS: readonly Bearing[] = [
  { point: 1, name: "6205", balls: 9, ballMm: 7.94, pitchMm: 39.04 },
  { point: 1, name: "6203", bpfo: 3.053, bpfi: 4.9469, bsf: 1.9938, ftf: 0.3816 },
  { point: 1, name: "22220", balls: 19, ballMm: 19, pitchMm: 141, angleDeg: 10 },
];
const SHAPES = [
  [3200, 4096],
  [6400, 4096],
  [12_800, 2048],
  [12_800, 4096],
  [12_800, 8192],
  [12_800, 16_384],
  [25_600, 16_384],
] as const;
const SENSOR: Pick<Sensor, "location" | "channels"> = {
  channels: {},
  location: { company: 1, area: 1, machine: 1, point: 1 },
};
const plans = new DftPlans();

/** Noise through a resonance at a random place. */
function noise(seed: number, size: number): Int16Array {
  const centre = 0.1 + 2.2 * chance(seed, 1);
  const radius = 0.9 + 0.09 * chance(seed, 2);
  const a = 2 * radius * Math.cos(centre);
  const b = radius * radius;
  let one = 0;
  let two = 0;
  return Int16Array.from({ length: size }, (_, n) => {
    const u = Math.max(1e-12, chance(seed, n, 3));
    const white = Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * chance(seed, n, 4));
    const ring = a * one - b * two + white;
    two = one;
    one = ring;
    return Math.round(300 * (white + 0.3 * ring));
  });
}

process.stdout.write(
  "| rate, Hz | samples | r/min | readings | with a bearing line, % by fault |\n",
);
process.stdout.write("| --- | --- | --- | --- | --- |\n");
for (const [sampleRateHz, size] of SHAPES) {
  for (const speedRpm of [900, 2950]) {
    const counts = new Map<string, number>();
    let checked = 0;
    for (let i = 0; i < readings; i++) {
      const samples = noise(mix(mix(speedRpm, size), i + sampleRateHz), size);
      const analysis = analyseAxis(samples, {
        sampleRateHz,
        calibration: 1e-4,
        plans,
        tones: true,
      });
      const values = {
        channel1_vel_rms: analysis.velocityRms.value,
        channel1_env_rms: analysis.envelopeRms.value,
      };
      const durationS = size / sampleRateHz;
      const tones = [
        { channel: 1, axis: "H" as const, durationS, isClipped: false, tones: analysis.tones },
      ];
      const { verdicts, cannot } = judge(
        { tones, values },
        {
          machine: { id: 1, speed: { sensor: "2" }, bearings: BEARINGS },
          sensor: SENSOR,
          speedRpm,
          state: "running",
          isHeld: () => false,
        },
      );
      if (cannot.some(({ finding }) => finding === null)) continue;
      checked += 1;
      for (const { finding, lines } of verdicts) {
        const name = `${finding}, ${lines[0]?.spectrum}`;
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
    }
    const shares = [...counts]
      .map(([name, count]) => `${name}: ${((100 * count) / checked / BEARINGS.length).toFixed(2)}`)
      .join("; ");
    process.stdout.write(
      `| ${sampleRateHz} | ${size} | ${speedRpm} | ${checked} | ${shares || "none"} |\n`,
    );
  }
}
