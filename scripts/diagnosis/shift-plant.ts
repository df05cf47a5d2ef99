/**
 * Machines that start twice a day, as values: what a velocity and a running signal show of them at a time. Physics: a
 * direct start takes seconds, an inverter's ramp minutes; a fan coasts down for up to a quarter of an hour, through its
 * critical speed; unbalance grows with the square of the speed; a clamp's noise is a share of its rating, not of the motor's.
 */
import { gaussOf, type Random } from "./random-numbers.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const SETTLED_MS = 40 * MINUTE_MS;
const CLAMPS_A = [50, 100, 250, 500];

export type SignalKind = "current" | "rpm" | "dryContact";

export interface ShiftPlant {
  readonly signal: SignalKind;
  /** Above this the signal says running; of a contact 0. */
  readonly above: number;
  /** A, a clamp's rating. */
  readonly clampA: number;
  /** Velocity at full speed, mm/s RMS: one machine of five shakes in zone D whenever it runs. */
  readonly level: number;
  readonly intervalMs: { readonly record: number; readonly signal: number };
  /** At a time from the start of the year, ms: the velocity that a record shows, mm/s RMS. */
  velocity(atMs: number): number;
  /** What the signal reads. */
  reading(atMs: number): number;
  /** Whether the motor is on. */
  isOn(atMs: number): boolean;
  /** Whether it runs, and started and stops more than 40 minutes away: no record can then be one of a standing machine. */
  isSettled(atMs: number): boolean;
}

interface Run {
  readonly fromMs: number;
  readonly toMs: number;
}

function pick<T>(from: readonly [T, ...T[]], random: Random): T {
  return from[Math.floor(random() * from.length)] ?? from[0];
}

/** Two runs a day, and a test run of 5 to 20 minutes a month. */
function runsOf(days: number, random: Random): Run[] {
  const breakMs = (20 + 300 * random()) * MINUTE_MS;
  const runs: Run[] = [];
  for (let day = 0; day < days; day++) {
    const start = day * DAY_MS + (4 + 3 * random()) * HOUR_MS;
    const noon = start + (4 + 3 * random()) * HOUR_MS;
    const again = noon + breakMs * (0.7 + 0.6 * random());
    const end = Math.min(again + (3 + 4 * random()) * HOUR_MS, (day + 1) * DAY_MS - HOUR_MS);
    if (day % 30 === 17) {
      const test = day * DAY_MS + 2 * HOUR_MS + 60 * MINUTE_MS * random();
      runs.push({ fromMs: test, toMs: test + (5 + 15 * random()) * MINUTE_MS });
    }
    runs.push({ fromMs: start, toMs: noon }, { fromMs: again, toMs: end });
  }
  return runs;
}

