/**
 * Lines of a bearing fault in the envelope spectrum: harmonics of its characteristic frequency, found within the slip
 * around it, at one common slip, with their side bands (Randall & Antoni 2011; SKF, Envelope detection).
 */

import type { EvidenceLine, LineUnit, SideBand } from "../../../core/diagnosis/finding.ts";
import { strongestIn, type Tone } from "../../../pipeline/signal/tones.ts";
import { type BearingFault, type Leading, leadingHarmonics, SAME_LINE } from "./bearing-fault.ts";
import { isShaftOrder, MOVED_APART, type Searched, slipHzOf } from "./bearing-on-order.ts";
import { type AxisLook, type Look, rss, toneNear } from "./look.ts";
import { standsAlone } from "./race-on-order.ts";

/** Harmonics examined from the leading one on. */
export const HARMONICS = 4;
/** A line is found this much more exactly than its neighbours are apart, in resolutions. */
const SLIP_LINES = 0.25;
/** If slip has moved the first line onto an order of the shaft, harmonics up to this one are examined instead. */
const MOVED_MAX = 6;
/** Lines that the first may be away from its own order then. */
const MOVED_REACH = 0.8;
/** In bands, side bands of a race reach high harmonics of an element: one of so many lowest must be its own. */
const OWN_BANDS = 2;
/** Lines of two parts on orders compete if the weaker has this share of the stronger. */
const OTHERS_ON_SHARE = 0.5;
/** A line beyond this ratio counts as much as at it: one strong line is no series. */
const RATIO_COUNTED = 8;

/** A spectrum in which the lines of a bearing are sought, and what they must reach there. */
export interface FamilySource extends Searched {
  readonly unit: LineUnit;
  /** RMS, in `unit`. */
  readonly levelOf: (tone: Tone) => number;
  /** Ratio to the noise: of the line a finding is based on, of its harmonics, of its side bands. */
  readonly mainRatio: number;
  readonly supportRatio: number;
  readonly bandRatio: number;
  /** See `Family`. */
  readonly scoreMin: number;
  /** Whether side bands alone support no line. */
  readonly needsHarmonic?: boolean;
}

export interface Family {
  readonly lines: readonly EvidenceLine[];
  readonly level: number;
  /** How improbable it is in noise: sum of the squared ratios, times π/4 (each 1 in the mean of pure noise). */
  readonly score: number;
}

/** Where the lines of which fault are sought. */
export interface FamilySearch {
  readonly look: Look;
  readonly axis: AxisLook;
  readonly source: FamilySource;
  readonly fault: BearingFault;
  /** Lines that another fault explains. */
  readonly isTaken: (hz: number) => boolean;
  /** See `lineOnOrder`. */
  readonly on: Tone | null;
  /** Amplitude of the strongest line on an order that another fault of the bearing may have. */
  readonly othersOn: number;
  /** Where the lines of the other race, if they are seen, say that those of this one are, Hz. */
  readonly fromHz: number | null;
}

/** How far a cage that skids may fall behind, share, and the harmonics that must say so. */
const SKID_SHARE = 0.04;
const SKID_LINES = 3;
/** Both are found this exactly, share of the frequency: ratios of a site file have two decimals. */
const SAME_SLIP_SHARE = 0.003;

/** Where the first line of a fault may be: around which frequency, and how far from it, Hz. */
function placeOf({ look, source: { list }, fault, fromHz }: FamilySearch) {
  const nominalHz = fault.order * look.shaftHz;
  if (fromHz === null) return { centreHz: nominalHz, slipHz: slipHzOf(look, fault) };
  return { centreHz: fromHz, slipHz: SAME_SLIP_SHARE * nominalHz + SLIP_LINES * list.resolutionHz };
}

/** The family by its leading harmonic or, if slip has moved that onto an order, by the harmonics that are clear of it. */
export function familyOf(search: FamilySearch): Family | null {
  const led = ledFamily(search);
  const moved = movedFamily(search);
  const found = led === null || (moved?.score ?? 0) > led.score ? moved : led;
  return found ?? onOrderFamily(search) ?? skiddingFamily(search);
}

/**
 * An outer race whose cage skids, as under a light load: its line is lower than slip makes it, so more is asked of it. Three
 * harmonics, and but for the shaft's orders nothing in the spectrum is stronger.
 */
