/**
 * The state machine of one alarm: normal → active (warning or alarm) → normal. Pure: a state and an observation give
 * the next state and the change. States are never altered in place, so a transaction that fails has no effect.
 */

import type { Limits } from "../../../core/alarm/compile.ts";
import type { Worst } from "../../../core/alarm/event.ts";
import type { WatchDelay } from "../../../core/alarm/rule.ts";

type Side = "high" | "low";
/** 0 normal, 1 warning, 2 alarm. */
export type Rank = 0 | 1 | 2;

/** Current limits, with the hysteresis of each. */
export interface Bounds {
  readonly limits: Limits;
  /** In the value's unit, for a limit of these. */
  readonly hysteresis: (limit: number) => number;
  /** An alarm ends only when so many readings in a row have not been beyond the limit; absent: with the first that is back. */
  readonly calmReadings?: number;
}

export interface Observation {
  readonly timeMs: number;
  readonly value: number;
  /** If something other than the limits determines the severity (the zone): at least this. */
  readonly rank?: Rank;
}

/**
 * A limit that is being exceeded, until the delay is over and after. Times are those of the first reading beyond it.
 */
interface Passing {
  readonly side: Side;
  readonly sinceMs: number;
  readonly readings: number;
  readonly alarmSinceMs: number | null;
  readonly alarmReadings: number;
}

export interface Active {
  readonly rank: 1 | 2;
  readonly side: Side;
  readonly limit: number | null;
  readonly hysteresis: number | null;
}

export interface WatchState {
  readonly passing: Passing | null;
  readonly active: Active | null;
  /** The most extreme value since the first reading beyond the limit; null while normal. */
  readonly worst: Worst | null;
  /** Readings in a row that were not beyond the limit of an active alarm, where the end needs several. */
  readonly calm?: number;
}

/** Rounding of a difference of two decimal numbers, as a share of the larger. */
const ROUNDING = 1e-12;
/** Longest delay in readings; beyond it nothing is counted, so that a persistent alarm writes nothing. */
const COUNT_MAX = 1000;

export const NORMAL: WatchState = { passing: null, active: null, worst: null };

/** raised: from normal · changed: another severity or side · cleared: to normal. */
export type StateChange = "raised" | "changed" | "cleared";

export interface Step {
  readonly state: WatchState;
  readonly change: StateChange | null;
}

/** Processes one good reading. */
export function step(
  state: WatchState,
  bounds: Bounds,
  delay: WatchDelay,
  seen: Observation,
): Step {
  const { side, rank } = judge(bounds.limits, seen);
  const passing = rank === 0 ? null : pass(state.passing, side, rank, seen.timeMs);
  const entered = passing === null ? 0 : enteredRank(passing, delay, seen.timeMs);
  const calm = calmAfter(state, bounds, side, rank);
  const isCalm = calm >= (bounds.calmReadings ?? 0);
  const active = nextActive(state.active, bounds, seen, { side, entered, isCalm });
  if (active === null && passing === null) {
    return state.active === null
      ? { state: NORMAL, change: null }
      : { state: NORMAL, change: "cleared" };
  }
  const worst = worstOf(state, active?.side ?? side, seen);
  const next = {
    passing,
    active,
    worst,
    ...(active === null || bounds.calmReadings === undefined
      ? {}
      : { calm: active.side === state.active?.side ? calm : 0 }),
  };
  if (active === null) return { state: next, change: state.active === null ? null : "cleared" };
  if (state.active === null) return { state: next, change: "raised" };
  const isSame = active.rank === state.active.rank && active.side === state.active.side;
  return { state: next, change: isSame ? null : "changed" };
}

/** The severity of a value by its limits alone. A value on a limit has not exceeded it. */
function judge(limits: Limits, { value, rank }: Observation): { side: Side; rank: Rank } {
  const { highHigh, high, low, lowLow } = limits;
  if (rank !== undefined) return { side: "high", rank };
  if (highHigh !== undefined && value > highHigh) return { side: "high", rank: 2 };
  if (high !== undefined && value > high) return { side: "high", rank: 1 };
  if (lowLow !== undefined && value < lowLow) return { side: "low", rank: 2 };
  if (low !== undefined && value < low) return { side: "low", rank: 1 };
  return { side: "high", rank: 0 };
}

