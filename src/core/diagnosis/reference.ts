/**
 * The normal state of a machine's shaft: the highest amplitude of each of its orders while it was learned. What stands
 * since then is no fault; a finding of the shaft says what rose. Without a reference it stays in stage 1.
 */
import type { NormalOf, OrderLevels } from "./finding.ts";
import { type Look, orderLine } from "./look.ts";

/** Orders of which the normal amplitude is kept. */
export const HALF_ORDERS = [0.5, 1.5, 2.5, 3.5] as const;
export const WHOLE_ORDERS = [3, 4, 5, 6, 7, 8, 9, 10] as const;
const ORDERS = [1, 2, ...HALF_ORDERS, ...WHOLE_ORDERS];
/** Readings from which it is used, and until which it still rises with what is usual on the machine. */
const READINGS_MIN = 10;
const READINGS_MAX = 60;
/** After the first ones, a reading may raise it by this share of what they showed. */
const WIDEN_MAX = 1.3;

export interface Reference {
  readonly readings: number;
  /** Highest of the first readings, and of all so far. */
  readonly first: OrderLevels;
  readonly highest: OrderLevels;
}

const keyOf = (channel: number, order: number) => `${channel}:${order}`;

export function normalBy(reference: Reference | null | undefined): NormalOf {
  if (!reference || reference.readings < READINGS_MIN) return () => null;
  return (channel, order) => reference.highest[keyOf(channel, order)] ?? 0;
}

/** Amplitudes of the orders that stand out; null while an axis is in zone C or D: that is nobody's normal state. */
export function orderLevels(look: Look): OrderLevels | null {
  if (look.axes.some(({ velocityRms }) => velocityRms === null || velocityRms > look.limits[1])) {
    return null;
  }
  const levels: Record<string, number> = {};
  for (const axis of look.axes) {
    for (const order of ORDERS) {
      const line = orderLine(look, axis, order);
      if (line !== null) levels[keyOf(axis.channel, order)] = line.amplitude;
    }
  }
  return levels;
}

export function learn(
  before: Reference | null | undefined,
  levels: OrderLevels | null | undefined,
): Reference | null {
  if (!levels || (before && before.readings >= READINGS_MAX)) return before ?? null;
  const { readings = 0, first = {}, highest = {} } = before ?? {};
  const isFirst = readings < READINGS_MIN;
  const next: Record<string, number> = { ...highest };
  for (const [key, level] of Object.entries(levels)) {
    const most = isFirst ? level : Math.min(level, WIDEN_MAX * (first[key] ?? 0));
    next[key] = Math.max(next[key] ?? 0, most);
  }
  return { readings: readings + 1, first: isFirst ? next : first, highest: next };
}
