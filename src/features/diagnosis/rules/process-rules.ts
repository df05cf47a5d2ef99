/**
 * Faults with their own frequency: blades (ISO 13373-3:2015), gears (Randall 2011, ch. 2), mains (ISO 13373-9:2017,
 * electric motors).
 */

import type {
  EvidenceLine,
  FindingKind,
  SideBand,
  Verdict,
} from "../../../core/diagnosis/finding.ts";
import type { Machine } from "../../../core/machine.ts";
import { strongestIn, type ToneList } from "../../../pipeline/signal/tones.ts";
import {
  type AxisLook,
  forceLimit,
  heldLimit,
  highOrderReach,
  isLearned,
  type Look,
  levelOf,
  RISEN_TIMES,
  rss,
  stageOf,
  toneNear,
  velocityLine,
  velocityOf,
} from "./look.ts";

/** Required level, share of the limit B/C. */
const BLADE_SHARE = 0.5;
const GEAR_SHARE = 0.35;
const MAINS_SHARE = 0.5;
/** Share of the overall velocity that blade pass carries. */
const BLADE_OVERALL = 0.5;
const GEAR_SIDE_BANDS = 2;
/** Side bands together, as a share of the line at the mesh, from which their rise alone says that the gear is damaged. */
const GEAR_BANDS_SHARE = 0.4;
/** Every pump and gear has these lines: what they must reach, as times of that, before the machine was learned. */
const UNLEARNED_TIMES = 2;
/** Variation of the mains frequency, Hz at twice the frequency, and lines by which its tone may be off. */
const MAINS_WANDER_HZ = 0.2;
const MAINS_LINES = 0.6;
/**
 * A multiple of the shaft frequency closer than this, in lines, cannot be distinguished from twice the mains frequency.
 */
const MAINS_APART = 0.75;
/** Closer than this, only a line exactly at twice the mains frequency is accepted. */
const MAINS_CLEAR = 1.5;
/** How exactly it must be there, in lines: the top of a Hann lobe is found more precisely than that. */
const MAINS_EXACT = 0.2;

/** Multiples of the shaft frequency at which blades and teeth have their first line, and the finding that it may become. */
export function processOrders({ blades, teeth = [] }: Machine): [FindingKind, number][] {
  const meshes = teeth.map((order): [FindingKind, number] => ["gear_mesh", order]);
  return blades === undefined ? meshes : [["blade_pass", blades], ...meshes];
}

/** Every pump has a line of its blades, every gear one of its mesh: one that stood when the machine was learned is normal. */
function hasRisen(look: Look, key: string, order: number, line: EvidenceLine): boolean {
  const normal = look.normalOf(line.channel, order) ?? 0;
  return line.amplitude >= heldLimit(look, key, RISEN_TIMES) * normal;
}

/** Under which the level of a mesh's side bands is kept of the normal state, beside its line. */
export const bandsOrder = (teeth: number) => -teeth;

/**
 * Damage to teeth raises the side bands more than the line of the mesh, which every gear has. Where none was learned (a state
 * of earlier versions has none), nothing says what is normal.
 */
function haveBandsRisen(
  look: Look,
  teeth: number,
  { channel, amplitude, sideBands }: EvidenceLine,
) {
  const normal = look.normalOf(channel, bandsOrder(teeth)) ?? 0;
  const hold = heldLimit(look, "gear_mesh", 1);
  const least = hold * Math.max(RISEN_TIMES * normal, GEAR_BANDS_SHARE * amplitude);
  return normal > 0 && rss(sideBands.map((band) => band.amplitude)) >= least;
}

/** What was learned, and rose, but is below the level by less than this is worth a word: a share of that level. */
const BELOW_SHARE = 1 / 3;

/** A line that rose as damage makes it, and does not reach the level from which that is named. */
export interface Below {
  readonly line: EvidenceLine;
  /** With its harmonics; both mm/s RMS. */
  readonly level: number;
  readonly limit: number;
  /** Of the line and, of a mesh, of its side bands, mm/s RMS. */
  readonly normal: number;
  readonly normalBands: number;
}