function pass(before: Passing | null, side: Side, rank: Rank, timeMs: number): Passing {
  const same = before?.side === side ? before : null;
  const isAlarm = rank === 2;
  return {
    side,
    sinceMs: same?.sinceMs ?? timeMs,
    readings: Math.min((same?.readings ?? 0) + 1, COUNT_MAX),
    alarmSinceMs: isAlarm ? (same?.alarmSinceMs ?? timeMs) : null,
    alarmReadings: isAlarm ? Math.min((same?.alarmReadings ?? 0) + 1, COUNT_MAX) : 0,
  };
}

function enteredRank(passing: Passing, delay: WatchDelay, timeMs: number): Rank {
  const { seconds, readings: needed = 1, alarmReadings: neededOfAlarm = needed } = delay;
  const isOver = (sinceMs: number, readings: number, least: number) =>
    seconds === undefined ? readings >= least : timeMs - sinceMs >= seconds * 1000;
  const { alarmSinceMs, alarmReadings, sinceMs, readings } = passing;
  if (alarmSinceMs !== null && isOver(alarmSinceMs, alarmReadings, neededOfAlarm)) return 2;
  return isOver(sinceMs, readings, needed) ? 1 : 0;
}

/** Readings in a row, with this one, that were not beyond the limit; beyond the opposite one the alarm is over at once. */
function calmAfter({ active, calm = 0 }: WatchState, bounds: Bounds, side: Side, rank: Rank) {
  const { calmReadings = 0 } = bounds;
  if (active === null) return 0;
  if (rank !== 0) return side === active.side ? 0 : calmReadings;
  return Math.min(calm + 1, calmReadings);
}

/** The severity kept by the hysteresis or for want of calm readings, or a worse one that was entered. */
function nextActive(
  before: Active | null,
  bounds: Bounds,
  seen: Observation,
  { side, entered, isCalm }: { side: Side; entered: Rank; isCalm: boolean },
): Active | null {
  const byValue = before === null ? 0 : heldRank(before, bounds, seen);
  const held = isCalm ? byValue : (before?.rank ?? 0);
  if (entered !== 0 && (entered > held || (before?.side !== side && held === 0))) {
    return activeAt(entered, side, bounds, seen);
  }
  return before === null || held === 0 ? null : activeAt(held, before.side, bounds, seen);
}

function heldRank(before: Active, { limits, hysteresis }: Bounds, seen: Observation): Rank {
  const { value } = seen;
  const isBeyond = (limit: number | undefined): boolean => {
    if (limit === undefined) return false;
    const back = hysteresis(limit);
    // Decimal fractions have no exact doubles: 7.1 − 0.2 is a little below 6.9.
    const rounding = ROUNDING * Math.max(Math.abs(limit), Math.abs(back));
    return before.side === "high"
      ? value > limit - back + rounding
      : value < limit + back - rounding;
  };
  const [outer, inner] =
    before.side === "high" ? [limits.highHigh, limits.high] : [limits.lowLow, limits.low];
  const byValue = isBeyond(outer) ? 2 : isBeyond(inner) ? 1 : 0;
  const { rank: reported = 0 } = seen;
  const rank = reported > byValue ? reported : byValue;
  return rank < before.rank ? rank : before.rank;
}

/** A rank without its own limit in the rule (after a configuration change) uses the other one. */
function activeAt(
  rank: 1 | 2,
  side: Side,
  { limits, hysteresis }: Bounds,
  seen: Observation,
): Active {
  const [outer, inner] =
    side === "high" ? [limits.highHigh, limits.high] : [limits.lowLow, limits.low];
  const own = (rank === 2 ? outer : inner) ?? inner ?? outer ?? null;
  if (own === null) return { rank, side, limit: null, hysteresis: null };
  const back = hysteresis(own);
  // The zone may come from the displacement: then no velocity limit was exceeded.
  const isOther = seen.rank !== undefined && seen.value <= own - back;
  return { rank, side, limit: isOther ? null : own, hysteresis: isOther ? null : back };
}

function worstOf(state: WatchState, side: Side, { value, timeMs }: Observation): Worst {
  const known = state.worst?.measured ?? null;
  const wasSide = (state.active ?? state.passing)?.side;
  if (state.worst === null || known === null || wasSide !== side)
    return { measured: value, timeMs };
  const isWorse = side === "high" ? value > known : value < known;
  return isWorse ? { measured: value, timeMs } : state.worst;
}
