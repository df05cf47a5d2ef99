/**
 * Machines with known faults, for testing diagnosis: what physics would show of each, seeded, so that the tester knows
 * the truth. Shares nothing with the analysis: frequencies, impacts and tones are derived here from the mechanics.
 */

import { chance, mix, RandomSequence } from "./random.ts";
import { addSine, TURN } from "./sine.ts";

/** mm/s² in one G. */
const G_MM_S2 = 9800;
const COUNTS_MAX = 32767;

export type FaultKind =
  | "unbalance"
  | "misalignment"
  | "looseness"
  | "outer_race"
  | "inner_race"
  | "rolling_element"
  | "cage"
  | "blade_pass"
  | "gear_mesh"
  | "electrical";

export interface FaultyMachine {
  readonly seed: number;
  readonly speedRpm: number;
  /** Share of the speed that a drive varies over hours; 0 on the mains. */
  readonly speedSwing: number;
  readonly lineHz: number;
  readonly blades: number;
  /** The first wheel is on the measured shaft; none: no gear. */
  readonly teeth: readonly number[];
  readonly bearing: {
    readonly balls: number;
    readonly ballMm: number;
    readonly pitchMm: number;
    readonly angleDeg: number;
  };
  /** Velocity at which zone D begins, mm/s RMS: a fault of severity 1 reaches it. */
  readonly zoneD: number;
}

export interface MachineFault {
  readonly fault: FaultKind | null;
  /** 0 healthy, 1 zone D. */
  readonly severity: number;
  /** Share of the rated load. */
  readonly load: number;
  /** The sensor was knocked: turned on its base, loosely attached, and insensitive to high frequencies. */
  readonly isKnocked?: boolean;
  /** A bad day of the process: cavitation, rubble, surges; the machine is unchanged. */
  readonly isBadDay?: boolean;
}

export interface RecordShape {
  readonly sampleRateHz: number;
  readonly samples: number;
  /** Full scale, G. */
  readonly rangeG: number;
}

export interface FaultyRecord {
  /** H, V, A */
  readonly channels: readonly [Int16Array, Int16Array, Int16Array];
  /** Shaft speed during the record, r/min. */
  readonly speedRpm: number;
  readonly calibration: number;
}

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

/** Peak acceleration of an impact at severity 1, G, and that of the smallest damage. */
const STRIKE_G = 7;

/** Impacts that ring the housing: in turns of the shaft, with slip, modulated by the load on the damage. */
function impactFault(
  machine: FaultyMachine,
  { fault, severity, load }: MachineFault,
  signals: readonly Float64Array[],
  shaftHz: number,
  random: RandomSequence,
  rateHz: number,
): void {
  const { balls, ballMm, pitchMm, angleDeg } = machine.bearing;
  const ratio = (ballMm / pitchMm) * Math.cos((angleDeg * Math.PI) / 180);
  // The elements of a loaded bearing slip: the cage is slower or faster than pure rolling would make it.
  const slip = 1 + 0.03 * (chance(machine.seed, 40) - 0.5);
  const cageTurns = ((1 - ratio) / 2) * slip;
  const spinTurns = (pitchMm / (2 * ballMm)) * (1 - ratio * ratio) * slip;
  // Damage is audible early: its impacts grow with the square root of its area.
  const g = STRIKE_G * Math.sqrt(severity) * severity ** 0.25 * (0.7 + 0.3 * load);
  if (!(g > 0)) return;
  const inZone = (turns: number) => 0.08 + 0.92 * Math.max(0, Math.cos(TURN * turns)) ** 1.5;
  const strike = { signals, random, rateHz, shaftHz, seed: machine.seed };
  if (fault === "outer_race") {
    impacts(strike, balls * cageTurns, (turns) => g * (1 + 0.15 * Math.cos(TURN * turns)));
  } else if (fault === "inner_race") {
    impacts(strike, balls * (1 - cageTurns), (turns) => g * inZone(turns));
  } else if (fault === "rolling_element") {
    // Each turn of the element hits both races, one harder.
    const side = (n: number) => (n % 2 === 0 ? 1 : 0.75);
    impacts(strike, 2 * spinTurns, (turns, n) => g * inZone(cageTurns * turns) * side(n));
  } else if (fault === "cage") impacts(strike, cageTurns, () => 1.3 * g);
}

interface Strikes {
  readonly signals: readonly Float64Array[];
  readonly random: RandomSequence;
  readonly rateHz: number;
  readonly shaftHz: number;
  readonly seed: number;
}

function impacts(
  { signals, random, rateHz, shaftHz, seed }: Strikes,
  perTurn: number,
  strength: (turns: number, n: number) => number,
): void {
  const [signal] = signals;
  if (signal === undefined) return;
  const resonanceHz = Math.min(0.33 * rateHz, 1700 + 900 * chance(seed, 41));
  const decay = 420 / rateHz;
  const period = rateHz / (perTurn * shaftHz);
  const length = Math.ceil(6 / decay);
  const phase = random.next();
  let at = random.next() * period;
  for (let n = 0; at < signal.length; n++) {
    const turns = (at / rateHz) * shaftHz + phase;
    const peak = strength(turns, n) * (0.85 + 0.3 * random.next());
    const first = Math.ceil(at);
    const last = Math.min(signal.length, first + length);
    for (let k = first; k < last; k++) {
      const since = k - at;
      const ring =
        peak * Math.exp(-since * decay) * Math.sin((TURN * resonanceHz * since) / rateHz);
      for (const [axis, gain] of [1, 0.8, 0.5].entries()) {
        const own = signals[axis];
        if (own !== undefined) own[k] = (own[k] ?? 0) + gain * ring;
      }
    }
    // Random slip accumulates from impact to impact.
    at += period * (1 + 0.006 * random.noise());
  }
}

/** Impacts at random times: cavitation, gravel in the pump. */
function rubble(signals: readonly Float64Array[], random: RandomSequence, rateHz: number): void {
  const [signal] = signals;
  if (signal === undefined) return;
  for (let at = 0; at < signal.length; at += (rateHz / 60) * -Math.log(1 - random.next())) {
    const peak = 2 * random.next();
    const hz = (0.1 + 0.25 * random.next()) * rateHz;
    for (let k = Math.ceil(at); k < Math.min(signal.length, at + 60); k++) {
      const ring = peak * Math.exp(-(k - at) / 15) * Math.sin((TURN * hz * (k - at)) / rateHz);
      for (const own of signals) own[k] = (own[k] ?? 0) + ring;
    }
  }
}

/** Two axes mix, high frequencies are lost, and the base rattles a little. */
function knock(signals: readonly Float64Array[], random: RandomSequence): void {
  const [h, v, a] = signals;
  if (h === undefined || v === undefined || a === undefined) return;
  const angle = 0.5;
  let last = [0, 0, 0];
  for (let k = 0; k < h.length; k++) {
    const [x, y, z] = [h[k] ?? 0, v[k] ?? 0, a[k] ?? 0];
    const turned = [
      x * Math.cos(angle) - y * Math.sin(angle),
      x * Math.sin(angle) + y * Math.cos(angle),
      z,
    ];
    last = turned.map((value, i) => 0.6 * value + 0.4 * (last[i] ?? 0));
    const rattle = 0.02 * random.noise() * Math.abs(x);
    h[k] = (last[0] ?? 0) + rattle;
    v[k] = last[1] ?? 0;
    a[k] = last[2] ?? 0;
  }
}

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
