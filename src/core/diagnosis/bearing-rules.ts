/** Decides which lines show a bearing fault, and which belong to another part. */
import type { Tone, ToneList } from "../../pipeline/signal/tones.ts";
import {
  type Family,
  type FamilySearch,
  type FamilySource,
  familyOf,
  lineOnOrder,
} from "./bearing-families.ts";
import type { BearingFault } from "./bearing-fault.ts";
import { envelopeSource, type LimitedSource, SOURCES } from "./bearing-sources.ts";
import { elementByCage, isCageImpact } from "./element-by-cage.ts";
import { findingKey, type Verdict } from "./finding.ts";
import type { BearingOrders } from "./frequencies.ts";
import { explains, type LineSeries, seriesOf } from "./line-series.ts";
import { type AxisLook, heldLimit, type Look, toneNear } from "./look.ts";

/** If the side bands at shaft spacing on both sides reach this share of a line, the line belongs to their series. */
const COMB_SHARE = 0.85;
const ELEMENT_COMB_SHARE = 0.5;
/**
 * They are the inner race's only if its own line lies this many turns of the shaft away at most, and has this share of
 * the line: a load that presses, never pulls, leaves the middle of a series the strongest.
 */
const COMB_REACH = 3;
const COMB_MIDDLE_SHARE = 0.5;
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
  /** Its line in the velocity, where that has a fault's level and no blows; null without one. */
  readonly smooth: { readonly hz: number; readonly mmPerS: number } | null;
}

/**
 * The faults of one bearing, each by the strongest axis that shows it. The envelope comes first: what it explains is no
 * evidence of another fault in the velocity or in the whitened envelope.
 */
export function searchBearing(
  look: Look,
  faults: readonly BearingFault[],
  bearing: string,
  orders: BearingOrders,
): ReadonlyMap<BearingFault, Sought> {
  const verdicts = new Map<BearingFault, Verdict>();
  const onOrders = new Map<BearingFault, number>();
  const smooth = new Map<BearingFault, NonNullable<Sought["smooth"]>>();
  for (const sourceOf of SOURCES) {
    const accepted = [...verdicts].map(([fault, { lines }]) => seriesOf(fault, lines));
    const open = faults.filter((fault) => !verdicts.has(fault));
    for (const axis of look.axes) {
      const source = sourceOf(look, axis);
      if (source === null) continue;
      const ons = open.map((fault) => lineOnOrder(look, source, fault));
      const families = compete(look, axis, source, open, ons, orders, accepted);
      for (const [i, fault] of open.entries()) {
        const key = findingKey(fault.finding, bearing);
        const limit = heldLimit(look, key, source.limitOf(fault));
        const family = families.get(fault);
        const isFaint =
          family !== undefined &&
          !source.isDeep(family, look.isHeld(key) ? look.thresholds.hold : 1);
        if (
          family !== undefined &&
          family.level >= limit &&
          !isFaint &&
          isStruck(source, fault, family)
        ) {
          if (family.level <= (verdicts.get(fault)?.level ?? 0)) continue;
          verdicts.set(fault, verdictOf(fault, bearing, family, source, limit));
        } else if (source.spectrum === "velocity") {
          const [line] = family?.lines ?? [];
          if (isFaint && line !== undefined && family !== undefined && family.level >= limit)
            smooth.set(fault, { hz: line.hz, mmPerS: family.level });
        } else if (!onOrders.has(fault)) {
          const on = ons[i] ?? null;
          if (on !== null && source.levelOf(on) >= limit) onOrders.set(fault, on.hz);
        }
      }
    }
  }
  const element = faults.find(({ finding }) => finding === "rolling_element");
  if (element !== undefined && isLeftToElement(look, element, [...verdicts.keys()], orders)) {
    const carried = elementByCage(look, bearing, orders);
    if (carried !== null) verdicts.set(element, carried);
  }
  return new Map(
    faults.map((fault): readonly [BearingFault, Sought] => {
      const verdict = verdicts.get(fault) ?? null;
      if (verdict !== null) return [fault, { verdict, onOrderHz: null, smooth: null }];
      const onOrderHz = onOrders.get(fault) ?? null;
      return [fault, { verdict, onOrderHz, smooth: smooth.get(fault) ?? null }];
    }),
  );
}

