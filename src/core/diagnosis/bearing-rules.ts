/**
 * Faults of rolling bearings, from the envelope spectrum: a family of harmonics of a characteristic frequency, found
 * within the slip around it, at one common slip (Randall & Antoni 2011; SKF, Envelope detection).
 */
import { strongestIn, type Tone, type ToneList } from "../signal/tones.ts";
import type { EvidenceLine, FindingKind, SideBand, Verdict } from "./finding.ts";
import { findingKey } from "./finding.ts";
import type { BearingOrders } from "./frequencies.ts";
import { type AxisLook, heldLimit, type Look, rss, stageOf, toneNear } from "./look.ts";

/** Level from which a fault is more than beginning, GE RMS. */
const ADVANCED_GE = 0.1;
/** Harmonics looked at from the leading one on. */
const HARMONICS = 4;
/** A fault is looked for by its first harmonics only: further ones are weak. */
const LEADING_MAX = 3;
/** A line and the nearest multiple of the shaft frequency must lie so many lines apart. */
const APART_LINES = 1.5;
/** A tone this close to another frequency, in resolutions, cannot be told from it. */
const SAME_LINE = 0.6;

/** Harmonics of the cage below BPFO, and their size by that of BPFO's lines, from which BPFO is one of them. */
const CAGE_LINES = 3;
const CAGE_SHARE = 0.5;

export interface BearingFault {
  readonly finding: FindingKind;
  readonly name: string;
  /** Multiple of the shaft frequency of its first line. */
  readonly order: number;
  /** Spacing of its side bands, multiple of the shaft frequency; null: it has none of its own. */
  readonly spacing: number | null;
  /** Lines besides the first that it takes. */
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
    // It strikes both races in each turn of the element, and the cage carries it through the loaded zone.
    ...fault("rolling_element", "2 × BSF", bsf === null ? null : 2 * bsf, ftf, 1),
    ...fault("cage", "FTF", ftf, null, 2),
  ];
}

interface Family {
  readonly lines: readonly EvidenceLine[];
  readonly level: number;
}

/** The strongest axis that shows the fault. @param ftf cage frequency of the bearing, multiple of the shaft's */
export function bearingFault(
  look: Look,
  fault: BearingFault,
  bearing: string,
  ftf: number | null,
): Verdict | null {
  const key = findingKey(fault.finding, bearing);
  let best: Verdict | null = null;
  for (const axis of look.axes) {
    const { envelope, envelopeRms } = axis;
    if (envelope === null || envelopeRms === null) continue;
    const { envelopeShare, envelopeMin } = look.thresholds;
    const limit = heldLimit(look, key, Math.max(envelopeMin, envelopeShare * envelopeRms));
    const family = familyOf(look, axis, envelope, fault);
    if (family !== null && isOfCage(look, envelope, fault, family, ftf)) continue;
    if (family === null || family.level < limit || family.level <= (best?.level ?? 0)) continue;
    const { lines, level } = family;
    // Heard in the envelope alone, felt in the velocity, and in zone C or D (SKF's stages, of which the first is not heard).
    const [first, second] = look.limits;
    const felt = stageOf(axis.velocityRms ?? 0, first, second);
    // What is felt is the bearing's only where its strikes are more than faint.
    const stage = level < ADVANCED_GE ? 1 : felt;
    best = { finding: fault.finding, bearing, stage, level, unit: "GE", limit, lines };
  }
  return best;
}

