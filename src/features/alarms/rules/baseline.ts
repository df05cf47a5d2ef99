/**
 * The normal range of one value of one machine: median and median absolute deviation of the readings while it was
 * learned.
 *
 * - The first baseline is kept permanently. A slow one beside it follows seasons and wear, and may move the limit away
 * from the first by at most half its margin, so a machine that drifts does not become normal.
 * - For vibration the limit is at least 1.2 times the median: less tells nobody anything.
 * - It is never above zone B/C of the machine class. A level in zone C or D is reported, not used.
 */

import type { BaselineTest } from "../../../core/alarm/compile.ts";
import type { BaselineStatus, BaselineView } from "../../../core/alarm/shown.ts";
import type { MachineState } from "../../../core/followed-reading.ts";
import { medianDeviation, median as medianOf } from "../../../core/lists/median.ts";
import type { Bounds } from "./watch-state.ts";

/** A normal distribution's standard deviation by its median absolute deviation. */
const SIGMA_PER_MAD = 1.4826;
/** A spread is taken as at least this share of the median: readings of a very steady machine differ only by rounding. */
const SPREAD_MIN = 0.02;
/** The slow baseline takes this many learning periods to move by one standard deviation. */
const SLOW_PERIODS = 10;
/** It may move the limit by this share of the first one's margin. */
const DRIFT_SHARE = 0.5;
/**
 * Readings in a row within the limit before the alarm of a vibration may end, unless the rule says by what it ends: the
 * level of a damaged bearing falls back again and again (a spall's edges are rolled smooth), now and then to the median.
 */
export const CALM_READINGS = 20;

export interface Level {
  readonly median: number;
  /** Median absolute deviation. */
  readonly mad: number;
}

export interface BaselineState {
  /** Readings learned from so far. */
  readonly count: number;
  /** Of these, in zone C or D, and in zone D. */
  readonly inC: number;
  readonly inD: number;
  /** Samples before this number belong to an earlier learning. */
  readonly from: number;
  readonly first: Level | null;
  readonly slow: Level | null;
  /** Time of the last reading that was learned from, ms; null while learning. */
  readonly learnedMs: number | null;
  /** Only in stores up to 0.3, where it was no part of the key: of the records that bands were learned from. */
  readonly shape?: string;
}

/**
 * What a baseline was learned of, as the end of its key: the running state (`any` where nothing shows whether the machine
 * runs) and, of vibration, the rate and length of the record. A level of another rate or length is another number.
 */
export function learnedAt(machine: MachineState | null, shape: string | undefined): string {
  return `${machine ?? "any"}${shape === undefined ? "" : `#${shape}`}`;
}

/** The key of a baseline: `alarm/value@running#6400/4096`. */
export const baselineKey = (watch: string, at: string) => `${watch}@${at}`;

/** The reverse. */
export function baselineOf(key: string): {
  readonly watch: string;
  readonly machine: BaselineView["machineState"];
  readonly shape: string | null;
} {
  const at = key.lastIndexOf("@");
  const [machine = "any", shape = null] = key.slice(at + 1).split("#");
  const isState = machine === "running" || machine === "standing";
  return { watch: key.slice(0, at), machine: isState ? machine : "any", shape };
}

export const UNLEARNED: BaselineState = {
  count: 0,
  inC: 0,
  inD: 0,
  from: 0,
  first: null,
  slow: null,
  learnedMs: null,
};

/** learning · learned · in zone C or D while it was learned, and so not used. */
export function baselineStatus({ count, inC, inD, first }: BaselineState): BaselineStatus {
  if (first === null) return "learning";
  if (inD * 2 > count) return "zone_d";
  return inC * 2 > count ? "zone_c" : "learned";
}

/** Adds a reading while learning. @param samples all of them so far; this one is added to them */
export function learn(
  state: BaselineState,
  samples: number[],
  test: Pick<BaselineTest, "readings" | "zone">,
  seen: { readonly value: number; readonly timeMs: number; readonly zone: string | null },
): BaselineState {
  // What is missing cannot be learned of any more: it begins again.
  if (samples.length < state.count) {
    samples.length = 0;
    return learn({ ...UNLEARNED, from: state.from }, samples, test, seen);
  }
  // Drops what an undone transaction added.
  samples.length = state.count;
  samples.push(seen.value);
  const next = {
    ...state,
    count: state.count + 1,
    inC: state.inC + (seen.zone === "C" || seen.zone === "D" ? 1 : 0),
    inD: state.inD + (seen.zone === "D" ? 1 : 0),
  };
  if (next.count < test.readings) return next;
  const first = levelOf(samples);
  return { ...next, first, slow: first, learnedMs: seen.timeMs };
}

/** Moves the slow baseline a little towards a normal reading. @param weight readings that this one represents */
export function follow(
  state: BaselineState,
  test: Pick<BaselineTest, "readings">,
  value: number,
  weight: number,
): BaselineState {
  const { first, slow } = state;
  if (first === null || slow === null) return state;
  const stepSize = (weight * sigmaOf(first)) / (SLOW_PERIODS * test.readings);
  const median = slow.median + stepSize * Math.sign(value - slow.median);
  const mad = slow.mad + stepSize * Math.sign(Math.abs(value - slow.median) - slow.mad);
  return { ...state, slow: { median, mad: Math.max(0, mad) } };
}

/** The baseline as it was learned; nothing before that. */
export function firstAt(state: BaselineState, timeMs: number): BaselineState {
  const isLearned = state.learnedMs !== null && state.learnedMs <= timeMs;
  return isLearned ? { ...state, slow: state.first } : UNLEARNED;
}

/**
 * Limits by the baseline; null while there is none. Without its own hysteresis, an alarm lasts until a value is back
 * at the median, of a vibration also until many in a row were within the limit: a machine that becomes worse slowly, with
 * its noise, is one alarm and not many.
 */
export function baselineBounds(state: BaselineState, test: BaselineTest): Bounds | null {
  const { first, slow } = state;
  if (first === null || slow === null || baselineStatus(state) !== "learned") return null;
  // Nothing tells how far from a constant zero is far.
  if (first.median === 0 && first.mad === 0) return null;
  const sigma = sigmaOf(first);
  const margin = test.deviations * sigma;
  const slowMargin = test.deviations * sigmaOf(slow);
  const farthest = margin * (1 + DRIFT_SHARE);
  const learned = Math.min(slow.median + slowMargin, first.median + farthest);
  const high = Math.min(
    Math.max(learned, test.leastRatio * first.median),
    test.cap ?? Number.POSITIVE_INFINITY,
  );
  const low = Math.max(slow.median - slowMargin, first.median - farthest);
  return {
    limits: { high, ...(test.isTwoSided ? { low } : {}) },
    ...(test.hysteresis === null && !test.isTwoSided ? { calmReadings: CALM_READINGS } : {}),
    hysteresis: (limit) => {
      const toMedian = Math.max(sigma, Math.abs(limit - slow.median));
      return Math.min(test.hysteresis ?? toMedian, toMedian);
    },
  };
}

/** Standard deviation for a level, never quite zero. */
function sigmaOf({ median, mad }: Level): number {
  return Math.max(SIGMA_PER_MAD * mad, SPREAD_MIN * Math.abs(median));
}

export function levelOf(samples: readonly number[]): Level {
  return { median: medianOf(samples), mad: medianDeviation(samples) };
}
