/** Which family of lines in the envelope spectrum is a fault of a bearing, and which is another's. */
import type { ToneList } from "../signal/tones.ts";
import {
  type BearingFault,
  type Family,
  familyOf,
  HARMONICS,
  isVisible,
  lineOnOrder,
} from "./bearing-families.ts";
import type { Verdict } from "./finding.ts";
import { findingKey } from "./finding.ts";
import { type AxisLook, heldLimit, type Look, stageOf, toneNear } from "./look.ts";

/** Level from which a fault is more than beginning, GE RMS. */
const ADVANCED_GE = 0.1;
/** Neighbours on both sides at the spacing of the shaft, by the line between them, from which the line is one of theirs. */
const COMB_SHARE = 0.5;
/** Harmonics of the cage below a line, and their size by that of its family, from which the line is one of them. */
const CAGE_LINES = 3;
const CAGE_SHARE = 0.5;
/** The load on a damaged element changes with the cage, which has few harmonics; strikes of the cage go on beyond this one. */
const CAGE_OWN_HARMONIC = 4;
/** Harmonics of FTF that are looked at where the element's line is out of sight, and their size by that of the first. */
const CAGE_LAST_HARMONIC = 9;
const CAGE_OWN_SHARE = 0.2;

export interface Sought {
  readonly verdict: Verdict | null;
  /** A line as strong as a fault's lies on an order of the shaft, at this frequency: it may be either's. */
  readonly onOrderHz: number | null;
}

/** The strongest axis that shows the fault. @param ftf cage frequency of the bearing, multiple of the shaft's */
export function bearingFault(
  look: Look,
  fault: BearingFault,
  bearing: string,
  ftf: number | null,
): Sought {
  const key = findingKey(fault.finding, bearing);
  let verdict: Verdict | null = null;
  let onOrderHz: number | null = null;
  for (const axis of look.axes) {
    const { envelope, envelopeRms } = axis;
    if (envelope === null || envelopeRms === null) continue;
    const limit = heldLimit(look, key, levelLimit(look, fault, envelope, envelopeRms));
    const family = ownFamily(look, axis, envelope, fault, ftf);
    if (family === null || family.level < limit) {
      const on = lineOnOrder(look, envelope, fault);
      if (on !== null && on.amplitude / Math.SQRT2 >= limit) onOrderHz ??= on.hz;
      continue;
    }
    if (family.level <= (verdict?.level ?? 0)) continue;
    const { lines, level } = family;
    // Heard in the envelope alone, felt in the velocity, and in zone C or D (SKF's stages, of which the first is not heard).
    const [first, second] = look.limits;
    const felt = stageOf(axis.velocityRms ?? 0, first, second);
    // What is felt is the bearing's only where its strikes are more than faint.
    const stage = level < ADVANCED_GE ? 1 : felt;
    verdict = { finding: fault.finding, bearing, stage, level, unit: "GE", limit, lines };
  }
  return { verdict, onOrderHz: verdict === null ? onOrderHz : null };
}

/** What the lines must carry of the envelope. The lines of the modulation that the fault itself makes are not counted in it. */
function levelLimit(
  { shaftHz, thresholds: { envelopeMin, envelopeShare } }: Look,
  { spacing }: BearingFault,
  envelope: ToneList,
  envelopeRms: number,
): number {
  let square = envelopeRms * envelopeRms;
  for (const n of spacing === null ? [] : [1, 2]) {
    const tone = toneNear(envelope, n * (spacing ?? 0) * shaftHz, envelope.resolutionHz);
    square -= ((tone?.amplitude ?? 0) * (tone?.amplitude ?? 0)) / 2;
  }
  return Math.max(envelopeMin, envelopeShare * Math.sqrt(Math.max(0, square)));
}