/**
 * The harmonic a fault is looked for by: the first that lies apart from the multiples of the shaft frequency. Where none does,
 * side bands at the cage's spacing have to tell a rolling element; null: nothing can.
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

function familyOf(
  look: Look,
  axis: AxisLook,
  envelope: ToneList,
  fault: BearingFault,
): Family | null {
  const { slip, mainRatio, supportRatio } = look.thresholds;
  const leading = leadingHarmonic(fault, look.shaftHz, envelope);
  if (leading === null) return null;
  const { n: lead, needsBands } = leading;
  const nominalHz = lead * fault.order * look.shaftHz;
  const reach = slip * nominalHz + 0.5 * envelope.resolutionHz;
  const isOfShaft = (hz: number) => !needsBands && isShaftOrder(look, envelope, hz);
  const first = strongestIn(envelope, nominalHz - reach, nominalHz + reach, isOfShaft);
  if (first === null || first.ratio < mainRatio) return null;
  const baseHz = first.hz / lead;
  const lines: EvidenceLine[] = [];
  let support = -1;
  for (let n = 1; n < lead + HARMONICS; n++) {
    const hz = n * baseHz;
    if (hz > envelope.topHz) break;
    const near = (0.5 + 0.2 * n) * envelope.resolutionHz;
    const tone = n === lead ? first : toneNear(envelope, hz, near);
    if (tone === null || tone.ratio < supportRatio) continue;
    // A harmonic must not be borrowed from the shaft's.
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

/**
 * BPFO is the cage's frequency times the number of elements: strikes of a damaged cage have a harmonic there. It is theirs
 * where lower harmonics of the cage are of its size; an outer race shows at most weak bands at that spacing.
 */
function isOfCage(
  { shaftHz }: Look,
  envelope: ToneList,
  { finding, order }: BearingFault,
  { lines }: Family,
  ftf: number | null,
): boolean {
  if (finding !== "bearing_outer_race" || ftf === null) return false;
  const strongest = Math.max(...lines.map(({ amplitude }) => amplitude)) * Math.SQRT2;
  let count = 0;
  for (let n = 1; n * ftf < 0.9 * order; n++) {
    const tone = toneNear(envelope, n * ftf * shaftHz, (0.5 + 0.2 * n) * envelope.resolutionHz);
    if (tone !== null && tone.amplitude >= CAGE_SHARE * strongest) count += 1;
  }
  return count >= CAGE_LINES;
}

const bandLevel = ({ amplitude }: SideBand) => amplitude;

function sideBands(look: Look, envelope: ToneList, fault: BearingFault, line: Tone): SideBand[] {
  if (fault.spacing === null) return [];
  const spacingHz = fault.spacing * look.shaftHz;
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

/** Whole orders always, and half ones where the envelope shows 0.5x or 1.5x: a loose or rubbing shaft. */
function isShaftOrder({ shaftHz }: Look, envelope: ToneList, hz: number): boolean {
  const reach = SAME_LINE * envelope.resolutionHz;
  const isNear = (step: number) => Math.abs(hz - Math.round(hz / step) * step) < reach;
  if (hz > 0.6 * shaftHz && isNear(shaftHz)) return true;
  const hasHalves =
    toneNear(envelope, 0.5 * shaftHz, reach) !== null &&
    toneNear(envelope, 1.5 * shaftHz, reach) !== null;
  return hasHalves && isNear(shaftHz / 2);
}

/** Lines of a weaker fault that are harmonics or side bands of a stronger one belong to that. */
export function withoutEchoes(
  look: Look,
  verdicts: readonly Verdict[],
  ftf: number | null,
): Verdict[] {
  const kept: Verdict[] = [];
  // The cage carries a damaged element through the loaded zone: its line is that fault's, not its own.
  const isElement = verdicts.some(({ finding }) => finding === "rolling_element");
  for (const verdict of verdicts.toSorted((a, b) => b.level - a.level)) {
    if (isElement && verdict.finding === "cage") continue;
    if (!kept.some((stronger) => isEcho(look, stronger, verdict, ftf))) kept.push(verdict);
  }
  return kept;
}

function isEcho(look: Look, stronger: Verdict, weaker: Verdict, ftf: number | null): boolean {
  const base = stronger.lines[0]?.hz;
  const hz = weaker.lines[0]?.hz;
  const resolutionHz = look.axes[0]?.envelope?.resolutionHz;
  if (base === undefined || hz === undefined || resolutionHz === undefined) return false;
  for (let n = 0; n <= HARMONICS; n++) {
    for (const spacing of [1, ftf]) {
      if (spacing === null) continue;
      for (let m = -2; m <= 2; m++) {
        if (n === 0 && m === 0) continue;
        const echo = n * base + m * spacing * look.shaftHz;
        if (n === 0 && spacing === ftf) continue;
        if (Math.abs(echo - hz) < resolutionHz) return true;
      }
    }
  }
  return false;
}
