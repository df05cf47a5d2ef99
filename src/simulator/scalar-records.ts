/** Records of the kinds with few values. */

import { isWireBroken, machineState, phaseCurrentsA, tankLevel } from "./machines.ts";
import type { PlainRecord } from "./plain-record.ts";
import type { PlantSensor } from "./plant.ts";

export function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

/** Amperes per unit of the raw reading: the clamp's rating over 100. */
export function clampFactor(sensor: PlantSensor, n: number): number {
  return (sensor.channels[`current${n}`]?.clamp ?? 100) / 100;
}

/** Minimum, maximum and average since the last message, from a few samples in between. */
export function currentSpread(sensor: PlantSensor, trueMs: number, cadenceMs: number): PlainRecord {
  const looks = [0, 1, 2, 3, 4, 5].map((i) =>
    phaseCurrentsA(sensor.machine, trueMs - (i * cadenceMs) / 6),
  );
  const out: Record<string, number> = {};
  for (let n = 1; n <= 4; n++) {
    const raw = looks.map((amps) => (amps[n - 1] ?? 0) / clampFactor(sensor, n));
    out[`min_current${n}`] = round(Math.min(...raw), 3);
    out[`max_current${n}`] = round(Math.max(...raw), 3);
    out[`avg_current${n}`] = round(raw.reduce((sum, value) => sum + value, 0) / raw.length, 3);
  }
  return out;
}

/** Volts over 100 ohm: 0.4 V at 4 mA, 2.0 V at 20 mA. The fourth input is not wired. */
export function loopVoltages(sensor: PlantSensor, trueMs: number): PlainRecord {
  const { load, isRunning } = machineState(sensor.machine, trueMs);
  const shares = [
    tankLevel(sensor.machine, trueMs),
    isRunning ? 0.3 + 0.5 * load : 0.02,
    load * 0.85,
  ];
  const volts = shares.map((share, i) =>
    isWireBroken(sensor, i + 1, trueMs) ? 0.001 : round(0.4 + 1.6 * share, 4),
  );
  return {
    channel1_voltage: volts[0] ?? null,
    channel2_voltage: volts[1] ?? null,
    channel3_voltage: volts[2] ?? null,
    channel4_voltage: null,
  };
}