/** The family, unless its lines are those of another part of the bearing. */
function ownFamily(
  look: Look,
  axis: AxisLook,
  envelope: ToneList,
  fault: BearingFault,
  ftf: number | null,
): Family | null {
  const family = familyOf(look, axis, envelope, fault);
  if (family === null) return null;
  const { finding } = fault;
  const isBanded = finding === "bearing_inner_race" || finding === "cage";
  if (!isBanded && isOfComb(look, envelope, family)) return null;
  return isOfCage(look, envelope, fault, family, ftf) ? null : family;
}

/**
 * BPFI and BPFO add up to the number of elements, so a side band of the one may lie on the other, or on 2 × BSF. Neither an
 * outer race nor an element shows more than weak bands at the spacing of the shaft.
 */
function isOfComb({ shaftHz }: Look, envelope: ToneList, { lines }: Family): boolean {
  const [line] = lines;
  if (line === undefined) return false;
  const [low = 0, high = 0] = [-1, 1].map((side) => {
    const tone = toneNear(envelope, line.hz + side * shaftHz, envelope.resolutionHz);
    return (tone?.amplitude ?? 0) / Math.SQRT2 / line.amplitude;
  });
  return Math.max(low, high) >= 1 || Math.min(low, high) >= COMB_SHARE;
}

/**
 * BPFO is the cage's frequency times the number of elements, and 2 × BSF may lie on another multiple of it: strikes of a
 * damaged cage have a harmonic there. It is theirs where lower harmonics of the cage are of its size.
 */
function isOfCage(
  { shaftHz }: Look,
  envelope: ToneList,
  { finding, order }: BearingFault,
  { lines }: Family,
  ftf: number | null,
): boolean {
  if (ftf === null || finding === "cage" || finding === "bearing_inner_race") return false;
  const strongest = Math.max(...lines.map(({ amplitude }) => amplitude)) * Math.SQRT2;
  const from = finding === "rolling_element" ? CAGE_OWN_HARMONIC : 1;
  const to = Math.ceil((0.9 * order) / ftf) - 1;
  return cageLines(envelope, ftf * shaftHz, from, to, CAGE_SHARE * strongest) >= CAGE_LINES;
}

/** Harmonics `from` to `to` of a frequency that reach an amplitude. */
function cageLines(
  envelope: ToneList,
  ftfHz: number,
  from: number,
  to: number,
  least: number,
): number {
  let count = 0;
  for (let n = from; n <= to; n++) {
    const tone = toneNear(envelope, n * ftfHz, (0.5 + 0.2 * n) * envelope.resolutionHz);
    if (tone !== null && tone.amplitude >= least) count += 1;
  }
  return count;
}

/**
 * The cage carries a damaged element through the loaded zone: lines at FTF are the element's where its own line shows, however
 * faint, or is out of sight. Strikes of the cage itself have many harmonics.
 */
export function isOfElement(look: Look, element: BearingFault, ftf: number): boolean {
  return look.axes.some((axis) => {
    const { envelope } = axis;
    if (envelope === null) return false;
    if (ownFamily(look, axis, envelope, element, ftf) !== null) return true;
    const isInSight = isVisible(element.order * look.shaftHz, envelope);
    if (isInSight && lineOnOrder(look, envelope, element) === null) return false;
    const ftfHz = ftf * look.shaftHz;
    const first = toneNear(envelope, ftfHz, 0.7 * envelope.resolutionHz);
    if (first === null) return false;
    const least = CAGE_OWN_SHARE * first.amplitude;
    return cageLines(envelope, ftfHz, CAGE_OWN_HARMONIC, CAGE_LAST_HARMONIC, least) < CAGE_LINES;
  });
}

/** Lines of a weaker fault that are harmonics or side bands of a stronger one belong to that. */
export function withoutEchoes(
  look: Look,
  verdicts: readonly Verdict[],
  ftf: number | null,
): Verdict[] {
  const kept: Verdict[] = [];
  for (const verdict of verdicts.toSorted((a, b) => b.level - a.level)) {
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
