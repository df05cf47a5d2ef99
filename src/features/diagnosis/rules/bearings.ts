/** The bearings of a reading: their faults, and why one of them cannot be told. */

import { bearingOrders } from "../../../core/bearing-orders.ts";
import { type CannotReason, findingKey, type Verdict } from "../../../core/diagnosis/finding.ts";
import type { Bearing } from "../../../core/machine.ts";
import type { ToneList } from "../../../pipeline/signal/tones.ts";
import { type BearingFault, faultsOf, isResolved, isVisible } from "./bearing-fault.ts";
import { isOfElement, searchBearing } from "./bearing-rules.ts";
import { canTellByCage } from "./element-by-cage.ts";
import type { Look } from "./look.ts";
import { APART_LINES, beyond, coarse, type Rest, speedDoubt } from "./rest.ts";
import { saySilence } from "./why-silent.ts";

/** Periods of a fault that a record must hold; a cage strikes unevenly, and not in every turn. */
const LINES_MIN = 3;
const CAGE_LINES_MIN = 6;

export function bearingFaults(
  look: Look,
  bearings: readonly (readonly [string, Bearing])[],
  rest: Rest,
): void {
  const silent: (readonly [BearingFault, string])[] = [];
  for (const [name, bearing] of bearings) {
    const orders = bearingOrders(bearing);
    const faults = faultsOf(orders);
    const element = faults.find(({ finding }) => finding === "rolling_element");
    const sought = searchBearing(look, faults, name, orders);
    for (const [fault, { verdict, onOrderHz, smooth }] of sought) {
      const why =
        verdict === null || fault.finding === "cage"
          ? whyNot(look, fault, name, verdict, onOrderHz)
          : null;
      if (why !== null) {
        rest.cannotTell(fault.finding, name, ...why);
        // It was looked for all the same, an element beside the cage's lines: a reading without interrupts what is no finding yet.
        const key = findingKey(fault.finding, name);
        const isSought = fault === element && canTellByCage(look, orders);
        const isMissed = isSought || (verdict === null && why[0] === "sample_rate_low");
        if (isMissed && !look.isHeld(key)) rest.judged.push(key);
        continue;
      }
      if (verdict === null && smooth !== null)
        rest.cannotTell(fault.finding, name, "ambiguous", smoothLine(fault, smooth));
      else if (verdict === null) silent.push([fault, name]);
      // An element that stands has side bands at FTF around lines that this reading need not show.
      const isElements =
        verdict?.finding === "cage" &&
        element !== undefined &&
        (look.isHeld(findingKey("rolling_element", name)) || isOfElement(look, element, orders));
      rest.judged.push(findingKey(fault.finding, name));
      if (verdict !== null && !isElements) rest.verdicts.push(verdict);
    }
  }
  for (const [fault, name] of silent) saySilence(look, fault, name, rest);
}

function smoothLine(
  { name }: BearingFault,
  { hz, mmPerS }: { hz: number; mmPerS: number },
): string {
  return `The velocity has a line at ${name} (${hz.toFixed(1)} Hz, ${mmPerS.toPrecision(2)} mm/s) without blows: elements that pass under load show it in a healthy bearing, and damage that has no edges yet may.`;
}

/** Housings and races ring above this, if not all: a record that ends below shows few of their blows. */
const RINGING_HZ = 1400;

type Why = readonly [CannotReason, string];

/** Why a fault cannot be looked for, or may exist without its own lines; null: it was looked for. */
function whyNot(
  look: Look,
  fault: BearingFault,
  bearing: string,
  verdict: Verdict | null,
  onOrderHz: number | null,
): Why | null {
  const inSight = look.axes.find(({ envelope, white }) => (envelope ?? white) !== null);
  // Of a cage, the whitened envelope alone says nothing.
  const isCage = fault.finding === "cage";
  const list = inSight?.envelope ?? (isCage ? null : (inSight?.white ?? null));
  if (list === null) return ["no_envelope", "The sample rate is too low for an envelope."];
  const why = unresolved(look, fault, list);
  if (why !== null || verdict !== null) return why;
  return hiddenBy(look, fault, list, bearing, onOrderHz);
}

/** Why a fault without its own lines may exist nevertheless; null: it does not exist. */
function hiddenBy(
  look: Look,
  { finding, name, order }: BearingFault,
  envelope: ToneList,
  bearing: string,
  onOrderHz: number | null,
): Why | null {
  const { shaftHz, isHeld } = look;
  if (onOrderHz !== null) {
    const at = `${Math.round(onOrderHz / shaftHz)}x (${onOrderHz.toFixed(1)} Hz)`;
    return [
      "resolution_coarse",
      `The line at ${at} may be ${name}, which slip can move there, or a multiple of the shaft frequency.`,
    ];
  }
  // An active finding was seen at this frequency: it ends once it is not seen any more.
  if (isHeld(findingKey(finding, bearing))) return null;
  const doubt = speedDoubt(look);
  if (doubt !== null) return ["speed_doubtful", doubt];
  const hz = order * shaftHz;
  if (!isVisible(hz, envelope)) {
    return [
      "sample_rate_low",
      `${name} at ${hz.toFixed(0)} Hz shows no line, but above ${(envelope.topHz / 2).toFixed(0)} Hz the envelope of this sample rate may miss it.`,
    ];
  }
  const rings = look.axes[0]?.accel.topHz ?? 0;
  if (rings >= RINGING_HZ) return null;
  return [
    "sample_rate_low",
    `${name} shows no line, but its blows may ring above ${rings.toFixed(0)} Hz, the limit of this sample rate.`,
  ];
}

function unresolved(
  { shaftHz }: Look,
  fault: BearingFault,
  { resolutionHz, topHz }: { readonly resolutionHz: number; readonly topHz: number },
): Why | null {
  const { order, finding, name } = fault;
  const hz = order * shaftHz;
  if (hz * (finding === "cage" ? 2 : 1) > topHz) {
    return ["sample_rate_low", beyond(name, hz, topHz)];
  }
  // The cage's second harmonic is the first that looseness and rub do not share.
  const isSeparate =
    finding === "cage"
      ? Math.abs(2 * hz - shaftHz) >= APART_LINES * resolutionHz
      : isResolved(fault, shaftHz, { resolutionHz, topHz });
  return isSeparate && hz >= (finding === "cage" ? CAGE_LINES_MIN : LINES_MIN) * resolutionHz
    ? null
    : ["resolution_coarse", coarse(`${name} at ${hz.toFixed(1)} Hz`, resolutionHz)];
}
