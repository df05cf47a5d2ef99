/**
 * Machines with known faults, for testing diagnosis: what physics would show of each, seeded, so that the tester knows
 * the truth. Shares nothing with the analysis: frequencies, impacts and tones are derived here from the mechanics.
 */

import { chance, mix, RandomSequence } from "../../../src/simulator/random.ts";
import { addSine, TURN } from "../../../src/simulator/waveform.ts";
import {
  type FaultyMachine,
  type FaultyRecord,
  type MachineFault,
  type RecordShape,
} from "./machine-fault.ts";
import { impactFault, knock, rubble } from "./machine-impacts.ts";

/** mm/s² in one G. */
const G_MM_S2 = 9800;
const COUNTS_MAX = 32767;

/** Severity of a fault that began at `startDay` and reaches zone D `days` later: slow at first, then fast. */
export function severityOn(day: number, startDay: number, days: number, power = 2.5): number {
  return day <= startDay ? 0 : Math.min(1.3, ((day - startDay) / days) ** power);
}

/** Tones by axis: mm/s RMS of velocity in H, V and A. */
type Add = (hz: number, h: number, v: number, a: number) => void;

export function faultyRecord(
  machine: FaultyMachine,
  condition: MachineFault,
  n: number,
  shape: RecordShape,
): FaultyRecord {
  const random = new RandomSequence(mix(machine.seed, n + 1000));
  const { load } = condition;
  const swing = 1 - machine.speedSwing * chance(machine.seed, n, 1);
  const speedRpm = machine.speedRpm * swing * (1 + 0.012 * (0.7 - load));
  const shaftHz = speedRpm / 60;
  const signals = [0, 1, 2].map(() => new Float64Array(shape.samples));
  const noiseG = (0.015 + 0.02 * load) * (condition.isBadDay === true ? 8 : 1);
  for (const signal of signals) {
    for (let k = 0; k < signal.length; k++) signal[k] = noiseG * random.noise();
  }
  const share = (speedRpm / machine.speedRpm) ** 2;
  const add: Add = (hz, ...levels) => {
    for (const [axis, level] of levels.entries()) {
      const g = (level * share * Math.SQRT2 * TURN * hz) / G_MM_S2;
      addTone(signals[axis], hz, g, random.next() * TURN, shape.sampleRateHz);
    }
  };
  residual(machine, add, shaftHz, load);
  shaftFault(machine, condition, add, shaftHz, random);
  impactFault(machine, condition, signals, shaftHz, random, shape.sampleRateHz);
  if (condition.isBadDay === true) rubble(signals, random, shape.sampleRateHz);
  if (condition.isKnocked === true) knock(signals, random);
  const channels = signals.map((signal) => quantise(signal, shape.rangeG));
  const [h, v, a] = channels as [Int16Array, Int16Array, Int16Array];
  return { channels: [h, v, a], speedRpm, calibration: shape.rangeG / (COUNTS_MAX + 1) };
}

/** Vibration of a healthy machine: residual unbalance and misalignment, blade pass, mesh and mains, each a little. */
function residual(machine: FaultyMachine, add: Add, hz: number, load: number): void {
  const { seed, zoneD, lineHz, blades, teeth } = machine;
  const own = (salt: number, low: number, high: number) =>
    (low + (high - low) * chance(seed, salt)) * zoneD;
  const first = own(11, 0.07, 0.2);
  add(hz, first, 0.75 * first, 0.3 * first);
  const second = own(12, 0.02, 0.07);
  add(2 * hz, second, 0.8 * second, second);
  add(3 * hz, 0.4 * second, 0.3 * second, 0.3 * second);
  const mains = own(13, 0.01, 0.05) * (0.7 + 0.3 * load);
  add(2 * lineHz, mains, mains, 0.3 * mains);
  const blade = own(14, 0.03, 0.1) * (0.5 + load / 2);
  add(blades * hz, blade, 0.7 * blade, 0.6 * blade);
  const [own1] = teeth;
  if (own1 === undefined) return;
  const mesh = own(15, 0.02, 0.07) * (0.3 + load);
  add(own1 * hz, mesh, mesh, 0.6 * mesh);
  for (const m of [-1, 1]) add((own1 + m) * hz, 0.08 * mesh, 0.08 * mesh, 0.05 * mesh);
}

