/**
 * Faults of the shaft: unbalance, misalignment, looseness (ISO 13373-3:2015 annexes; Technical Associates' diagnostic chart).
 * Each needs a level (of the machine's zone limits) and the pattern. Where the machine's normal state is known, both are
 * asked of what rose above it; where it is not, of the whole in zone C or worse, and then the finding stays in stage 1.
 */
import type { EvidenceLine, FindingKind, Stage, Verdict } from "../../../core/diagnosis/finding.ts";
import {
  type AxisLook,
  CHANGE_TIMES,
  forceLimit,
  isLearned,
  isRadial,
  type Look,
  middleOfB,
  RISEN_TIMES,
  type Risen,
  risen,
  rss,
  stageOf,
} from "./look.ts";
import { ORDERS, OTHER_ORDERS } from "./reference.ts";

/** What rose: at least this share of the middle of zone B. */
const RISEN_LEVEL = 0.7;
/** Share of the velocity of its axis that 1x carries, in an unbalance. */
const UNBALANCE_SHARE = 0.8;
/**
 * What 2x may rise by with 1x: in an unbalance at most, and where one may begin. Between them it may be a misalignment, or an
 * unbalance on a loose base, whose structure answers to 1x more.
 */
const UNBALANCE_SECOND = 0.5;
const UNBALANCE_SECOND_FIRST = 0.2;
/**
 * The same where 1x rose along the shaft by less than this share of what it rose by across it: a loose base moves across, and
 * its structure may answer to 1x more.
 */
const UNBALANCE_SECOND_ACROSS = 0.15;
const ACROSS_SHARE = 0.25;
/**
 * 1x that rose so many times, above C/D, with this share of the power of all orders that rose, is an unbalance's first: play and
 * clearances answer to a strong 1x with harmonics, which alone would be those of a looseness or misalignment.
 */
const DOMINANT_TIMES = 4;
const DOMINANT_POWER = 0.8;
/** Axial over radial 1x, at most: rigs show up to 2.1. */
const UNBALANCE_AXIAL = 3;
/** 2x over 1x above which parallel misalignment is likely. */
export const MISALIGNED_SECOND = 0.75;
/**
 * Axial over radial above which angular misalignment is likely; axial 2x over 1x, which distinguishes it from a bent
 * shaft and from an unbalance.
 */
const MISALIGNED_AXIAL = 0.5;
const MISALIGNED_AXIAL_SECOND = 0.3;
/**
 * An order that fell in other directions by this share of what it rose by in one, and is no more in all together, only
 * changed its direction: so looks a sensor that is mounted otherwise than when the machine was learned.
 */
const MOVED_SHARE = 0.5;
/** RMS amplitude of a line, mm/s; 0 without one. */
export const at = (line: EvidenceLine | null): number => line?.amplitude ?? 0;

export const present = (lines: readonly (EvidenceLine | null)[]): EvidenceLine[] =>
  lines.filter((line) => line !== null);

/** The level that a fault must reach, and the stage of one. */
export function limitOf(look: Look, finding: FindingKind): number {
  const level = isLearned(look) ? RISEN_LEVEL * middleOfB(look) : look.limits[1];
  return forceLimit(look, finding, level);
}

export function shaftVerdict(
  look: Look,
  finding: FindingKind,
  level: number,
  limit: number,
  stage: Stage,
  lines: readonly EvidenceLine[],
): Verdict {
  const hasReference = isLearned(look);
  const normal = hasReference
    ? rss(lines.map(({ channel, name }) => look.normalOf(channel, Number.parseFloat(name)) ?? 0))
    : null;
  return {
    finding,
    bearing: null,
    stage: hasReference ? stage : 1,
    level,
    unit: "mm/s",
    limit,
    lines,
    normal,
  };
}

export function strongest(found: readonly Risen[]): Risen | null {
  let best: Risen | null = null;
  for (const one of found) if (one.rise > (best?.rise ?? 0)) best = one;
  return best;
}

