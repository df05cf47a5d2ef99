/** A loose base and a loose part, and what else their lines may be. */
import type { EvidenceLine, Verdict } from "../../../core/diagnosis/finding.ts";
import {
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
import { OTHER_ORDERS } from "./reference.ts";
import {
  at,
  isOfLobes,
  limitOf,
  MISALIGNED_SECOND,
  ofShaft,
  present,
  shaftVerdict,
  strongest,
} from "./shaft-rules.ts";

/** A misalignment raises 1x to 3x first: this many whole orders from this one on may be a looseness. */
const MANY_ABOVE = 3;
const ABOVE_FROM = 4;
/** Lines of looseness: this many half and whole orders, or this many whole orders alone. */
const LOOSE_HALVES = 2;
const LOOSE_WHOLES = 2;
const LOOSE_WHOLES_ALONE = 5;
/**
 * Shares of the pattern without its strongest line, which a resonance may raise: a line below the first is not part of it, and
 * what is below the second of 1x or 2x is no pattern.
 */
const LOOSE_LINE_SHARE = 0.1;
const LOOSE_SHARE = 0.35;
/** What 2x rises by where the base is loose, at least: share of the middle of zone B. */
const BASE_RISE = 0.25;
/** Of the level of a loose base: from here on it is said that 2x may be one, since it is seldom named. */
const BASE_WORD_SHARE = 0.6;
/** Of the rise of 2x: what 2x along the shaft, and any order from 3x on, may have risen by where the base is loose; and what these together must have fallen by. */
const BASE_AXIAL_SHARE = 0.25;
/** Up to this it may be a misalignment too: a parallel one has little along the shaft, an angular one half or more. */
const BASE_AXIAL_MOST = 0.4;
const BASE_OTHERS_SHARE = 0.08;
/** The other orders fell if they lost this share of their normal level: of the highest that was normal, a sixth is usual. */
const FALLEN_MIN = 0.35;

/** An order in the direction in which it rose most; null: it rose in none. */
const most = (look: Look, order: number): Risen | null =>
  strongest(look.axes.map((axis) => risen(look, axis, order)));

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
  if (alongRise > BASE_AXIAL_MOST * rise) return null;
  // Without an axis along the shaft, nothing says that 2x did not rise there.
  if (!isLearned(look) || (look.hasAxes && along2x.length === 0)) return "either";
  const orders = ofShaft(look, OTHER_ORDERS, isMachinesOwn);
  const least = BASE_OTHERS_SHARE * rise;
  const all = look.axes.flatMap((one) => orders.map((order) => risen(look, one, order)));
  if (hasAbove(look, isMachinesOwn, least)) return null;
  const normals = look.axes.flatMap(({ channel }) =>
    orders.map((order) => look.normalOf(channel, order) ?? 0),
  );
  const normal = rss(normals);
  const fall = normal - rss(all.map((one) => at(one.line)));
  const isAcross = alongRise <= BASE_AXIAL_SHARE * rise;
  const hasFallen = isAcross && look.isSteady && fall >= FALLEN_MIN * normal && fall >= least;
  if (!hasFallen && !look.isHeld("looseness")) return "either";
  if (level < limit) return null;
  const stage = stageOf(level, middleOfB(look), look.limits[1]);
  return shaftVerdict(look, "looseness", level, limit, stage, lines);
}

/** What 2x rose by where it rose most, if that is as much as a loose base raises it by, mm/s RMS; otherwise null. */
export function secondRise(look: Look): number | null {
  const rise = most(look, 2)?.rise ?? 0;
  return isLearned(look) && rise >= BASE_RISE * middleOfB(look) ? rise : null;
}

/** Whether 2x rose, in whatever direction, and none of the higher orders: a loose base would show the same across the shaft. */
export function isSecondAlone(look: Look, isMachinesOwn: (hz: number) => boolean): boolean {
  const second = secondRise(look);
  if (second === null) return false;
  return !hasAbove(look, isMachinesOwn, BASE_OTHERS_SHARE * second);
}

