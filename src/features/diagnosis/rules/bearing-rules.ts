/** Decides which lines show a bearing fault, and which belong to another part. */

import type { BearingOrders } from "../../../core/bearing-orders.ts";
import { type FindingKind, findingKey, type Verdict } from "../../../core/diagnosis/finding.ts";
import type { Tone } from "../../../pipeline/signal/tones.ts";
import {
  CAGE_LINES,
  CAGE_OWN_HARMONIC,
  cageLines,
  isOfCage,
  isOfComb,
  isOfOuter,
} from "./bearing-combs.ts";
import { type Family, type FamilySearch, type FamilySource, familyOf } from "./bearing-families.ts";
import type { BearingFault } from "./bearing-fault.ts";
import { lineOnOrder } from "./bearing-on-order.ts";
import { envelopeSource, type LimitedSource, SOURCES } from "./bearing-sources.ts";
import { elementByCage, isCageImpact } from "./element-by-cage.ts";
import { explains, type LineSeries, seriesOf } from "./line-series.ts";
import { type AxisLook, heldLimit, type Look, toneNear } from "./look.ts";

/**
 * Last harmonic of FTF that is examined if the element's line cannot be seen, and its required share of the first
 * one.
 */
const CAGE_LAST_HARMONIC = 9;
const CAGE_OWN_SHARE = 0.2;

const RACES: ReadonlySet<FindingKind> = new Set(["bearing_outer_race", "bearing_inner_race"]);

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
    const accepted = [...verdicts].map(
      ([fault, { lines }]) => [fault, seriesOf(fault, lines)] as const,
    );
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
  accepted: readonly (readonly [BearingFault, LineSeries])[],
): ReadonlyMap<BearingFault, Family> {
  const won = new Map<BearingFault, Family>();
  const series = accepted.map(([, one]) => one);
  const races = new Map(accepted.map(([{ finding }, { hz }]) => [finding, hz]));
  for (;;) {
    const { list, slipShare = 0 } = source;
    const isTaken = (hz: number) => {
      const where = { resolutionHz: list.resolutionHz, bandHz: slipShare * hz };
      return series.some((one) => explains(look, where, one, of.ftf, hz));
    };
    let best: readonly [BearingFault, Family] | null = null;
    for (const [i, fault] of faults.entries()) {
      if (won.has(fault)) continue;
      let othersOn = 0;
      for (const [other, on] of ons.entries())
        if (other !== i && on !== null && on.amplitude > othersOn) othersOn = on.amplitude;
      const fromHz = otherRace(look, fault, of, races);
      const search = { look, axis, source, fault, isTaken, on: ons[i] ?? null, othersOn, fromHz };
      const family = ownFamily(search, of);
      if (family !== null && family.level > (best?.[1].level ?? 0)) best = [fault, family];
    }
    if (best === null) return won;
    won.set(...best);
    // In one spectrum, `isOfCage` decides between a cage and what lies at its harmonics.
    const own = seriesOf(best[0], best[1].lines);
    if (best[0].finding !== "cage") series.push(own);
    races.set(best[0].finding, own.hz);
  }
}

/**
 * Where a race's lines must be once the other's are seen: BPFO and BPFI add up to the elements times the shaft frequency,
 * whatever the cage slips by; null: the other's are not.
 */
function otherRace(
  { shaftHz, besideHz }: Look,
  { finding }: BearingFault,
  { bpfo, bpfi }: BearingOrders,
  races: ReadonlyMap<FindingKind, number>,
): number | null {
  if (bpfo === null || bpfi === null || besideHz !== null) return null;
  const other = finding === "bearing_inner_race" ? "bearing_outer_race" : "bearing_inner_race";
  const seenHz = RACES.has(finding) ? races.get(other) : undefined;
  return seenHz === undefined ? null : (bpfo + bpfi) * shaftHz - seenHz;
}

/** The family, unless its lines are those of another part of the bearing. */
function ownFamily(search: FamilySearch, { ftf, bpfo, bpfi }: BearingOrders): Family | null {
  const family = familyOf(search);
  if (family === null || isOfOuter(search, family, bpfo)) return null;
  const { look, source, fault } = search;
  const { finding } = fault;
  const isBanded = finding === "bearing_inner_race" || finding === "cage";
  if (!isBanded && isOfComb(search, family, bpfi)) return null;
  return isOfCage(look, source, fault, family, ftf) ? null : family;
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
    const alone = {
      look,
      axis,
      source,
      fault: element,
      isTaken: () => false,
      on,
      othersOn: 0,
      fromHz: null,
    };
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