/** In the whitened envelope, a cage is told by its impacts alone: the load changes as any cage turns. */
function isStruck({ spectrum, list }: LimitedSource, { finding }: BearingFault, { lines }: Family) {
  if (finding !== "cage" || spectrum !== "whitened envelope") return true;
  const [first] = lines;
  const tone = first === undefined ? null : toneNear(list, first.hz, list.resolutionHz);
  return tone !== null && isCageImpact(list, tone);
}

/** Whether nothing else of the bearing is seen, or only lines at FTF that are not the cage's own. */
function isLeftToElement(
  look: Look,
  element: BearingFault,
  seen: readonly BearingFault[],
  orders: BearingOrders,
): boolean {
  if (seen.some(({ finding }) => finding !== "cage")) return false;
  return seen.length === 0 || isOfElement(look, element, orders);
}

function verdictOf(
  { finding }: BearingFault,
  bearing: string,
  { level, lines }: Family,
  { unit, stageOf: stage }: LimitedSource,
  limit: number,
): Verdict {
  return { finding, bearing, stage: stage(level), level, unit, limit, lines };
}

/** The strongest family first; the others must do without the lines that it explains. */
function compete(
  look: Look,
  axis: AxisLook,
  source: FamilySource,
  faults: readonly BearingFault[],
  ons: readonly (Tone | null)[],
  of: BearingOrders,
  accepted: readonly LineSeries[],
): ReadonlyMap<BearingFault, Family> {
  const won = new Map<BearingFault, Family>();
  const series = [...accepted];
  for (;;) {
    const { list, slipShare = 0 } = source;
    const isTaken = (hz: number) => {
      const resolutionHz = list.resolutionHz + slipShare * hz;
      return series.some((one) => explains(look, { resolutionHz }, one, of.ftf, hz));
    };
    let best: readonly [BearingFault, Family] | null = null;
    for (const [i, fault] of faults.entries()) {
      if (won.has(fault)) continue;
      let othersOn = 0;
      for (const [other, on] of ons.entries())
        if (other !== i && on !== null && on.amplitude > othersOn) othersOn = on.amplitude;
      const search = { look, axis, source, fault, isTaken, on: ons[i] ?? null, othersOn };
      const family = ownFamily(search, of);
      if (family !== null && family.level > (best?.[1].level ?? 0)) best = [fault, family];
    }
    if (best === null) return won;
    won.set(...best);
    // In one spectrum, `isOfCage` decides between a cage and what lies at its harmonics.
    if (best[0].finding !== "cage") series.push(seriesOf(best[0], best[1].lines));
  }
}

/** The family, unless its lines are those of another part of the bearing. */
function ownFamily(search: FamilySearch, { ftf, bpfi }: BearingOrders): Family | null {
  const family = familyOf(search);
  if (family === null) return null;
  const { look, source, fault } = search;
  const { finding } = fault;
  const isBanded = finding === "bearing_inner_race" || finding === "cage";
  const share = finding === "rolling_element" ? ELEMENT_COMB_SHARE : COMB_SHARE;
  if (!isBanded && isOfComb(look, source, family, share, bpfi)) return null;
  return isOfCage(look, source, fault, family, ftf) ? null : family;
}

/**
 * BPFI and BPFO add up to the number of elements, so a side band of one may coincide with the other, or with 2 × BSF.
 * Neither an outer race nor an element has more than weak side bands at shaft spacing.
 */
