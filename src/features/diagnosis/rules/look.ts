/** A reading as the rules see it: its tones in multiples of the shaft frequency. */

import type { EvidenceLine, NormalOf, SideBand } from "../../../core/diagnosis/finding.ts";
import type { Machine } from "../../../core/machine.ts";
import type { ChannelTones } from "../../../core/reading.ts";
import { MM_S2_PER_G } from "../../../core/unit.ts";
import {
  type DominantLine,
  strongestIn,
  type Tone,
  type ToneList,
} from "../../../pipeline/signal/tones.ts";
import type { Thresholds } from "./thresholds.ts";

export interface AxisLook {
  readonly channel: number;
  readonly axis: "H" | "V" | "A";
  readonly accel: ToneList;
  readonly envelope: ToneList | null;
  readonly white: ToneList | null;
  readonly spread: ToneList | null;
  readonly dominant: readonly DominantLine[];
  /** mm/s; null if the reading has none. */
  readonly velocityRms: number | null;
  /** GE */
  readonly envelopeRms: number | null;
  /** Multiples of the shaft frequency that were looked up already: several rules ask for each. */
  readonly orders: Map<number, Risen>;
}

/** A line at a multiple of the shaft frequency, and how much of it the machine did not have when it was learned; all of it, where nothing was. */
export interface Risen {
  readonly axis: AxisLook;
  readonly line: EvidenceLine | null;
  readonly rise: number;
}

export interface Look {
  readonly axes: readonly AxisLook[];
  readonly machine: Machine;
  /** As measured, Hz. */
  readonly measuredHz: number;
  /** As the spectrum shows it, within the tolerance of the measured one. */
  readonly shaftHz: number;
  /** Whether the spectrum shows it at all. */
  readonly isSeen: boolean;
  /** A belt drives it, and slips. */
  readonly isBelt?: boolean;
  /** Possible error of the shaft frequency, in lines of the spectrum: for 1x; an order has its multiple. */
  readonly shaftLines: number;
  /** A strong line near a measured speed that shows none, Hz; whether it is seen at twice that alone. */
  readonly besideHz: number | null;
  readonly isBesideDouble?: boolean | undefined;
  /** Multiples of the shaft frequency at which the bearings of the point have lines. */
  readonly bearingOrders: readonly number[];
  /** Whether the site file states the directions of the axes. */
  readonly hasAxes: boolean;
  /** The machine's normal amplitudes. */
  readonly normalOf: NormalOf;
  /** Zone limits of the velocity, mm/s RMS: A/B, B/C, C/D. */
  readonly limits: readonly [number, number, number];
  readonly thresholds: Thresholds;
  /** True for active findings: their limits are lower. */
  readonly isHeld: (key: string) => boolean;
  /** Speed at which a finding was compared with its full limit, r/min; null if none of the last readings showed it. */
  readonly fullRpm: (key: string) => number | null;
  /** Highest speed at which the machine was learned, if it was at this one too, r/min. */
  readonly topRpm: number | null;
  /** Whether it was learned at this speed alone. */
  readonly isSteady: boolean;
}

/** A line rose if it is at least this many times what it was on the machine when that was learned. */
export const RISEN_TIMES = 1.6;
/** Or 1x by this share of B/C, significant at any level (ISO 20816-1, criterion II), and at least so many times. */
const CHANGE_SHARE = 0.25;
export const CHANGE_TIMES = 1.25;

/** How far an order may be off while no line of the shaft is seen, share. */
const UNSEEN_SHARE = 0.01;
const UNSEEN_BELT_SHARE = 0.02;
/**
 * Lines by which a tone of a known multiple may be off, in resolutions: error of the tone, and of the shaft per order.
 */
const LINE_TOLERANCE = 0.75;
const ORDER_TOLERANCE = 0.05;
/** A bearing's line this many resolutions from an order can be told from it. */
const BEARING_APART = 0.5;
/** A high order is searched this far around, as a share of the shaft frequency, at most. */
const HIGH_ORDER_SHARE = 0.4;

/** RMS velocity of a tone of an acceleration spectrum, mm/s. */
export function velocityOf({ hz, amplitude }: Tone): number {
  return hz > 0 ? (MM_S2_PER_G * amplitude) / (2 * Math.PI * hz * Math.SQRT2) : 0;
}

export function toneNear(list: ToneList, hz: number, reachHz: number): Tone | null {
  return strongestIn(list, hz - reachHz, hz + reachHz);
}

/** How far a tone may lie from a multiple of the shaft frequency, Hz. */
function orderReach(
  { isSeen, isBelt }: Look,
  { resolutionHz }: ToneList,
  order: number,
  hz: number,
) {
  const lines = (LINE_TOLERANCE + ORDER_TOLERANCE * order) * resolutionHz;
  return isSeen ? lines : lines + (isBelt === true ? UNSEEN_BELT_SHARE : UNSEEN_SHARE) * hz;
}

/**
 * The same for a high order, which a small error of the shaft frequency moves far: a mesh line of 23x by 23 times that.
 * Limited so that it stays separate from its own side bands.
 */
export function highOrderReach(look: Look, list: ToneList, order: number, hz: number): number {
  const lines = LINE_TOLERANCE + Math.max(ORDER_TOLERANCE, look.shaftLines) * order;
  const reach = Math.max(
    orderReach(look, list, Math.min(order, 10), hz),
    lines * list.resolutionHz,
  );
  return Math.min(reach, HIGH_ORDER_SHARE * look.shaftHz);
}

