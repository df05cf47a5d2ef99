/** What knocks in a machine: damaged bearings, rubble, loose parts. */

import { chance, type RandomSequence } from "../../../src/simulator/random.ts";
import { TURN } from "../../../src/simulator/waveform.ts";
import type { FaultyMachine, MachineFault } from "./machine-fault.ts";

/** Peak acceleration of an impact at severity 1, G, and that of the smallest damage. */
const STRIKE_G = 7;

/** Impacts that ring the housing: in turns of the shaft, with slip, modulated by the load on the damage. */
export function impactFault(
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
export function rubble(
  signals: readonly Float64Array[],
  random: RandomSequence,
  rateHz: number,
): void {
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
export function knock(signals: readonly Float64Array[], random: RandomSequence): void {
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
