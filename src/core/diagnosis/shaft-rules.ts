/**
 * Faults of the shaft: unbalance, misalignment, looseness (ISO 13373-3:2015 annexes; Technical Associates' diagnostic chart).
 * Each needs both a level (of the machine's zone limits) and the pattern.
 */
import type { EvidenceLine, Verdict } from "./finding.ts";
import {
  type AxisLook,
  forceLimit,
  isRadial,
  type Look,
  levelOf,
  middleOfB,
  orderLine,
  stageOf,
} from "./look.ts";

/** Share of the overall velocity that 1x carries, at least. */
const UNBALANCE_SHARE = 0.8;
/** 2x over 1x, and axial over radial 1x, at most. */
const UNBALANCE_SECOND = 0.5;
const UNBALANCE_AXIAL = 0.6;
/** The weaker radial direction over the stronger, at least: less is a resonance or a soft support. */
const UNBALANCE_OTHER = 0.2;
/** 2x over 1x above which parallel misalignment is likely. */
const MISALIGNED_SECOND = 0.75;
/**
 * Axial over radial above which angular misalignment is likely; axial 2x over 1x, which distinguishes it from a bent
 * shaft.
 */
const MISALIGNED_AXIAL = 0.5;
const MISALIGNED_AXIAL_SECOND = 0.3;
const HALF_ORDERS = [0.5, 1.5, 2.5, 3.5] as const;
const WHOLE_ORDERS = [3, 4, 5, 6, 7, 8, 9, 10] as const;
/** Lines of looseness: this many half and whole orders, or this many whole orders alone. */
const LOOSE_HALVES = 2;
const LOOSE_WHOLES = 2;
const LOOSE_WHOLES_ALONE = 5;
/** A line below this share of the pattern is not part of it. */
const LOOSE_LINE_SHARE = 0.08;

const at = (line: EvidenceLine | null): number => line?.amplitude ?? 0;

function strongest(lines: readonly (EvidenceLine | null)[]): EvidenceLine | null {
  let best: EvidenceLine | null = null;
  for (const line of lines) if (at(line) > at(best)) best = line;
  return best;
}

const present = (lines: readonly (EvidenceLine | null)[]): EvidenceLine[] =>
  lines.filter((line) => line !== null);

export function unbalance(look: Look): Verdict | null {
  const radial = look.axes.filter(isRadial);
  const firsts = radial.map((axis) => orderLine(look, axis, 1));
  const best = strongest(firsts);
  const axis = look.axes.find(({ channel }) => channel === best?.channel);
  const limit = forceLimit(look, "unbalance", middleOfB(look));
  if (best === null || axis === undefined || best.amplitude < limit) return null;
  const second = at(orderLine(look, axis, 2));
  const axial = look.axes.filter((other) => !isRadial(other));
  const along = Math.max(0, ...axial.map((other) => at(orderLine(look, other, 1))));
  const others = firsts.filter((line) => line !== best);
  const isPattern =
    best.amplitude >= UNBALANCE_SHARE * (axis.velocityRms ?? Number.POSITIVE_INFINITY) &&
    second <= UNBALANCE_SECOND * best.amplitude &&
    along <= UNBALANCE_AXIAL * best.amplitude &&
    (others.length === 0 || others.some((line) => at(line) >= UNBALANCE_OTHER * best.amplitude));
  if (!isPattern) return null;
  return {
    finding: "unbalance",
    bearing: null,
    stage: stageOf(best.amplitude, look.limits[1], look.limits[2]),
    level: best.amplitude,
    unit: "mm/s",
    limit,
    lines: present([best, ...others]),
  };
}

/** Not for machines of two blades: their 2x is blade pass. */
export function misalignment(look: Look): Verdict | null {
  if (look.machine.blades === 2) return null;
  const limit = forceLimit(look, "misalignment", middleOfB(look));
  const radial = look.axes.filter(isRadial);
  const pair = (axis: AxisLook) => [orderLine(look, axis, 1), orderLine(look, axis, 2)] as const;
  const across = radial.map(pair).toSorted((a, b) => at(b[1]) - at(a[1]))[0];
  const along = look.axes.filter((axis) => !isRadial(axis)).map(pair)[0];
  const [first, second] = across ?? [null, null];
  const [axialFirst, axialSecond] = along ?? [null, null];
  const isParallel = at(second) >= limit && at(second) >= MISALIGNED_SECOND * at(first);
  const axial = Math.hypot(at(axialFirst), at(axialSecond));
  const isAngular =
    axial >= limit &&
    at(axialSecond) >= MISALIGNED_AXIAL_SECOND * at(axialFirst) &&
    axial >= MISALIGNED_AXIAL * Math.max(...radial.map((axis) => at(orderLine(look, axis, 1))), 0);
  if (!isParallel && !isAngular) return null;
  const level = Math.max(isParallel ? at(second) : 0, isAngular ? axial : 0);
  return {
    finding: "misalignment",
    bearing: null,
    stage: stageOf(level, look.limits[1], look.limits[2]),
    level,
    unit: "mm/s",
    limit,
    lines: present([first, second, axialFirst, axialSecond]),
  };
}

export function looseness(look: Look, isMachinesOwn: (hz: number) => boolean): Verdict | null {
  const middle = middleOfB(look);
  const limit = forceLimit(look, "looseness", 0.5 * middle);
  let best: Verdict | null = null;
  for (const axis of look.axes) {
    const all = (orders: readonly number[]) =>
      present(orders.map((order) => orderLine(look, axis, order))).filter(
        ({ hz }) => !isMachinesOwn(hz),
      );
    const lines = [...all(HALF_ORDERS), ...all(WHOLE_ORDERS)];
    const least = LOOSE_LINE_SHARE * levelOf(lines);
    const counted = lines.filter(({ amplitude }) => amplitude >= least);
    const halves = counted.filter(({ name }) => name.includes(".5")).length;
    const wholes = counted.length - halves;
    const isPattern =
      (halves >= LOOSE_HALVES && wholes >= LOOSE_WHOLES) || wholes >= LOOSE_WHOLES_ALONE;
    const level = levelOf(counted);
    if (!isPattern || level < limit || level <= (best?.level ?? 0)) continue;
    const stage = stageOf(level, middle, look.limits[1]);
    const place = { finding: "looseness" as const, bearing: null, unit: "mm/s" as const };
    best = { ...place, stage, level, limit, lines: counted };
  }
  return best;
}
