/**
 * Lines of a bearing fault in the envelope spectrum: harmonics of its characteristic frequency, found within the slip
 * around it, at one common slip, with their side bands (Randall & Antoni 2011; SKF, Envelope detection).
 */
import { strongestIn, type Tone, type ToneList } from "../signal/tones.ts";
import type { EvidenceLine, FindingKind, SideBand } from "./finding.ts";
import type { BearingOrders } from "./frequencies.ts";
import { type AxisLook, type Look, rss, toneNear } from "./look.ts";

/** Harmonics examined from the leading one on. */
export const HARMONICS = 4;
/** Only the first harmonics are searched: later ones are weak. */
const LEADING_MAX = 3;
/** A line and the nearest multiple of the shaft frequency must be this many lines apart. */
const APART_LINES = 1.5;
/** A tone this close to another frequency, in resolutions, cannot be distinguished from it. */
const SAME_LINE = 0.6;
/** If slip has moved the first line onto an order of the shaft, harmonics up to this one are examined instead. */
const MOVED_MAX = 6;
/** Lines that such a harmonic must be away from the shaft's orders, and that the first may be away from its own. */
const MOVED_APART = 1;
const MOVED_REACH = 0.8;
/**
 * An envelope with only one line is level: the band contains two lines of every series of impacts up to this share of
 * the low-pass.
 */
const VISIBLE_SHARE = 0.5;

export interface BearingFault {
  readonly finding: FindingKind;
  readonly name: string;
  /** Multiple of the shaft frequency of its first line. */
  readonly order: number;
  /** Spacing of its side bands, multiple of the shaft frequency; null: it has none of its own. */
  readonly spacing: number | null;
  /** Lines required in addition to the first. */
  readonly support: number;
}

export function faultsOf({ bpfo, bpfi, bsf, ftf }: BearingOrders): BearingFault[] {
  const fault = (
    finding: FindingKind,
    name: string,
    order: number | null,
    spacing: number | null,
    support: number,
  ): BearingFault[] => (order === null ? [] : [{ finding, name, order, spacing, support }]);
  return [
    ...fault("bearing_outer_race", "BPFO", bpfo, null, 1),
    // The damage passes through the loaded zone once per turn.
    ...fault("bearing_inner_race", "BPFI", bpfi, 1, 1),
    // It hits both races in each turn of the element, and the cage carries it through the loaded zone.
    ...fault("rolling_element", "2 × BSF", bsf === null ? null : 2 * bsf, ftf, 1),
    ...fault("cage", "FTF", ftf, null, 2),
  ];
}

export interface Family {
  readonly lines: readonly EvidenceLine[];
  readonly level: number;
}

/**
 * True if the demodulated band contains at least two lines of a series of impacts at this frequency. Above, the
 * envelope may be level although the bearing is damaged.
 */
export function isVisible(hz: number, { topHz }: Pick<ToneList, "topHz">): boolean {
  return hz <= VISIBLE_SHARE * topHz;
}

/**
 * The harmonic by which a fault is identified: the first that is clear of the multiples of the shaft frequency. If none
 * is, side bands at the cage's spacing must identify a rolling element; null: nothing can.
 */
export function leadingHarmonic(
  fault: BearingFault,
  shaftHz: number,
  { resolutionHz, topHz }: Pick<ToneList, "resolutionHz" | "topHz">,
): { readonly n: number; readonly needsBands: boolean } | null {
  for (let n = 1; n <= LEADING_MAX; n++) {
    const order = n * fault.order;
    if (order * shaftHz > topHz) break;
    const apart = Math.abs(order - Math.max(1, Math.round(order))) * shaftHz;
    if (apart >= APART_LINES * resolutionHz) return { n, needsBands: false };
  }
  const { finding, spacing } = fault;
  const isBanded = finding === "rolling_element" && (spacing ?? 0) * shaftHz >= 3 * resolutionHz;
  return isBanded ? { n: 1, needsBands: true } : null;
}

/** The family by its leading harmonic or, if slip has moved that onto an order, by the harmonics that are clear of it. */
export function familyOf(
  look: Look,
  axis: AxisLook,
  envelope: ToneList,
  fault: BearingFault,
): Family | null {
  const led = ledFamily(look, axis, envelope, fault);
  const moved = movedFamily(look, axis, envelope, fault);
  return led === null || (moved?.level ?? 0) > led.level ? moved : led;
}

function ledFamily(
  look: Look,
  axis: AxisLook,
  envelope: ToneList,
  fault: BearingFault,
): Family | null {
  const leading = leadingHarmonic(fault, look.shaftHz, envelope);
  if (leading === null) return null;
  const { n: lead, needsBands } = leading;
  const nominalHz = lead * fault.order * look.shaftHz;
  const reach = look.thresholds.slip * nominalHz + 0.5 * envelope.resolutionHz;
  const isOfShaft = (hz: number) => !needsBands && isShaftOrder(look, envelope, hz);
  const first = strongestIn(envelope, nominalHz - reach, nominalHz + reach, isOfShaft);
  if (first === null || first.ratio < look.thresholds.mainRatio) return null;
  return familyAt(look, axis, envelope, fault, { first, lead, needsBands, isOfShaft });
}

/**
 * A slip of one percent may move BPFI of 4.95x onto 5x. Its n-th harmonic is then n times as far from the shaft's
 * orders as the first: the harmonics that are clear of them identify it, at a frequency that fits the line on the
 * order.
 */