export function risen(look: Look, axis: AxisLook, order: number): Risen {
  const known = axis.orders.get(order);
  if (known !== undefined) return known;
  const line = orderLine(look, axis, order);
  const amplitude = line?.amplitude ?? 0;
  const normal = look.normalOf(axis.channel, order) ?? 0;
  const rise = amplitude - normal;
  const isSignificant =
    order === 1 && rise >= CHANGE_SHARE * look.limits[1] && amplitude >= CHANGE_TIMES * normal;
  const found = { axis, line, rise: isSignificant || amplitude >= RISEN_TIMES * normal ? rise : 0 };
  axis.orders.set(order, found);
  return found;
}

/** The tone at a multiple of the shaft frequency in the velocity spectrum. One that lies nearer to a bearing's is that. */
function orderLine(look: Look, axis: AxisLook, order: number): EvidenceLine | null {
  const { shaftHz, bearingOrders } = look;
  const hz = order * shaftHz;
  const reach = orderReach(look, axis.accel, order, hz);
  const least = BEARING_APART * axis.accel.resolutionHz;
  const isBearings = (at: number) =>
    bearingOrders.some((of) => {
      const ofHz = of * shaftHz;
      return Math.abs(ofHz - hz) >= least && Math.abs(at - ofHz) < Math.abs(at - hz);
    });
  const tone = strongestIn(axis.accel, hz - reach, hz + reach, isBearings);
  if (tone === null || tone.ratio < look.thresholds.supportRatio) return null;
  return velocityLine(look, axis, `${order}x`, tone);
}

export function velocityLine(
  { shaftHz }: Look,
  { channel, axis }: AxisLook,
  name: string,
  tone: Tone,
  sideBands: readonly SideBand[] = [],
): EvidenceLine {
  const { hz, ratio } = tone;
  // Written out: spreading an object into another took a quarter of the evaluation time.
  return {
    name,
    spectrum: "velocity",
    channel,
    axis,
    hz,
    order: hz / shaftHz,
    amplitude: velocityOf(tone),
    unit: "mm/s",
    ratio,
    sideBands,
  };
}

export function rss(values: Iterable<number>): number {
  let sum = 0;
  for (const value of values) sum += value * value;
  return Math.sqrt(sum);
}

export function levelOf(lines: readonly EvidenceLine[]): number {
  return rss(
    lines.flatMap(({ amplitude, sideBands }) => [
      amplitude,
      ...sideBands.map((band) => band.amplitude),
    ]),
  );
}

/** Middle of zone B: the geometric mean of its limits, mm/s RMS. */
export function middleOfB({ limits, thresholds }: Look): number {
  return Math.sqrt(limits[0] * limits[1]) * thresholds.level;
}

/** A limit, lowered for an active finding. */
export function heldLimit(look: Look, key: string, limit: number): number {
  return look.isHeld(key) ? limit * look.thresholds.hold : limit;
}

/** Below this share of the speed at which a fault was seen, a reading says nothing about it. */
const SPEED_SHARE_MIN = 0.6;

/**
 * The same for forces that grow with the square of the speed (unbalance, flow): they may reach the limit at the highest
 * speed at which the machine was learned. A finding at one speed is compared at a lower one with a limit lowered accordingly:
 * slowing down does not repair a machine.
 */
export function forceLimit(look: Look, key: string, limit: number): number {
  return heldLimit(look, key, limit) * forceShare(look, key);
}

/** Findings of such forces. */
export const FORCES: ReadonlySet<string> = new Set([
  "unbalance",
  "misalignment",
  "looseness",
  "blade_pass",
]);

/** By what a limit is lowered for the speed. */
function forceShare(look: Look, key: string): number {
  return FORCES.has(key) ? topShare(look) * seenShare(look, key) : 1;
}

/** By what it is lowered only because the fault was seen at a higher speed. */
export function seenShare(look: Look, key: string): number {
  const seen = FORCES.has(key) ? speedShare(look, look.fullRpm(key)) : 1;
  return Math.min(1, seen / topShare(look));
}

/** By what forces are less than at the highest speed at which the machine was learned. */
const topShare = (look: Look) => speedShare(look, look.topRpm);

function speedShare({ measuredHz }: Look, fullRpm: number | null): number {
  const share = fullRpm === null ? 1 : (60 * measuredHz) / fullRpm;
  return Math.min(1, Math.max(SPEED_SHARE_MIN, share) ** 2);
}

export function stageOf(level: number, second: number, third: number): 1 | 2 | 3 {
  return level >= third ? 3 : level >= second ? 2 : 1;
}

export const isLearned = (look: Look) =>
  look.axes.some(({ channel }) => look.normalOf(channel, 1) !== null);

export const isRadial = ({ axis }: Pick<AxisLook, "axis">) => axis !== "A";

export function axisLooks(
  tones: readonly ChannelTones[],
  values: Readonly<Record<string, unknown>>,
): AxisLook[] {
  const number = (name: string) => {
    const value = values[name];
    return typeof value === "number" ? value : null;
  };
  return tones.flatMap(({ channel, axis, isClipped, tones: found }) =>
    found === null || isClipped
      ? []
      : [
          {
            channel,
            axis,
            accel: found.accel,
            envelope: found.envelope,
            white: found.white ?? null,
            spread: found.spread ?? null,
            dominant: found.dominant ?? [],
            velocityRms: number(`channel${channel}_vel_rms`),
            envelopeRms: number(`channel${channel}_env_rms`),
            orders: new Map(),
          },
        ],
  );
}
