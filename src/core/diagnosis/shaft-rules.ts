/**
 * Faults of the shaft: unbalance, misalignment, looseness (ISO 13373-3:2015 annexes; Technical Associates' diagnostic chart).
 * Each needs a level (of the machine's zone limits) and the pattern. Where the machine's normal state is known, both are
 * asked of what rose above it; where it is not, of the whole in zone C or worse, and then the finding stays in stage 1.
 */
import type { EvidenceLine, FindingKind, Stage, Verdict } from "./finding.ts";
import {
  type AxisLook,
  forceLimit,
  isLearned,
  isRadial,
  type Look,
  levelOf,
  middleOfB,
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
/** Axial over radial 1x, at most: rigs show up to 2.1. */
const UNBALANCE_AXIAL = 3;
/** 2x over 1x above which parallel misalignment is likely. */
const MISALIGNED_SECOND = 0.75;
/**
 * Axial over radial above which angular misalignment is likely; axial 2x over 1x, which distinguishes it from a bent
 * shaft and from an unbalance.
 */
const MISALIGNED_AXIAL = 0.5;
const MISALIGNED_AXIAL_SECOND = 0.3;
/** Lines of looseness: this many half and whole orders, or this many whole orders alone. */
const LOOSE_HALVES = 2;
const LOOSE_WHOLES = 2;
const LOOSE_WHOLES_ALONE = 5;
/** A line below this share of the pattern is not part of it; the pattern below this share of 1x or 2x is none. */
const LOOSE_LINE_SHARE = 0.05;
const LOOSE_SHARE = 0.35;
/** What 2x rises by where the base is loose, at least: share of the middle of zone B. */
const BASE_RISE = 0.25;
/** Of the level of a loose base: from here on it is said that 2x may be one, since it is seldom named. */
const BASE_WORD_SHARE = 0.6;
/** Of the rise of 2x: what 2x along the shaft, and any order from 3x on, may have risen by where the base is loose; and what these together must have fallen by. */
const BASE_AXIAL_SHARE = 0.25;
const BASE_OTHERS_SHARE = 0.08;
/** The other orders fell if they lost this share of their normal level: of the highest that was normal, a sixth is usual. */
const FALLEN_MIN = 0.35;

const at = (line: EvidenceLine | null): number => line?.amplitude ?? 0;

const present = (lines: readonly (EvidenceLine | null)[]): EvidenceLine[] =>
  lines.filter((line) => line !== null);

/** The level that a fault must reach, and the stage of one. */
function limitOf(look: Look, finding: FindingKind): number {
  const level = isLearned(look) ? RISEN_LEVEL * middleOfB(look) : look.limits[1];
  return forceLimit(look, finding, level);
}

function shaftVerdict(
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

function strongest(found: readonly Risen[]): Risen | null {
  let best: Risen | null = null;
  for (const one of found) if (one.rise > (best?.rise ?? 0)) best = one;
  return best;
}

/** Directions that the site file does not state may be any. */
const across = (look: Look) => (look.hasAxes ? look.axes.filter(isRadial) : look.axes);
const along = (look: Look) => (look.hasAxes ? look.axes.filter((axis) => !isRadial(axis)) : []);

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
  const share = mayBePaired ? UNBALANCE_SECOND_FIRST : UNBALANCE_SECOND;
  const isPaired = look.axes.some((other) => {
    const [first, pair] = [risen(look, other, 1).rise, risen(look, other, 2).rise];
    return pair > share * first && pair >= MISALIGNED_AXIAL * share * rise;
  });
  const isMost = isLearned(look)
    ? rise >= others
    : line.amplitude >= UNBALANCE_SHARE * (axis.velocityRms ?? Number.POSITIVE_INFINITY);
  if (!isMost || Math.max(0, ...axial) > UNBALANCE_AXIAL * rise) return null;
  if ((mayBePaired && isPaired) || second > share * rise) return mayBePaired ? "either" : null;
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
    radial[1].rise >= MISALIGNED_SECOND * radial[0].rise;
  const axialLevel = axial === undefined ? 0 : Math.hypot(at(axial[0].line), at(axial[1].line));
  const axialRise = axial === undefined ? 0 : Math.hypot(axial[0].rise, axial[1].rise);
  const mostAcross = Math.max(0, ...across(look).map((axis) => risen(look, axis, 1).rise));
  const isAngular =
    axial !== undefined &&
    axialRise > 0 &&
    axialLevel >= limit &&
    axial[1].rise >= MISALIGNED_AXIAL_SECOND * axial[0].rise &&
    axialRise >= MISALIGNED_AXIAL * mostAcross;
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

/**
 * A base or foot that lifts: 2x rose across the shaft, hardly along it, and the higher and half orders fell. Where they only
 * did not rise, it may be a parallel misalignment, which raises 1x and 2x and not always more.
 */
export function looseBase(
  look: Look,
  isMachinesOwn: (hz: number) => boolean,
): Verdict | "either" | null {
  if (isMachinesOwn(2 * look.shaftHz)) return null;
  const seconds = look.axes.map((axis) => risen(look, axis, 2));
  const best = strongest(seconds.filter(({ axis }) => !look.hasAxes || isRadial(axis)));
  if (best === null || best.line === null) return null;
  const { axis, line, rise } = best;
  const limit = limitOf(look, "looseness");
  const first = risen(look, axis, 1);
  const lines = present([line, first.line]);
  const level = levelOf(lines);
  const least2x = BASE_RISE * middleOfB(look);
  if (rise < least2x || level < (isLearned(look) ? BASE_WORD_SHARE : 1) * limit) return null;
  if (rise < MISALIGNED_SECOND * first.rise) return null;
  const others = seconds.filter((one) => one !== best).map((one) => one.rise);
  const along2x = seconds.filter((one) => !isRadial(one.axis)).map((one) => one.rise);
  const alongRise = look.hasAxes ? Math.max(0, ...along2x) : Math.min(...others);
  if (alongRise > BASE_AXIAL_SHARE * rise) return null;
  // Without an axis along the shaft, nothing says that 2x did not rise there.
  if (!isLearned(look) || (look.hasAxes && along2x.length === 0)) return "either";
  const orders = ofShaft(look, OTHER_ORDERS, isMachinesOwn);
  const least = BASE_OTHERS_SHARE * rise;
  const all = look.axes.flatMap((one) => orders.map((order) => risen(look, one, order)));
  if (all.some((one) => one.rise > least)) return null;
  const normals = look.axes.flatMap(({ channel }) =>
    orders.map((order) => look.normalOf(channel, order) ?? 0),
  );
  const normal = rss(normals);
  const fall = normal - rss(all.map((one) => at(one.line)));
  const hasFallen = look.isSteady && fall >= FALLEN_MIN * normal && fall >= least;
  if (!hasFallen && !look.isHeld("looseness")) return "either";
  if (level < limit) return null;
  const stage = stageOf(level, middleOfB(look), look.limits[1]);
  return shaftVerdict(look, "looseness", level, limit, stage, lines);
}

const ofShaft = (look: Look, orders: readonly number[], isMachinesOwn: (hz: number) => boolean) =>
  orders.filter((order) => !isMachinesOwn(order * look.shaftHz));

/** What 2x rose by where it rose most, if that is as much as a loose base raises it by, mm/s RMS; otherwise null. */
export function secondRise(look: Look): number | null {
  const rise = strongest(look.axes.map((axis) => risen(look, axis, 2)))?.rise ?? 0;
  return isLearned(look) && rise >= BASE_RISE * middleOfB(look) ? rise : null;
}

/** Whether 2x rose, in whatever direction, and none of the higher and half orders: a loose base would show the same across the shaft. */
export function isSecondAlone(look: Look, isMachinesOwn: (hz: number) => boolean): boolean {
  const second = secondRise(look);
  if (second === null) return false;
  const orders = ofShaft(look, OTHER_ORDERS, isMachinesOwn);
  return look.axes.every((axis) =>
    orders.every((order) => risen(look, axis, order).rise <= BASE_OTHERS_SHARE * second),
  );
}

/**
 * Impacts of a loose part raise many orders at once. Which of them most, the structure decides, and each order is taken from the
 * direction in which it rose most.
 */
export function looseness(
  look: Look,
  isMachinesOwn: (hz: number) => boolean,
): Verdict | "either" | null {
  const middle = middleOfB(look);
  const limit = forceLimit(look, "looseness", (isLearned(look) ? 0.5 : 1) * middle);
  const most = (order: number) => strongest(look.axes.map((axis) => risen(look, axis, order)));
  const first = most(1);
  const pattern = present(OTHER_ORDERS.map((order) => most(order)?.line ?? null)).filter(
    ({ hz }) => !isMachinesOwn(hz),
  );
  const patternLevel = levelOf(pattern);
  const counted = pattern.filter(({ amplitude }) => amplitude >= LOOSE_LINE_SHARE * patternLevel);
  const halves = counted.filter(({ name }) => name.includes(".5")).length;
  const wholes = counted.length - halves;
  const isPattern =
    (halves >= LOOSE_HALVES && wholes >= LOOSE_WHOLES) || wholes >= LOOSE_WHOLES_ALONE;
  const second = isMachinesOwn(2 * look.shaftHz) ? null : most(2);
  const least = LOOSE_SHARE * Math.max(first?.rise ?? 0, second?.rise ?? 0);
  if (!isPattern) return null;
  if (patternLevel < least)
    return isLearned(look) && wholes >= LOOSE_WHOLES_ALONE ? "either" : null;
  // Before the machine was learned, 1x and 2x may always have stood like this.
  const lowest = isLearned(look) ? [first?.line ?? null, second?.line ?? null] : [];
  const lines = present([...lowest, ...counted]);
  const level = levelOf(lines);
  if (level < limit) return null;
  const stage = stageOf(level, middle, look.limits[1]);
  return shaftVerdict(look, "looseness", level, limit, stage, lines);
}

/** The order that rose to the level of a fault, and most; null: none did. */
export function mostRisen(look: Look, isMachinesOwn: (hz: number) => boolean): EvidenceLine | null {
  const limit = limitOf(look, "unbalance");
  const orders = ofShaft(look, ORDERS, isMachinesOwn);
  const all = look.axes.flatMap((axis) => orders.map((order) => risen(look, axis, order)));
  return strongest(all.filter(({ line }) => at(line) >= limit))?.line ?? null;
}