function movedFamily(
  look: Look,
  axis: AxisLook,
  envelope: ToneList,
  fault: BearingFault,
): Family | null {
  const on = lineOnOrder(look, envelope, fault);
  if (on === null || !look.isSeen) return null;
  const { resolutionHz, topHz } = envelope;
  const { shaftHz, shaftLines } = look;
  const nominalHz = fault.order * shaftHz;
  const slipHz = look.thresholds.slip * nominalHz;
  const isOfShaft = (hz: number) => {
    const order = Math.max(1, Math.round(hz / shaftHz));
    return Math.abs(hz - order * shaftHz) < (MOVED_APART + shaftLines * order) * resolutionHz;
  };
  for (let lead = 2; lead <= MOVED_MAX && lead * on.hz <= topHz; lead++) {
    const reach = lead * MOVED_REACH * resolutionHz;
    const first = strongestIn(envelope, lead * on.hz - reach, lead * on.hz + reach, isOfShaft);
    if (first === null || first.ratio < look.thresholds.mainRatio) continue;
    if (Math.abs(first.hz / lead - nominalHz) > slipHz) continue;
    const family = familyAt(look, axis, envelope, fault, {
      first,
      lead,
      needsBands: false,
      isOfShaft,
    });
    if (family !== null) return family;
  }
  return null;
}

/**
 * The line of a fault that is on an order of the shaft, or too close to it, if it is the strongest within the slip: it
 * may belong to the fault or to the shaft.
 */
export function lineOnOrder(look: Look, envelope: ToneList, fault: BearingFault): Tone | null {
  const nominalHz = fault.order * look.shaftHz;
  const reach = look.thresholds.slip * nominalHz + 0.5 * envelope.resolutionHz;
  const tone = strongestIn(envelope, nominalHz - reach, nominalHz + reach);
  const isOn = tone !== null && tone.ratio >= look.thresholds.mainRatio;
  return isOn && isShaftOrder(look, envelope, tone.hz, MOVED_APART) ? tone : null;
}

interface Lead {
  readonly first: Tone;
  /** Which harmonic `first` is. */
  readonly lead: number;
  readonly needsBands: boolean;
  readonly isOfShaft: (hz: number) => boolean;
}

function familyAt(
  look: Look,
  axis: AxisLook,
  envelope: ToneList,
  fault: BearingFault,
  { first, lead, needsBands, isOfShaft }: Lead,
): Family | null {
  const baseHz = first.hz / lead;
  const lines: EvidenceLine[] = [];
  let support = -1;
  for (let n = 1; n < lead + HARMONICS; n++) {
    const hz = n * baseHz;
    if (hz > envelope.topHz) break;
    const near = (0.5 + 0.2 * n) * envelope.resolutionHz;
    const tone = n === lead ? first : toneNear(envelope, hz, near);
    if (tone === null || tone.ratio < look.thresholds.supportRatio) continue;
    // A harmonic of the shaft must not be counted as one of the fault.
    const isBorrowed = isOfShaft(tone.hz);
    if (isBorrowed && n > lead) continue;
    const name = n === 1 ? fault.name : `${n} × ${fault.name.replace("2 × ", "2·")}`;
    lines.push(envelopeLine(look, axis, name, tone, sideBands(look, envelope, fault, tone)));
    if (!isBorrowed) support += 1;
  }
  const own = lines.find(({ hz }) => hz === first.hz);
  const hasBands = (own?.sideBands.length ?? 0) >= 2;
  if (needsBands ? !hasBands : support + (hasBands ? 1 : 0) < fault.support) return null;
  const level = rss(lines.flatMap((line) => [line.amplitude, ...line.sideBands.map(bandLevel)]));
  return { lines, level };
}

const bandLevel = ({ amplitude }: SideBand) => amplitude;

/**
 * Side bands of a line, weaker than it. An outer race whose second harmonic is out of range is identified by those of
 * the shaft.
 */
function sideBands(look: Look, envelope: ToneList, fault: BearingFault, line: Tone): SideBand[] {
  const isAlone = fault.finding === "bearing_outer_race" && 2 * line.hz > envelope.topHz;
  const spacing = fault.spacing ?? (isAlone ? 1 : null);
  if (spacing === null) return [];
  const spacingHz = spacing * look.shaftHz;
  return [-1, 1].flatMap((side) => {
    const tone = toneNear(envelope, line.hz + side * spacingHz, envelope.resolutionHz);
    if (tone === null || tone.amplitude >= line.amplitude) return [];
    const { hz, amplitude } = tone;
    return [{ hz, order: hz / look.shaftHz, amplitude: amplitude / Math.SQRT2 }];
  });
}

function envelopeLine(
  { shaftHz }: Look,
  { channel, axis }: AxisLook,
  name: string,
  { hz, amplitude, ratio }: Tone,
  bands: readonly SideBand[],
): EvidenceLine {
  return {
    name,
    spectrum: "envelope",
    channel,
    axis,
    hz,
    order: hz / shaftHz,
    amplitude: amplitude / Math.SQRT2,
    unit: "GE",
    ratio,
    sideBands: bands,
  };
}

/** Whole orders always, and half orders if the envelope shows 0.5x and 1.5x, as with a loose or rubbing shaft. */
function isShaftOrder(
  { shaftHz }: Look,
  envelope: ToneList,
  hz: number,
  lines = SAME_LINE,
): boolean {
  const reach = lines * envelope.resolutionHz;
  const isNear = (step: number) => Math.abs(hz - Math.round(hz / step) * step) < reach;
  if (hz > 0.6 * shaftHz && isNear(shaftHz)) return true;
  const hasHalves =
    toneNear(envelope, 0.5 * shaftHz, reach) !== null &&
    toneNear(envelope, 1.5 * shaftHz, reach) !== null;
  return hasHalves && isNear(shaftHz / 2);
}
