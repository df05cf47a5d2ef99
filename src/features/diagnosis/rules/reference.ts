/**
 * The normal state of a machine's shaft: the highest amplitude of each of its orders while it was learned. What stands
 * since then is no fault; a finding of the shaft says what rose. Without a reference it stays in stage 1.
 */
import type { FindingKind, NormalOf, OrderLevels } from "../../../core/diagnosis/finding.ts";
import { type Look, risen, rss } from "./look.ts";
import { bandsOrder, meshLine, processLine, processOrders } from "./process-rules.ts";

/** Half and higher orders. */
export const OTHER_ORDERS: readonly number[] = [0.5, 1.5, 2.5, 3.5, 3, 4, 5, 6, 7, 8, 9, 10];
/** Orders of which the normal amplitude is kept. */
export const ORDERS: readonly number[] = [1, 2, ...OTHER_ORDERS];
/** Under which the level of the envelope is kept, GE, beside the orders. */
export const ENVELOPE_LEVEL = 0;
/** Readings from which it is used, and until which it still rises with what is usual on the machine. */
const READINGS_MIN = 10;
const READINGS_MAX = 60;
/** After the first ones, a reading may raise it by this share of what they showed. */
const WIDEN_MAX = 1.3;

/**
 * Load changes what is normal, and ten readings may all be of one load. In its first days, longer while its range still grows, an
 * order that rose and went back within hours is usual: a fault stays. In ms.
 */
const HOUR_MS = 3_600_000;
const USUAL_WITHIN_MS = 24 * HOUR_MS;
const LEARNED_AFTER_MS = 72 * HOUR_MS;
const LEARNED_AT_MOST_MS = 14 * 24 * HOUR_MS;
/** What exceeds the normal amplitude by less does not count as risen. */
const OUT_TIMES = 1.25;

/** What is normal depends on the speed: readings within this share of one speed are learned together. */
const SPEED_SHARE = 0.06;
/** Limits what is kept of a drive that turns at any speed. */
const SPEEDS_MAX = 12;
/** At a speed that is not learned yet, the next one that is stands for it, up to this share away. */
const BORROWED_SHARE = 0.35;
/** A resonance may lie between the two: by this, what is borrowed is taken for more. */
const BORROWED_TIMES = 2;

/** The normal state at one speed. */
interface SpeedNormal {
  readonly rpm: number;
  readonly readings: number;
  /** Highest of the first readings, and of all so far. */
  readonly first: OrderLevels;
  readonly highest: OrderLevels;
  /** Its first reading, and the last time its range grew by what went back, ms; absent in states of versions up to 0.3. */
  readonly sinceMs?: number;
  readonly grewMs?: number;
  /** What rose and has not gone back: the highest of it, and since when, ms. */
  readonly out?: Readonly<Record<string, readonly [level: number, sinceMs: number]>>;
}

export interface Reference {
  readonly speeds: readonly SpeedNormal[];
}

const keyOf = (channel: number, order: number) => `${channel}:${order}`;

/** The nearest of some speeds, within a share of it. */
function near(speeds: readonly SpeedNormal[], rpm: number, share: number): SpeedNormal | null {
  const apart = (one: SpeedNormal) => Math.abs(one.rpm - rpm);
  const [nearest] = speeds
    .filter((one) => apart(one) <= share * one.rpm)
    .toSorted((a, b) => apart(a) - apart(b));
  return nearest ?? null;
}

const learnedOf = (reference: Reference | null | undefined) =>
  (reference?.speeds ?? []).filter(({ readings }) => readings >= READINGS_MIN);

/** Forces grow with the square of the speed: by that too, a slower speed's normal state is taken for more. */
export function normalBy(reference: Reference | null | undefined, rpm: number): NormalOf {
  const learned = learnedOf(reference);
  const own = near(learned, rpm, SPEED_SHARE);
  const used = own ?? near(learned, rpm, BORROWED_SHARE);
  if (used === null) return () => null;
  const times = (own === null ? BORROWED_TIMES : 1) * Math.max(1, rpm / used.rpm) ** 2;
  // What few readings showed at this very speed was there before, too: a resonance amplifies by more than is allowed for.
  const few = own === null ? near(reference?.speeds ?? [], rpm, SPEED_SHARE) : null;
  return (channel, order) => {
    const key = keyOf(channel, order);
    return Math.max(times * (used.highest[key] ?? 0), few?.highest[key] ?? 0);
  };
}

/** Highest speed at which the machine was learned, if it was at this one too, r/min. */
export function topSpeed(reference: Reference | null | undefined, rpm: number): number | null {
  const learned = learnedOf(reference);
  if (near(learned, rpm, SPEED_SHARE) === null) return null;
  return Math.max(...learned.map((one) => one.rpm));
}

/** Whether the machine was learned at one speed alone, and this is it: orders of a drive pass resonances, and rise and fall with them. */
export function isSteady(reference: Reference | null | undefined, rpm: number): boolean {
  const learned = learnedOf(reference);
  return learned.length === 1 && near(learned, rpm, SPEED_SHARE) !== null;
}

