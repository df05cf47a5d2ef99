/**
 * The physics of the simulated plant. Everything is a pure function of machine and time, so that the past can be
 * queried in any order and two processes agree on it.
 */
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../core/time-units.ts";
import type { PlantSensor, SimulatedMachine } from "./plant.ts";
import { chance, mix } from "./random.ts";

const TURN = 2 * Math.PI;
const YEARS_PER_BATTERY = 3;

export interface SimulatedState {
  readonly isRunning: boolean;
  readonly speedRpm: number;
  /** Share of the rated load, 0 when stopped. */
  readonly load: number;
  /** Of its defect: 0 healthy, 1 severe. */
  readonly severity: number;
  readonly temperatureC: number;
}

export function machineState(machine: SimulatedMachine, ms: number): SimulatedState {
  const shifted = ms + chance(machine.seed, 6) * machine.cycleMs;
  const cycle = Math.floor(shifted / machine.cycleMs);
  const within = shifted - cycle * machine.cycleMs;
  const runMs =
    machine.cycleMs * (machine.runFraction + 0.04 * (chance(machine.seed, cycle, 7) - 0.5));
  const isRunning = within < runMs;
  const sinceMs = isRunning ? within : within - runMs;
  // Motors start in seconds and coast for longer.
  const turning = isRunning ? 1 - Math.exp(-sinceMs / 4000) : Math.exp(-sinceMs / 25_000);
  const load = isRunning ? loadAt(machine, ms) * (1 - Math.exp(-sinceMs / 20_000)) : 0;
  const warm = isRunning
    ? 1 - Math.exp(-sinceMs / (30 * MINUTE_MS))
    : Math.exp(-sinceMs / (45 * MINUTE_MS));
  const slip = 1 + 0.012 * (0.7 - load);
  return {
    isRunning,
    speedRpm: turning < 0.01 ? 0 : machine.speedRpm * turning * (isRunning ? slip : 1),
    load,
    severity: severityAt(machine, ms),
    temperatureC: ambientC(ms) + 24 * warm * (0.4 + 0.6 * loadAt(machine, ms)),
  };
}

/** Demand of the process, whether the machine runs or not: a daily variation, the process' own cycle, and noise. */
function loadAt(machine: SimulatedMachine, ms: number): number {
  const phase = TURN * chance(machine.seed, 8);
  const unrest = chance(machine.seed, Math.floor(ms / MINUTE_MS), 9) - 0.5;
  return (
    0.7 +
    0.14 * Math.sin((TURN * ms) / DAY_MS + phase) +
    0.09 * Math.sin((TURN * ms) / (37 * MINUTE_MS) + 2 * phase) +
    0.05 * unrest
  );
}

/** Slow at first, then fast, as bearings fail; after growthMs it is repaired. */
function severityAt(machine: SimulatedMachine, ms: number): number {
  const age = ms / machine.growthMs + machine.growthPhase;
  return (age - Math.floor(age)) ** 2.5;
}

function ambientC(ms: number): number {
  return (
    17 +
    5 * Math.sin((TURN * ms) / DAY_MS - 1.8) +
    6 * Math.sin((TURN * ms) / (365.25 * DAY_MS) - 2)
  );
}

/** Phase currents, A. The third phase carries a little less, the neutral the imbalance. */
export function phaseCurrentsA(
  machine: SimulatedMachine,
  ms: number,
): readonly [number, number, number, number] {
  const { load, isRunning } = machineState(machine, ms);
  const noise = (phase: number) =>
    1 + 0.02 * (chance(machine.seed, Math.floor(ms / 1000), 20 + phase) - 0.5);
  if (!isRunning) return [0.02 * noise(1), 0.02 * noise(2), 0.02 * noise(3), 0.01 * noise(4)];
  // The magnetising current flows even without load.
  const amps = machine.ratedA * Math.hypot(0.32, load);
  return [
    amps * noise(1),
    amps * 1.012 * noise(2),
    amps * 0.985 * noise(3),
    amps * 0.03 * noise(4),
  ];
}

/** The counter of a module restarts every few days; ampere-hours since then, in steps of an hour. */
export function accumulatedAh(
  machine: SimulatedMachine,
  ms: number,
): { readonly startMs: number; readonly phases: readonly [number, number, number, number] } {
  const lifeMs = (4 + 3 * chance(machine.seed, 10)) * DAY_MS;
  const shift = chance(machine.seed, 11) * lifeMs;
  const startMs = Math.floor(Math.floor((ms + shift) / lifeMs) * lifeMs - shift);
  const stepMs = HOUR_MS;
  const sums: [number, number, number, number] = [0, 0, 0, 0];
  for (let at = startMs; at < ms; at += stepMs) {
    const hours = Math.min(stepMs, ms - at) / HOUR_MS;
    // The start of a step stands for the step, so that the sum up to a time never depends on what comes after it.
    const amps = phaseCurrentsA(machine, at);
    for (let phase = 0; phase < 4; phase++)
      sums[phase] = (sums[phase] ?? 0) + (amps[phase] ?? 0) * hours;
  }
  return { startMs, phases: sums };
}

/** Filled by the machine, drained by the process: 0–1. */
export function tankLevel(machine: SimulatedMachine, ms: number): number {
  const periodMs = (50 + 60 * chance(machine.seed, 12)) * MINUTE_MS;
  const at = (ms / periodMs + chance(machine.seed, 13)) % 1;
  const level = at < 0.35 ? at / 0.35 : (1 - at) / 0.65;
  const ripple = 0.01 * Math.sin((TURN * ms) / 7000);
  return 0.12 + 0.78 * level + ripple;
}

/** In one hour out of two hundred, the wire of some loop is broken for a few minutes. */
export function isWireBroken(sensor: PlantSensor, channel: number, ms: number): boolean {
  const hour = Math.floor(ms / HOUR_MS);
  if (chance(sensor.seed, hour, 30 + channel) >= 0.005) return false;
  const startMs = hour * HOUR_MS + chance(sensor.seed, hour, 40 + channel) * 45 * MINUTE_MS;
  return ms >= startMs && ms < startMs + 10 * MINUTE_MS;
}

/** Doors are opened a few times an hour by day, for a minute or two. */
export function isDoorOpen(sensor: PlantSensor, ms: number): boolean {
  const slot = Math.floor(ms / (12 * MINUTE_MS));
  if (chance(sensor.seed, slot, 50) > 0.3) return false;
  const startMs = (slot + 0.6 * chance(sensor.seed, slot, 51)) * 12 * MINUTE_MS;
  return ms >= startMs && ms < startMs + (1 + 3 * chance(sensor.seed, slot, 52)) * MINUTE_MS;
}

/** Lithium cells: flat for most of their life, then falling; lower when cold, and under the load of sending. */
export function batteryV(sensor: PlantSensor, ms: number): number {
  const lifeMs = YEARS_PER_BATTERY * 365 * DAY_MS * (0.8 + 0.4 * chance(sensor.seed, 60));
  const lives = ms / lifeMs + chance(sensor.seed, 61);
  const age = lives - Math.floor(lives);
  const cold = Math.max(0, 20 - ambientC(ms)) * 0.003;
  const sag = 0.02 * chance(sensor.seed, Math.floor(ms / MINUTE_MS), 62);
  return 3.66 - 0.12 * age - 0.75 * age ** 10 - cold - sag;
}

export function batteryType(sensor: PlantSensor): number {
  return 1 + (mix(sensor.seed, 63) % 4);
}

export function firmware(sensor: PlantSensor): number {
  return 10 + (mix(sensor.seed, 64) % 5);
}