function skiddingFamily(search: FamilySearch): Family | null {
  const { look, source, fault, isTaken, fromHz } = search;
  const { list } = source;
  if (fault.finding !== "bearing_outer_race" || fromHz !== null || !look.isSeen) return null;
  const isOthers = (hz: number) => isShaftOrder(look, source, hz) || isTaken(hz);
  const nominalHz = fault.order * look.shaftHz;
  const first = strongestIn(
    list,
    (1 - SKID_SHARE) * nominalHz,
    (1 - look.thresholds.slip) * nominalHz,
    isOthers,
  );
  if (first === null || first.ratio < source.mainRatio) return null;
  if (strongestIn(list, look.shaftHz / 2, list.topHz, isOthers)?.hz !== first.hz) return null;
  const family = familyAt(search, { first, lead: 1, needsBands: false, isOthers });
  return family !== null && family.lines.length >= SKID_LINES ? family : null;
}

/** A race on an order of the shaft that has no neighbours there. */
function onOrderFamily(search: FamilySearch): Family | null {
  const { look, source, fault, isTaken } = search;
  const first = source.spectrum === "velocity" ? null : search.on;
  if (first === null || isTaken(first.hz)) return null;
  const lead = { first, lead: 1, needsBands: false, isOthers: isTaken };
  const family = familyAt(search, lead);
  return family !== null && standsAlone(look, source.list, fault, family.lines) ? family : null;
}

/** The best of those that begin at one of the first harmonics. */
function ledFamily(search: FamilySearch): Family | null {
  const { look, source, fault, isTaken } = search;
  const { list } = source;
  let best: Family | null = null;
  const { centreHz, slipHz } = placeOf(search);
  const leads = leadingHarmonics(fault, look.shaftHz, list);
  const isElementBand = source.slipShare !== undefined && fault.finding === "rolling_element";
  for (const { n: lead, apartLines, needsBands } of leads) {
    if (isElementBand && lead > OWN_BANDS) break;
    const nominalHz = lead * centreHz;
    const reach = lead * slipHz + SLIP_LINES * list.resolutionHz;
    const isOthers = (hz: number) =>
      (!needsBands && isShaftOrder(look, source, hz, apartLines)) || isTaken(hz);
    const first = strongestIn(list, nominalHz - reach, nominalHz + reach, isOthers);
    if (first === null || first.ratio < source.mainRatio) continue;
    if (lead > 1 && !hasFundamental(source, leads, first.hz / lead)) continue;
    const family = familyAt(search, { first, lead, needsBands, isOthers });
    if (family !== null && family.score > (best?.score ?? 0)) best = family;
  }
  return best;
}

/** A series without its first line is somebody else's, unless that line is close to an order of the shaft. */
function hasFundamental(
  { list, supportRatio, slipShare = 0 }: FamilySource,
  leads: readonly Leading[],
  hz: number,
) {
  if (leads[0]?.apartLines !== SAME_LINE) return true;
  return (toneNear(list, hz, list.resolutionHz + slipShare * hz)?.ratio ?? 0) >= supportRatio;
}

/**
 * A slip of one percent may move BPFI of 4.95x onto 5x. Its n-th harmonic is then n times as far from the shaft's
 * orders as the first: the harmonics that are clear of them identify it, at a frequency that fits the line on the
 * order.
 */
function movedFamily(search: FamilySearch): Family | null {
  const { look, source, isTaken, on, othersOn } = search;
  const { list } = source;
  if (on === null || !look.isSeen) return null;
  // Of several lines on orders, each may be a side band of another, unless one is by far the strongest.
  if (OTHERS_ON_SHARE * on.amplitude < othersOn || isTaken(on.hz)) return null;
  const { resolutionHz, topHz } = list;
  const { shaftHz, shaftLines } = look;
  const { centreHz, slipHz } = placeOf(search);
  const isOthers = (hz: number) => {
    const order = Math.max(1, Math.round(hz / shaftHz));
    return (
      Math.abs(hz - order * shaftHz) < (MOVED_APART + shaftLines * order) * resolutionHz ||
      isTaken(hz)
    );
  };
  for (let lead = 2; lead <= MOVED_MAX && lead * on.hz <= topHz; lead++) {
    const reach = lead * MOVED_REACH * resolutionHz;
    const first = strongestIn(list, lead * on.hz - reach, lead * on.hz + reach, isOthers);
    if (first === null || first.ratio < source.mainRatio) continue;
    if (Math.abs(first.hz / lead - centreHz) > slipHz) continue;
    const family = familyAt(search, {
      first,
      lead,
      needsBands: false,
      isOthers,
    });
    if (family !== null) return family;
  }
  return null;
}