/**
 * Amplitudes of the orders that stand out; null while an axis is in zone C or D: that is nobody's normal state. A line that a
 * finding names teaches nothing.
 */
export function orderLevels(
  look: Look,
  isSuspected: (finding: FindingKind) => boolean,
): OrderLevels | null {
  if (look.axes.some(({ velocityRms }) => velocityRms === null || velocityRms > look.limits[1])) {
    return null;
  }
  const levels: Record<string, number> = {};
  const own = processOrders(look.machine);
  const isTaught = (order: number) =>
    !own.some(([finding, of]) => of === order && isSuspected(finding));
  for (const axis of look.axes) {
    const note = (order: number, level: number) => {
      const key = keyOf(axis.channel, order);
      if (level > 0) levels[key] = Math.max(levels[key] ?? 0, level);
    };
    note(ENVELOPE_LEVEL, axis.envelopeRms ?? 0);
    for (const order of ORDERS) {
      if (isTaught(order)) note(order, risen(look, axis, order).line?.amplitude ?? 0);
    }
    for (const [finding, order] of own) {
      if (!isTaught(order)) continue;
      const isMesh = finding === "gear_mesh";
      const line = isMesh ? meshLine(look, axis, order) : processLine(look, axis, order, "");
      note(order, line?.amplitude ?? 0);
      note(bandsOrder(order), rss((line?.sideBands ?? []).map(({ amplitude }) => amplitude)));
    }
  }
  return levels;
}

export interface Moment {
  readonly timeMs: number;
  /** Whether a fault of the shaft is seen, or was lately: that teaches nothing but how long it lasts. */
  readonly isFaulty: boolean;
}

/** @param rpm at which the levels were measured @param moment absent: by the count of the readings alone */
export function learn(
  before: Reference | null | undefined,
  levels: OrderLevels | null | undefined,
  rpm: number,
  moment?: Moment,
): Reference | null {
  const speeds = before?.speeds ?? [];
  const old = near(speeds, rpm, SPEED_SHARE);
  const isFull = old === null && speeds.length >= SPEEDS_MAX;
  const isFaulty = moment?.isFaulty === true;
  if (!levels || isFull || (isFaulty && old === null)) return before ?? null;
  const taught = isFaulty ? old : taughtBy(old, levels, rpm, moment?.timeMs);
  const now = taught === null || moment === undefined ? taught : usualOf(taught, levels, moment);
  if (now === null || now === old) return before ?? null;
  return { speeds: [...speeds.filter((one) => one !== old), now] };
}

function taughtBy(
  old: SpeedNormal | null,
  levels: OrderLevels,
  rpm: number,
  timeMs: number | undefined,
): SpeedNormal {
  if (old !== null && old.readings >= READINGS_MAX) return old;
  const begun = timeMs === undefined ? {} : { sinceMs: timeMs };
  const state: SpeedNormal = old ?? { rpm, readings: 0, first: {}, highest: {}, ...begun };
  const { readings, first, highest } = state;
  const isFirst = readings < READINGS_MIN;
  const next: Record<string, number> = { ...highest };
  for (const [key, level] of Object.entries(levels)) {
    const most = isFirst ? level : Math.min(level, WIDEN_MAX * (first[key] ?? 0));
    next[key] = Math.max(next[key] ?? 0, most);
  }
  return { ...state, readings: readings + 1, first: isFirst ? next : first, highest: next };
}

/** With what has gone back by this reading, if soon enough; what is out stays noted until it does. */
function usualOf(state: SpeedNormal, levels: OrderLevels, { timeMs }: Moment): SpeedNormal {
  const { readings, highest, sinceMs, grewMs = Number.NEGATIVE_INFINITY, out: before = {} } = state;
  if (readings < READINGS_MIN || sinceMs === undefined) return state;
  const isOpen =
    timeMs - sinceMs < LEARNED_AT_MOST_MS &&
    (timeMs - sinceMs < LEARNED_AFTER_MS || timeMs - grewMs < LEARNED_AFTER_MS);
  if (!isOpen) {
    const { out: _, ...settled } = state;
    return state.out === undefined ? state : settled;
  }
  const next: Record<string, number> = { ...highest };
  const out: Record<string, readonly [number, number]> = {};
  let hasGrown = false;
  for (const key of new Set([...Object.keys(before), ...Object.keys(levels)])) {
    const level = levels[key] ?? 0;
    const [most, fromMs] = before[key] ?? [0, timeMs];
    if (level > OUT_TIMES * (highest[key] ?? 0)) out[key] = [Math.max(most, level), fromMs];
    else if (most > 0 && timeMs - fromMs <= USUAL_WITHIN_MS) {
      next[key] = Math.max(next[key] ?? 0, most);
      hasGrown = true;
    }
  }
  const { out: _, ...rest } = state;
  const isOut = Object.keys(out).length > 0;
  if (!hasGrown && !isOut && state.out === undefined) return state;
  return {
    ...rest,
    highest: next,
    ...(hasGrown && { grewMs: timeMs }),
    ...(isOut && { out }),
  };
}