interface ProcessResult {
  readonly verdict: Verdict | null;
  readonly below: Below | null;
}

/** The stronger of what was found below the level and this, where it rose from something and is worth a word. */
function strongerBelow(
  look: Look,
  best: Below | null,
  order: number,
  found: Pick<Below, "line" | "level" | "limit">,
): Below | null {
  const { line, level, limit } = found;
  const normal = look.normalOf(line.channel, order) ?? 0;
  if (normal <= 0 || level < BELOW_SHARE * limit || level <= (best?.level ?? 0)) return best;
  return { ...found, normal, normalBands: look.normalOf(line.channel, bandsOrder(order)) ?? 0 };
}

function processLevel(look: Look): number {
  return look.limits[1] * look.thresholds.level * (isLearned(look) ? 1 : UNLEARNED_TIMES);
}

function isMains({ machine: { lineHz } }: Look, { accel }: AxisLook, hz: number): boolean {
  return lineHz !== undefined && Math.abs(hz - 2 * lineHz) <= mainsReach(accel);
}

const mainsReach = ({ resolutionHz }: ToneList) => MAINS_LINES * resolutionHz + MAINS_WANDER_HZ;

export function processLine(
  look: Look,
  axis: AxisLook,
  order: number,
  name: string,
): EvidenceLine | null {
  // At the measured speed too: an error of what was taken for 1x counts many times here.
  for (const shaftHz of [look.shaftHz, look.measuredHz]) {
    const hz = order * shaftHz;
    const reach = highOrderReach(look, axis.accel, order, hz);
    const tone = strongestIn(axis.accel, hz - reach, hz + reach, (at) => isMains(look, axis, at));
    if (tone !== null && tone.ratio >= look.thresholds.supportRatio) {
      return velocityLine(look, axis, name, tone);
    }
  }
  return null;
}

/** Not if blade pass is at twice the mains frequency. */
export function bladePass(look: Look): ProcessResult {
  const { blades } = look.machine;
  if (blades === undefined) return { verdict: null, below: null };
  const limit = forceLimit(look, "blade_pass", BLADE_SHARE * processLevel(look));
  let best: Verdict | null = null;
  let below: Below | null = null;
  for (const axis of look.axes) {
    const first = processLine(look, axis, blades, `${blades}x`);
    if (first === null || first.ratio < look.thresholds.mainRatio) continue;
    if (!hasRisen(look, "blade_pass", blades, first)) continue;
    const second = processLine(look, axis, 2 * blades, `${2 * blades}x`);
    const lines = second === null ? [first] : [first, second];
    const level = levelOf(lines);
    const isDominant = level >= BLADE_OVERALL * (axis.velocityRms ?? Number.POSITIVE_INFINITY);
    if (!isDominant) continue;
    if (level < limit) below = strongerBelow(look, below, blades, { line: first, level, limit });
    if (level < limit || level <= (best?.level ?? 0)) continue;
    const stage = stageOf(level, look.limits[1], look.limits[2]);
    best = { finding: "blade_pass", bearing: null, stage, level, unit: "mm/s", limit, lines };
  }
  return { verdict: best, below };
}

/** The wheel on the measured shaft is not known: each is tried, and side bands decide. */
export function gearMesh(look: Look): ProcessResult {
  const teeth = look.machine.teeth ?? [];
  const limit = heldLimit(look, "gear_mesh", GEAR_SHARE * processLevel(look));
  let best: Verdict | null = null;
  let below: Below | null = null;
  for (const own of teeth) {
    for (const axis of look.axes) {
      const mesh = meshLine(look, axis, own);
      if (mesh === null || Math.round(mesh.order) !== own) continue;
      if (mesh.ratio < look.thresholds.mainRatio) continue;
      if (!hasRisen(look, "gear_mesh", own, mesh) && !haveBandsRisen(look, own, mesh)) continue;
      if (mesh.sideBands.length < GEAR_SIDE_BANDS) continue;
      const lines = [mesh, ...[2, 3].flatMap((n) => meshLine(look, axis, own, n) ?? [])];
      const level = levelOf(lines);
      if (level < limit) below = strongerBelow(look, below, own, { line: mesh, level, limit });
      if (level < limit || level <= (best?.level ?? 0)) continue;
      const stage = stageOf(level, 2 * limit, look.limits[1]);
      best = { finding: "gear_mesh", bearing: null, stage, level, unit: "mm/s", limit, lines };
    }
  }
  return { verdict: best, below };
}

