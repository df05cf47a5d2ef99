/** Lines of a bearing that may be the shaft's: on its orders, within what is not known of either. */

import type { SpectrumName } from "../../../core/diagnosis/finding.ts";
import { strongestIn, type Tone, type ToneList } from "../../../pipeline/signal/tones.ts";
import { type BearingFault, SAME_LINE } from "./bearing-fault.ts";
import { type Look, toneNear } from "./look.ts";
import { SPEED_SHARE } from "./shaft.ts";

/** Lines that a harmonic must be away from the shaft's orders, where slip has moved the first onto one. */
export const MOVED_APART = 1;

/** Where lines are sought. */
export interface Searched {
  readonly spectrum: SpectrumName;
  readonly list: ToneList;
  /** Half the width of the bands of which the tones are, share of their frequency; absent: they are lines. */
  readonly slipShare?: number | undefined;
}

/** A speed that is doubted may be wrong by as much as slip makes out, which moves both races alike. */
export const slipHzOf = (
  { shaftHz, besideHz, thresholds }: Look,
  { order, slipTimes }: BearingFault,
) => thresholds.slip * (besideHz === null ? slipTimes : 1) * order * shaftHz;

/**
 * The line of a fault that is on an order of the shaft, or too close to it, if it is the strongest within the slip: it
 * may belong to the fault or to the shaft.
 */
export function lineOnOrder(look: Look, source: Searched, fault: BearingFault): Tone | null {
  const { list, slipShare } = source;
  if (slipShare !== undefined) return null;
  const nominalHz = fault.order * look.shaftHz;
  const reach = slipHzOf(look, fault) + 0.5 * list.resolutionHz;
  const tone = strongestIn(list, nominalHz - reach, nominalHz + reach);
  const isOn = tone !== null && tone.ratio >= look.thresholds.mainRatio;
  return isOn && isShaftOrder(look, source, tone.hz, MOVED_APART) ? tone : null;
}

/**
 * Whole orders always, and half orders if the envelope shows 0.5x and 1.5x, as with a loose or rubbing shaft. An
 * envelope also shows what an order and twice the mains frequency make together.
 */
export function isShaftOrder(
  { shaftHz, measuredHz, shaftLines, besideHz, machine: { lineHz } }: Look,
  { list, spectrum, slipShare = 0 }: Searched,
  hz: number,
  apartLines = SAME_LINE,
): boolean {
  // A band includes the order that it touches.
  const lines = apartLines + (slipShare * hz) / list.resolutionHz;
  const reach = lines * list.resolutionHz;
  // Where the machine does not hum at twice the mains, nothing beats with that.
  if (
    lineHz !== undefined &&
    spectrum !== "velocity" &&
    toneNear(list, 2 * lineHz, reach) !== null
  ) {
    const isBeat = (at: number) => Math.abs(at - Math.round(at / shaftHz) * shaftHz) < reach;
    if (isBeat(hz + 2 * lineHz) || isBeat(Math.abs(hz - 2 * lineHz))) return true;
  }
  // What is not known of the shaft counts as many times as the order.
  const shaftReach = Math.hypot(lines, (shaftLines * hz) / shaftHz) * list.resolutionHz;
  const isNear = (step: number, within = shaftReach) =>
    hz > 0.6 * step && Math.abs(hz - Math.round(hz / step) * step) < within;
  if (isNear(shaftHz)) return true;
  // A neighbour's line within the error of the measured speed moves the shaft: its orders are then those of the measured one.
  const measuredReach = Math.hypot(reach, SPEED_SHARE * hz);
  if (spectrum === "velocity" && isNear(measuredHz, measuredReach)) return true;
  // The line beside a measured speed that shows none may be the shaft's, with what one line does not tell of its orders.
  if (besideHz !== null && isNear(besideHz)) return true;
  return (
    isNear(shaftHz / 2) &&
    toneNear(list, 0.5 * shaftHz, reach) !== null &&
    toneNear(list, 1.5 * shaftHz, reach) !== null
  );
}
