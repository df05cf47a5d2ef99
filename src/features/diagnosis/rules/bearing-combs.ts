/** Lines that another part of the bearing explains: side bands, and harmonics of the cage. */
import type { Tone, ToneList } from "../../../pipeline/signal/tones.ts";
import type { Family, FamilySearch, FamilySource } from "./bearing-families.ts";
import type { BearingFault } from "./bearing-fault.ts";
import { type Look, toneNear } from "./look.ts";

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
export const CAGE_LINES = 3;
const CAGE_SHARE = 0.5;
/**
 * The load on a damaged element changes with the rotation of the cage, which causes few harmonics; impacts of the
 * cage itself have harmonics from this one on.
 */
export const CAGE_OWN_HARMONIC = 4;

/** A line of an inner race that an outer race's, some turns of the shaft below, surpasses is a side band of that. */
export function isOfOuter(
  { look: { shaftHz, thresholds }, source: { list }, fault }: FamilySearch,
  { lines }: Family,
  bpfo: number | null,
): boolean {
  const [line] = lines;
  if (fault.finding !== "bearing_inner_race" || bpfo === null || line === undefined) return false;
  const own = toneNear(list, line.hz, 0.5 * list.resolutionHz);
  const reach = thresholds.slip * bpfo * shaftHz + list.resolutionHz;
  return Array.from({ length: COMB_REACH }, (_, i) => line.hz - (i + 1) * shaftHz).some((hz) => {
    if (Math.abs(hz - bpfo * shaftHz) > reach) return false;
    const tone = toneNear(list, hz, list.resolutionHz);
    return tone !== null && own !== null && tone.amplitude > own.amplitude;
  });
}

/**
 * BPFI and BPFO add up to the number of elements, so a side band of one may coincide with the other, or with 2 × BSF.
 * Neither an outer race nor an element has more than weak side bands at shaft spacing.
 */
export function isOfComb(
  { look: { shaftHz, thresholds }, source: { list, levelOf }, fault: { finding } }: FamilySearch,
  { lines }: Family,
  bpfi: number | null,
): boolean {
  const share = finding === "rolling_element" ? ELEMENT_COMB_SHARE : COMB_SHARE;
  const [line] = lines;
  if (line === undefined) return false;
  const isMiddle = (turns: number) => {
    const tone = toneNear(list, line.hz + turns * shaftHz, list.resolutionHz);
    if (tone === null || levelOf(tone) < COMB_MIDDLE_SHARE * line.amplitude) return false;
    const bpfiHz = (bpfi ?? 0) * shaftHz;
    return (
      bpfi === null || Math.abs(tone.hz - bpfiHz) <= thresholds.slip * bpfiHz + list.resolutionHz
    );
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
export function isOfCage(
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
export function cageLines(
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
