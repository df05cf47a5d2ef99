/** Decides which lines in the envelope spectrum show a bearing fault, and which belong to another part. */
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

/** Level from which a fault is beyond its first stage, GE RMS. */
const ADVANCED_GE = 0.1;
/** If the side bands at shaft spacing on both sides reach this share of a line, the line belongs to their series. */
const COMB_SHARE = 0.5;
/**
 * If this many harmonics of the cage below a line reach this share of its family's strongest line, the line is one of
 * them.
 */
const CAGE_LINES = 3;
const CAGE_SHARE = 0.5;
/**
 * The load on a damaged element changes with the rotation of the cage, which causes few harmonics; impacts of the
 * cage itself have harmonics from this one on.
 */
const CAGE_OWN_HARMONIC = 4;
/**
 * Last harmonic of FTF that is examined if the element's line cannot be seen, and its required share of the first
 * one.
 */
const CAGE_LAST_HARMONIC = 9;
const CAGE_OWN_SHARE = 0.2;

export interface Sought {
  readonly verdict: Verdict | null;
  /**
   * Frequency of a line on an order of the shaft that is as strong as a fault's would be: it may belong to either.
   */
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
    // Stages: visible only in the envelope, also in the velocity, velocity in zone C or D (after SKF, whose first
    // stage is not audible).
    const [first, second] = look.limits;
    const felt = stageOf(axis.velocityRms ?? 0, first, second);
    // The velocity is attributed to the bearing only if its impacts are more than faint.
    const stage = level < ADVANCED_GE ? 1 : felt;
    verdict = { finding: fault.finding, bearing, stage, level, unit: "GE", limit, lines };
  }
  return { verdict, onOrderHz: verdict === null ? onOrderHz : null };
}

/**
 * The level that the lines must reach, by the RMS value of the envelope without the modulation that the fault itself
 * causes.
 */
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
 * BPFI and BPFO add up to the number of elements, so a side band of one may coincide with the other, or with 2 × BSF.
 * Neither an outer race nor an element has more than weak side bands at shaft spacing.
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
 * BPFO is the cage's frequency times the number of elements, and 2 × BSF may be close to another multiple of it,
 * where the impacts of a damaged cage have a harmonic. The line belongs to the cage if lower harmonics of the cage
 * are of similar size.
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
 * The cage carries a damaged element through the loaded zone: lines at FTF belong to the element if its own line is
 * visible, however faint, or cannot be seen. Impacts of the cage itself have many harmonics.
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

/** Drops weaker faults whose lines are harmonics or side bands of a stronger one. */
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