function isOfComb(
  { shaftHz, thresholds: { slip } }: Look,
  { list, levelOf }: FamilySource,
  { lines }: Family,
  share: number,
  bpfi: number | null,
): boolean {
  const [line] = lines;
  if (line === undefined) return false;
  const isMiddle = (turns: number) => {
    const tone = toneNear(list, line.hz + turns * shaftHz, list.resolutionHz);
    if (tone === null || levelOf(tone) < COMB_MIDDLE_SHARE * line.amplitude) return false;
    const bpfiHz = (bpfi ?? 0) * shaftHz;
    return bpfi === null || Math.abs(tone.hz - bpfiHz) <= slip * bpfiHz + list.resolutionHz;
  };
  const turns = Array.from({ length: COMB_REACH }, (_, i) => i + 1);
  if (!turns.some((n) => isMiddle(n) || isMiddle(-n))) return false;
  const [low = 0, high = 0] = [-1, 1].map((side) => {
    const tone = toneNear(list, line.hz + side * shaftHz, list.resolutionHz);
    return tone === null ? 0 : levelOf(tone) / line.amplitude;
  });
  return Math.max(low, high) >= 1 || Math.min(low, high) >= share;
}

/**
 * BPFO is the cage's frequency times the number of elements, and 2 × BSF may be close to another multiple of it,
 * where the impacts of a damaged cage have a harmonic. The line belongs to the cage if lower harmonics of the cage
 * are of similar size.
 */
function isOfCage(
  { shaftHz }: Look,
  { list, levelOf }: FamilySource,
  { finding, order }: BearingFault,
  { lines }: Family,
  ftf: number | null,
): boolean {
  if (ftf === null || finding === "cage" || finding === "bearing_inner_race") return false;
  const strongest = Math.max(...lines.map(({ amplitude }) => amplitude));
  const least = CAGE_SHARE * strongest;
  const from = finding === "rolling_element" ? CAGE_OWN_HARMONIC : 1;
  const to = Math.ceil((0.9 * order) / ftf) - 1;
  const own = lines[0]?.hz ?? 0;
  const isNear = (hz: number, to: number) => Math.abs(hz - to) < list.resolutionHz;
  // Lines at the shaft's orders, and the line's own side bands, lie among the cage's harmonics too.
  const isShafts = (hz: number) =>
    isNear(hz, Math.round(hz / shaftHz) * shaftHz) ||
    isNear(own - hz, Math.round((own - hz) / shaftHz) * shaftHz);
  const isStrong = (tone: Tone) => levelOf(tone) >= least && !isShafts(tone.hz);
  return cageLines(list, ftf * shaftHz, from, to, isStrong) >= CAGE_LINES;
}

/** Harmonics `from` to `to` of a frequency that are strong enough. */
function cageLines(
  envelope: ToneList,
  ftfHz: number,
  from: number,
  to: number,
  isStrong: (tone: Tone) => boolean,
): number {
  let count = 0;
  for (let n = from; n <= to; n++) {
    const tone = toneNear(envelope, n * ftfHz, (0.5 + 0.2 * n) * envelope.resolutionHz);
    if (tone !== null && isStrong(tone)) count += 1;
  }
  return count;
}

/**
 * The cage carries a damaged element through the loaded zone: lines at FTF belong to the element if its own line is
 * visible, however faint, or cannot be seen. Impacts of the cage itself have many harmonics, on the axis that shows them.
 */
export function isOfElement(look: Look, element: BearingFault, orders: BearingOrders): boolean {
  const ftfHz = (orders.ftf ?? 0) * look.shaftHz;
  const hitsAll = look.axes.some(({ white }) => {
    const first = white === null ? null : toneNear(white, ftfHz, 0.7 * white.resolutionHz);
    return white !== null && first !== null && isCageImpact(white, first);
  });
  if (hitsAll) return false;
  let isCarried = false;
  for (const axis of look.axes) {
    const source = envelopeSource(look, axis);
    if (source === null) continue;
    const on = lineOnOrder(look, source, element);
    const alone = { look, axis, source, fault: element, isTaken: () => false, on, othersOn: 0 };
    if (ownFamily(alone, orders) !== null) return true;
    const first = toneNear(source.list, ftfHz, 0.7 * source.list.resolutionHz);
    if (first === null) continue;
    const least = CAGE_OWN_SHARE * first.amplitude;
    const isStrong = ({ amplitude }: Tone) => amplitude >= least;
    const [from, to] = [CAGE_OWN_HARMONIC, CAGE_LAST_HARMONIC];
    if (cageLines(source.list, ftfHz, from, to, isStrong) >= CAGE_LINES) return false;
    isCarried = true;
  }
  return isCarried;
}