export function shiftPlant(days: number, random: Random): ShiftPlant {
  const gauss = gaussOf(random);
  const signal = pick(["current", "current", "rpm", "dryContact"] as const, random);
  const hasInverter = random() < 0.4;
  const isBelted = random() < 0.3;
  const runs = runsOf(days, random);
  const level = Math.exp(Math.log(0.6) + random() * Math.log(9 / 0.6));
  const rampMs = hasInverter ? (0.5 + 3 * random()) * MINUTE_MS : (3 + 20 * random()) * 1000;
  /** Until the speed has fallen by e. */
  const coastMs = (isBelted ? 1 + 4 * random() : 0.1 + random()) * MINUTE_MS;
  const critical = random() < 0.5 ? { share: 0.3 + 0.5 * random(), q: 3 + 5 * random() } : null;
  /** What neighbours on the same floor shake it by, mm/s RMS. */
  const neighbour = random() < 0.2 ? 0.5 + 2 * random() : 0.02 + 0.3 * random();
  const beat = isBelted ? { share: 0.3, periodMs: (5 + 60 * random()) * 1000 } : null;
  const ratedA = 12 + 240 * random() ** 2;
  const clamps = CLAMPS_A.filter((rating) => rating >= ratedA);
  const clampA = clamps[random() < 0.3 ? 1 : 0] ?? clamps[0] ?? 500;
  const noiseA = (0.003 + 0.007 * random()) * clampA;
  const idleShare = 0.3 + 0.15 * random();
  const fullRpm = pick([740, 985, 1480, 2960], random);
  const above =
    signal === "current"
      ? // Midway between an idling motor and nothing, and clear of the noise as a commissioner sees it.
        Math.max((0.4 + 0.2 * random()) * idleShare * ratedA, 4 * noiseA)
      : signal === "rpm"
        ? (0.05 + 0.15 * random()) * fullRpm
        : 0;

  let at = 0;
  /** The run that a time lies in or after; times come nearly in order. */
  function runAt(atMs: number): Run | null {
    while (at > 0 && (runs[at]?.fromMs ?? 0) > atMs) at -= 1;
    while ((runs[at + 1]?.fromMs ?? Number.POSITIVE_INFINITY) <= atMs) at += 1;
    const run = runs[at];
    return run !== undefined && run.fromMs <= atMs ? run : null;
  }
  /** What the inverter is set to: another value each half hour. */
  function demand(atMs: number): number {
    if (!hasInverter) return 1;
    const halfHours = Math.floor(atMs / (HOUR_MS / 2));
    return 0.4 + 0.6 * (Math.abs(Math.imul(halfHours, 2654435761)) / 2 ** 31);
  }
  function speedShare(atMs: number): number {
    const run = runAt(atMs);
    if (run === null) return 0;
    const onMs = Math.min(atMs, run.toMs) - run.fromMs;
    const reached = demand(Math.min(atMs, run.toMs)) * Math.min(1, onMs / rampMs);
    return atMs <= run.toMs ? reached : reached * Math.exp(-(atMs - run.toMs) / coastMs);
  }
  const isOn = (atMs: number) => atMs <= (runAt(atMs)?.toMs ?? Number.NEGATIVE_INFINITY);

  return {
    signal,
    above,
    clampA,
    level,
    intervalMs: {
      record: pick([10, 10, 10, 30, 5], random) * MINUTE_MS,
      signal: pick([2, 5, 10, 10, 30], random) * MINUTE_MS,
    },
    isOn,
    isSettled(atMs) {
      const run = runAt(atMs);
      return run !== null && atMs - run.fromMs > SETTLED_MS && run.toMs - atMs > SETTLED_MS;
    },
    velocity(atMs) {
      const share = speedShare(atMs);
      const at = share / (critical?.share ?? 1);
      const resonance =
        critical === null ? 1 : 1 + critical.q * Math.exp(-(((at - 1) / 0.08) ** 2));
      const beating =
        beat === null ? 1 : 1 + beat.share * Math.sin((2 * Math.PI * atMs) / beat.periodMs);
      const own = level * share ** 2 * resonance * beating * Math.exp(0.12 * gauss());
      // A knock that falls into a record: doors and cranes, and in one night of 30 people who work at the machine for four hours.
      const isWorkedAt = Math.floor(atMs / DAY_MS) % 30 === 17 && atMs % DAY_MS < 4 * HOUR_MS;
      const knock = random() < (isWorkedAt ? 0.1 : 0.005) ? Math.exp(1 + 0.8 * gauss()) : 0;
      return Math.hypot(own, neighbour * (0.6 + 0.4 * random()), knock);
    },
    reading(atMs) {
      if (signal === "dryContact") return isOn(atMs) ? 1 : 0;
      const share = speedShare(atMs);
      if (signal === "rpm") return Math.round(fullRpm * share);
      const isStarting = atMs - (runAt(atMs)?.fromMs ?? atMs) < rampMs && !hasInverter;
      const load = idleShare + (1 - idleShare) * share ** 3;
      const own = isOn(atMs) ? ratedA * (isStarting ? 6 : load * (0.9 + 0.2 * random())) : 0;
      return Math.abs(own + noiseA * gauss());
    },
  };
}