/** The n-th harmonic of a mesh, with its side bands. */
export function meshLine(look: Look, axis: AxisLook, own: number, n = 1): EvidenceLine | null {
  const others = (look.machine.teeth ?? []).filter((other) => other !== own);
  const spacings = [1, ...others.map((other) => own / other)];
  const line = processLine(look, axis, n * own, n === 1 ? `${own}x (mesh)` : `${n} × mesh`);
  return line && { ...line, sideBands: gearBands(look, axis, line.hz, line.amplitude, spacings) };
}

function gearBands(
  look: Look,
  { accel }: AxisLook,
  meshHz: number,
  amplitude: number,
  spacings: readonly number[],
): SideBand[] {
  const bands: SideBand[] = [];
  for (const spacing of spacings) {
    for (const m of [-2, -1, 1, 2]) {
      const hz = meshHz + m * spacing * look.shaftHz;
      const apart = Math.abs(hz - meshHz);
      // Closer to the mesh line, it would be part of that line's main lobe.
      if (apart < 3 * accel.resolutionHz) continue;
      const tone = toneNear(accel, hz, 0.75 * accel.resolutionHz);
      if (tone === null || velocityOf(tone) >= amplitude) continue;
      if (bands.some((band) => Math.abs(band.hz - tone.hz) < accel.resolutionHz)) continue;
      bands.push({ hz: tone.hz, order: tone.hz / look.shaftHz, amplitude: velocityOf(tone) });
    }
  }
  return bands;
}

/** A line at twice the mains frequency, and whether a multiple of the shaft frequency is too close to distinguish. */
export function electrical(look: Look): { verdict: Verdict | null; isTooClose: boolean } {
  const { lineHz } = look.machine;
  if (lineHz === undefined) return { verdict: null, isTooClose: false };
  const hz = 2 * lineHz;
  const limit = heldLimit(look, "electrical", MAINS_SHARE * look.limits[1] * look.thresholds.level);
  const apart = orderDistance(look, hz);
  let best: Verdict | null = null;
  let isTooClose = apart < MAINS_APART;
  for (const own of look.axes) {
    const { resolutionHz } = own.accel;
    const tone = toneNear(own.accel, hz, mainsReach(own.accel));
    if (tone === null || tone.ratio < look.thresholds.mainRatio) continue;
    const line = velocityLine(look, own, "2 × line", tone);
    if (line.amplitude < limit) continue;
    const isExact = Math.abs(tone.hz - hz) <= MAINS_EXACT * resolutionHz + MAINS_WANDER_HZ / 2;
    if (apart < MAINS_CLEAR && !isExact) isTooClose = true;
    if (line.amplitude <= (best?.level ?? 0)) continue;
    const level = line.amplitude;
    const stage = stageOf(level, look.limits[1], look.limits[2]);
    const place = { finding: "electrical" as const, bearing: null, unit: "mm/s" as const };
    best = { ...place, stage, level, limit, lines: [line] };
  }
  return { verdict: isTooClose ? null : best, isTooClose };
}

/**
 * Lines between a frequency and the nearest multiple of the shaft frequency: the smaller of the distances by the
 * measured and the refined speed.
 */
function orderDistance({ shaftHz, measuredHz, axes }: Look, hz: number): number {
  const resolutionHz = axes[0]?.accel.resolutionHz ?? Number.POSITIVE_INFINITY;
  const apart = (of: number) => Math.abs(hz - Math.max(1, Math.round(hz / of)) * of) / resolutionHz;
  return Math.min(apart(shaftHz), apart(measuredHz));
}