/** Whether a whole order from 3x on rose by more than that, as with a misalignment; half orders are a looseness's. */
function hasAbove(look: Look, isMachinesOwn: (hz: number) => boolean, least: number): boolean {
  const orders = ofShaft(look, OTHER_ORDERS, isMachinesOwn).filter(Number.isInteger);
  return look.axes.some((axis) => orders.some((order) => risen(look, axis, order).rise > least));
}

/**
 * Impacts of a loose part raise many orders at once. Which of them most, the structure decides, and each order is taken from the
 * direction in which it rose most.
 */
export function looseness(
  look: Look,
  isMachinesOwn: (hz: number) => boolean,
): Verdict | "either" | "one line" | null {
  const middle = middleOfB(look);
  const limit = forceLimit(look, "looseness", (isLearned(look) ? 0.5 : 1) * middle);
  const first = most(look, 1);
  const pattern = present(OTHER_ORDERS.map((order) => most(look, order)?.line ?? null)).filter(
    ({ hz }) => !isMachinesOwn(hz),
  );
  const patternLevel = levelOf(pattern);
  const strongestLine = Math.max(0, ...pattern.map(at));
  if (isLobes(look, pattern)) return null;
  const withoutStrongest = Math.sqrt(Math.max(0, patternLevel ** 2 - strongestLine ** 2));
  const leastLine = LOOSE_LINE_SHARE * withoutStrongest;
  const counted = pattern.filter(({ amplitude }) => amplitude >= leastLine);
  const halves = counted.filter(({ name }) => name.includes(".5")).length;
  const wholes = counted.length - halves;
  const isPattern =
    (halves >= LOOSE_HALVES && wholes >= LOOSE_WHOLES) || wholes >= LOOSE_WHOLES_ALONE;
  const second = isMachinesOwn(2 * look.shaftHz) ? null : most(look, 2);
  const least = LOOSE_SHARE * Math.max(first?.rise ?? 0, second?.rise ?? 0);
  if (!isPattern) return null;
  // With its strongest line alone, it may be a resonance that answers to 1x.
  const isOneLine = withoutStrongest < least && patternLevel >= least;
  if (withoutStrongest < least && !isOneLine)
    return isLearned(look) && wholes >= LOOSE_WHOLES_ALONE ? "either" : null;
  // Before the machine was learned, 1x and 2x may always have stood like this.
  const lowest = isLearned(look) ? [first?.line ?? null, second?.line ?? null] : [];
  const lines = present([...lowest, ...counted]);
  const level = levelOf(lines);
  if (level < limit) return null;
  if (isOneLine) return "one line";
  const stage = stageOf(level, middle, look.limits[1]);
  return shaftVerdict(look, "looseness", level, limit, stage, lines);
}

/** Share of a pattern's power that multiples of one order carry where they are those of lobes or blades. */
const LOBES_POWER = 0.9;

/** Whether a pattern is that of something that passes several times in a turn: a looseness raises the orders between, too. */
function isLobes(look: Look, pattern: readonly EvidenceLine[]): boolean {
  const [strongestLine] = pattern.toSorted((a, b) => b.amplitude - a.amplitude);
  if (strongestLine === undefined || !isOfLobes(look, strongestLine)) return false;
  const count = Math.round(strongestLine.order);
  const multiples = pattern.filter(({ name }) => Number.parseFloat(name) % count === 0);
  return levelOf(multiples) ** 2 >= LOBES_POWER * levelOf(pattern) ** 2;
}

/** Whether several orders above those of a misalignment rose with 2x: too few or too weak for a looseness, and more than a misalignment raises at first. */
export function isManyAbove(look: Look, isMachinesOwn: (hz: number) => boolean): boolean {
  if (!isLearned(look)) return false;
  const second = most(look, 2)?.rise ?? 0;
  const orders = ofShaft(look, OTHER_ORDERS, isMachinesOwn).filter(
    (order) => order >= ABOVE_FROM && Number.isInteger(order),
  );
  const above = present(orders.map((order) => most(look, order)?.line ?? null));
  return above.length >= MANY_ABOVE && levelOf(above) >= LOOSE_SHARE * second;
}