interface Lead {
  readonly first: Tone;
  /** Which harmonic `first` is. */
  readonly lead: number;
  readonly needsBands: boolean;
  /** Lines of the shaft, or of another fault. */
  readonly isOthers: (hz: number) => boolean;
}

function familyAt(
  search: FamilySearch,
  { first, lead, needsBands, isOthers }: Lead,
): Family | null {
  const { look, axis, source, fault } = search;
  const { list } = source;
  const baseHz = first.hz / lead;
  const lines: EvidenceLine[] = [];
  let support = -1;
  let score = 0;
  let isOtherSeries = true;
  const half = halfLine(search, first.hz / (2 * lead), isOthers);
  if (half !== null) {
    support += 1;
    score += scoreOf(half);
  }
  for (let n = 1; n < lead + HARMONICS; n++) {
    const hz = n * baseHz;
    if (hz > list.topHz) break;
    const near = (0.5 + 0.2 * n) * list.resolutionHz + 0.5 * (source.slipShare ?? 0) * hz;
    const tone = n === lead ? first : toneNear(list, hz, near);
    if (tone === null || tone.ratio < source.supportRatio) continue;
    // A harmonic of the shaft or of another fault must not be counted as one of this.
    const isBorrowed = isOthers(tone.hz);
    if (isBorrowed && n > lead) continue;
    const name = n === 1 ? fault.name : `${n} × ${fault.name.replace("2 × ", "2·")}`;
    lines.push(lineOf(look, axis, source, name, tone, sideBands(look, source, fault, tone)));
    if (n % lead !== 0 || lead === 1) isOtherSeries = false;
    if (isBorrowed) continue;
    support += 1;
    score += scoreOf(tone);
  }
  const own = lines.find(({ hz }) => hz === first.hz);
  const hasBands = (own?.sideBands.length ?? 0) >= 2;
  const isBanded = hasBands && !source.needsHarmonic;
  if (needsBands ? !isBanded : support + (isBanded ? 1 : 0) < fault.support) return null;
  if (half !== null) lines.push(lineOf(look, axis, source, "BSF", half, []));
  // Lines at 3x and 6x of the fault are those of something that repeats at its 3x: a wheel, or blades.
  if (isOtherSeries || score < source.scoreMin) return null;
  const level = rss(lines.flatMap((line) => [line.amplitude, ...line.sideBands.map(bandLevel)]));
  return { lines, level, score };
}

const scoreOf = ({ ratio }: Tone) => (Math.PI / 4) * Math.min(ratio, RATIO_COUNTED) ** 2;

/** A damaged element has a line at BSF too, where one race answers less than the other: seen as a band, if at all. */
function halfLine(
  { source: { list, slipShare, supportRatio }, fault }: FamilySearch,
  hz: number,
  isOthers: (hz: number) => boolean,
): Tone | null {
  if (slipShare === undefined || fault.finding !== "rolling_element") return null;
  const tone = toneNear(list, hz, list.resolutionHz + 0.5 * slipShare * hz);
  return tone === null || tone.ratio < supportRatio || isOthers(tone.hz) ? null : tone;
}

const bandLevel = ({ amplitude }: SideBand) => amplitude;

/**
 * Side bands of a line, weaker than it. An outer race whose second harmonic is out of range is identified by those of
 * the shaft.
 */
function sideBands(look: Look, source: FamilySource, fault: BearingFault, line: Tone): SideBand[] {
  const { list } = source;
  const secondHz = 2 * fault.order * look.shaftHz;
  const isAlone = fault.finding === "bearing_outer_race" && secondHz > list.topHz;
  const spacing = fault.spacing ?? (isAlone ? 1 : null);
  if (spacing === null) return [];
  const spacingHz = spacing * look.shaftHz;
  return [-1, 1].flatMap((side) => {
    const tone = toneNear(list, line.hz + side * spacingHz, list.resolutionHz);
    if (tone === null || tone.amplitude >= line.amplitude) return [];
    if (tone.ratio < source.bandRatio) return [];
    const { hz } = tone;
    return [{ hz, order: hz / look.shaftHz, amplitude: source.levelOf(tone) }];
  });
}

function lineOf(
  { shaftHz }: Look,
  { channel, axis }: AxisLook,
  { spectrum, unit, levelOf }: FamilySource,
  name: string,
  tone: Tone,
  bands: readonly SideBand[],
): EvidenceLine {
  const { hz, ratio } = tone;
  const amplitude = levelOf(tone);
  const order = hz / shaftHz;
  return { name, spectrum, channel, axis, hz, order, amplitude, unit, ratio, sideBands: bands };
}