/** Whether an order only moved from one direction to another. A normal state borrowed from another speed shows no fall. */
function isMoved(look: Look, { axis: { channel }, rise, line }: Risen, order: number): boolean {
  if (look.topRpm === null || line === null) return false;
  const seen = look.axes.map((axis) => ({
    isOther: axis.channel !== channel,
    now: at(risen(look, axis, order).line),
    normal: look.normalOf(axis.channel, order) ?? 0,
  }));
  const isMore =
    rss(seen.map(({ now }) => now)) >= CHANGE_TIMES * rss(seen.map(({ normal }) => normal));
  const fallen = seen.filter(({ isOther, now, normal }) => isOther && RISEN_TIMES * now < normal);
  return !isMore && rss(fallen.map(({ now, normal }) => normal - now)) >= MOVED_SHARE * rise;
}

/** Directions that the site file does not state may be any. */
const across = (look: Look) => (look.hasAxes ? look.axes.filter(isRadial) : look.axes);
const along = (look: Look) => (look.hasAxes ? look.axes.filter((axis) => !isRadial(axis)) : []);

/** Whether 1x across the shaft dominates what rose, so that an unbalance is named whatever rose with it (ISO 13373-3). */
export function isDominant(look: Look): boolean {
  const best = strongest(across(look).map((axis) => risen(look, axis, 1)));
  const { limits, thresholds } = look;
  // What was seen before 1x grew so strong is the cause: a structure may amplify its 1x.
  if (["looseness", "misalignment"].some((key) => look.fullRpm(key) !== null)) return false;
  if (!isLearned(look) || best === null || at(best.line) < limits[2] * thresholds.level)
    return false;
  const normal = look.normalOf(best.axis.channel, 1) ?? 0;
  if (normal <= 0 || at(best.line) < DOMINANT_TIMES * normal) return false;
  const rises = (orders: readonly number[]) =>
    rss(look.axes.flatMap((axis) => orders.map((order) => risen(look, axis, order).rise)));
  return rises([1]) ** 2 >= DOMINANT_POWER * rises(ORDERS) ** 2;
}

export function unbalance(look: Look): Verdict | "either" | null {
  const firsts = across(look).map((axis) => risen(look, axis, 1));
  const best = strongest(firsts);
  const limit = limitOf(look, "unbalance");
  if (best === null || best.line === null || best.line.amplitude < limit) return null;
  const { axis, line, rise } = best;
  // What speaks against it counts from the first: 2x of a misalignment may be slower to rise.
  const second = at(risen(look, axis, 2).line) - (look.normalOf(axis.channel, 2) ?? 0);
  const axial = along(look).map((other) => risen(look, other, 1).rise);
  const others = rss(OTHER_ORDERS.map((order) => risen(look, axis, order).rise));
  // A direction in which 2x rose with 1x is a misalignment's, whichever it is, unless the unbalance stood before.
  const mayBePaired = isLearned(look) && !look.isHeld("unbalance");
  const alongRise = look.hasAxes
    ? Math.max(0, ...axial)
    : Math.min(...firsts.map((one) => one.rise));
  const isAcross = alongRise < ACROSS_SHARE * rise;
  const pairedFrom = isAcross ? UNBALANCE_SECOND_ACROSS : UNBALANCE_SECOND_FIRST;
  const share = mayBePaired ? pairedFrom : UNBALANCE_SECOND;
  const isPaired = look.axes.some((other) => {
    const [first, pair] = [risen(look, other, 1).rise, risen(look, other, 2).rise];
    return pair > share * first && pair >= MISALIGNED_AXIAL * share * rise;
  });
  const isMost = isLearned(look)
    ? rise >= others
    : line.amplitude >= UNBALANCE_SHARE * (axis.velocityRms ?? Number.POSITIVE_INFINITY);
  if (!isMost || Math.max(0, ...axial) > UNBALANCE_AXIAL * rise) return null;
  if (isMoved(look, best, 1)) return null;
  if (((mayBePaired && isPaired) || second > share * rise) && !isDominant(look))
    return mayBePaired ? "either" : null;
  const level = line.amplitude;
  const stage = stageOf(level, look.limits[1], look.limits[2]);
  const lines = present([line, ...firsts.map((other) => other.line).filter((one) => one !== line)]);
  return shaftVerdict(look, "unbalance", level, limit, stage, lines);
}