function shaftFault(
  machine: FaultyMachine,
  { fault, severity, load }: MachineFault,
  add: Add,
  hz: number,
  random: RandomSequence,
): void {
  const s = severity * machine.zoneD;
  if (s <= 0) return;
  const wander = 0.95 + 0.1 * random.next();
  switch (fault) {
    case "unbalance":
      add(hz, 0.95 * s * wander, 0.75 * s * wander, 0.18 * s);
      return;
    case "misalignment":
      add(hz, 0.35 * s, 0.3 * s, 0.4 * s);
      add(2 * hz, 0.85 * s * wander, 0.7 * s, 0.6 * s * wander);
      add(3 * hz, 0.2 * s, 0.2 * s, 0.15 * s);
      return;
    case "looseness":
      // Clipped motion: halves of the order and a long series of harmonics.
      for (const [order, level] of LOOSE) {
        const own = level * (0.8 + 0.4 * chance(machine.seed, 30, 2 * order)) * wander * s;
        add(order * hz, own, 0.8 * own, 0.3 * own);
      }
      return;
    case "blade_pass":
      add(machine.blades * hz, 0.92 * s * wander, 0.6 * s, 0.5 * s);
      add(2 * machine.blades * hz, 0.3 * s, 0.2 * s, 0.2 * s);
      return;
    case "gear_mesh": {
      const teeth = machine.teeth[0] ?? 20;
      const loaded = 0.6 + 0.5 * load;
      add(teeth * hz, 0.75 * s * loaded, 0.7 * s * loaded, 0.4 * s);
      add(2 * teeth * hz, 0.2 * s, 0.2 * s, 0.1 * s);
      for (const m of [-2, -1, 1, 2]) {
        const level = (Math.abs(m) === 1 ? 0.38 : 0.18) * s;
        add((teeth + m) * hz, level * wander, level, 0.5 * level);
      }
      return;
    }
    case "electrical": {
      add(2 * machine.lineHz, 0.95 * s * wander, 0.8 * s, 0.2 * s);
      return;
    }
    case "outer_race":
    case "inner_race":
    case "rolling_element":
    case "cage":
      // Clearance lets the shaft move, late.
      add(hz, 0.75 * s * severity, 0.6 * s * severity, 0.25 * s * severity);
      for (const order of [2, 3, 4]) {
        const level = (0.6 * s * severity) / order;
        add(order * hz, level, 0.8 * level, 0.4 * level);
      }
      return;
    case null:
      return;
  }
}

const LOOSE: readonly (readonly [order: number, level: number])[] = [
  [0.5, 0.35],
  [1, 0.4],
  [1.5, 0.28],
  [2, 0.45],
  [2.5, 0.2],
  [3, 0.35],
  [4, 0.28],
  [5, 0.24],
  [6, 0.2],
  [7, 0.16],
  [8, 0.12],
];

function addTone(
  signal: Float64Array | undefined,
  hz: number,
  g: number,
  phase: number,
  rateHz: number,
): void {
  if (signal === undefined || hz >= 0.45 * rateHz || g === 0) return;
  addSine(signal, hz, g, phase, rateHz);
}

function quantise(signal: Float64Array, rangeG: number): Int16Array {
  const perG = (COUNTS_MAX + 1) / rangeG;
  const out = new Int16Array(signal.length);
  for (let k = 0; k < out.length; k++) {
    out[k] = Math.max(-COUNTS_MAX - 1, Math.min(COUNTS_MAX, Math.round((signal[k] ?? 0) * perG)));
  }
  return out;
}