/** Whether 2x rose too: alone, an unbalance raises none. */
export function hasSecond(look: Look): boolean {
  return isLearned(look) && look.axes.some((axis) => risen(look, axis, 2).rise > 0);
}

/** Not for machines of two blades: their 2x is blade pass. */
export function misalignment(look: Look): Verdict | null {
  if (look.machine.blades === 2) return null;
  const limit = limitOf(look, "misalignment");
  const pair = (axis: AxisLook) => [risen(look, axis, 1), risen(look, axis, 2)] as const;
  const radial = across(look)
    .map(pair)
    .toSorted((a, b) => b[1].rise - a[1].rise)[0];
  const axial = along(look).map(pair)[0];
  const isParallel =
    radial !== undefined &&
    radial[1].rise > 0 &&
    at(radial[1].line) >= limit &&
    radial[1].rise >= MISALIGNED_SECOND * radial[0].rise &&
    !isMoved(look, radial[1], 2);
  const axialLevel = axial === undefined ? 0 : Math.hypot(at(axial[0].line), at(axial[1].line));
  const axialRise = axial === undefined ? 0 : Math.hypot(axial[0].rise, axial[1].rise);
  const mostAcross = Math.max(0, ...across(look).map((axis) => risen(look, axis, 1).rise));
  const isAngular =
    axial !== undefined &&
    axialRise > 0 &&
    axialLevel >= limit &&
    axial[1].rise >= MISALIGNED_AXIAL_SECOND * axial[0].rise &&
    axialRise >= MISALIGNED_AXIAL * mostAcross &&
    !isMoved(look, axial[1], 2);
  if (!isParallel && !isAngular) return null;
  const level = Math.max(isParallel ? at(radial[1].line) : 0, isAngular ? axialLevel : 0);
  const stage = stageOf(level, look.limits[1], look.limits[2]);
  const lines = present([...(radial ?? []), ...(axial ?? [])].map(({ line }) => line));
  return shaftVerdict(look, "misalignment", level, limit, stage, lines);
}

/**
 * 1x that rose along the shaft far more than across it: a bent shaft, or an angular misalignment whose 2x is weak. Which,
 * one point cannot tell.
 */
export function isAxialFirst(look: Look): boolean {
  const axial = strongest(along(look).map((axis) => risen(look, axis, 1)));
  const across1x = across(look).map((axis) => risen(look, axis, 1).rise);
  return (
    axial !== null &&
    isLearned(look) &&
    at(axial.line) >= limitOf(look, "unbalance") &&
    axial.rise > UNBALANCE_AXIAL * Math.max(0, ...across1x)
  );
}

/** Orders that are not those of blades, teeth or mains. */
export const ofShaft = (
  look: Look,
  orders: readonly number[],
  isMachinesOwn: (hz: number) => boolean,
) => orders.filter((order) => !isMachinesOwn(order * look.shaftHz));

/** Orders that rose to the level of a fault, each in the direction in which it rose most, the strongest first. */
export function mostRisen(look: Look): EvidenceLine[] {
  const limit = limitOf(look, "unbalance");
  const lines = ORDERS.flatMap((order) => {
    const found = look.axes.map((axis) => risen(look, axis, order));
    return strongest(found.filter(({ line }) => at(line) >= limit))?.line ?? [];
  });
  return lines.toSorted((a, b) => b.amplitude - a.amplitude);
}

/** Fewer than this in a turn are the shaft's own. */
const LOBES_MIN = 3;

/**
 * Whether what repeats so often in a turn (blades, lobes of a compressor, teeth) has this line: its double stands out of the
 * orders between the two. On the axis of the line.
 */
export function isOfLobes(look: Look, { channel, name }: EvidenceLine): boolean {
  const order = Number.parseFloat(name);
  const axis = look.axes.find((one) => one.channel === channel);
  if (axis === undefined || order < LOBES_MIN || !Number.isInteger(order)) return false;
  const of = (at_: number) => at(risen(look, axis, at_).line);
  const double = of(2 * order);
  const between = Array.from({ length: order - 1 }, (_, i) => of(order + 1 + i));
  return double > 0 && between.every((mmPerS) => mmPerS < double);
}
