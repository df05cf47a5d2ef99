/**
 * Damage inside a record that its values do not show: samples that were lost and filled, flat tops below full scale, counts that
 * ran over (signal-definitions 2; plant 24 and 29). Steps are in jump.ts.
 */
import type { CountFacts } from "./statistics.ts";

/** Shortest run that counts; one that has a side alone is longer. */
const RUN_MIN = 8;
const RUN_ONE_SIDED_MIN = 32;
/** Runs this improbable, times the places where one may begin, are no chance. */
const CHANCES = 1e9;
const EQUAL_SHARE_MAX = 0.5;
const SIDE_STEPS = 6;

/** Greatest common divisor of the differences between the counts; 0 if all are equal. */
export function countStep(samples: Int16Array): number {
  const first = samples[0] ?? 0;
  let step = 0;
  for (let n = 1; n < samples.length && step !== 1; n++) {
    let a = Math.abs((samples[n] ?? 0) - first);
    while (a !== 0) [a, step] = [step % a, a];
  }
  return step;
}

/** Whether a run of equal counts stands in for samples that were lost. @param step see countStep */
export function hasLostSamples(samples: Int16Array, facts: CountFacts, step: number): boolean {
  const size = samples.length;
  const runs: [start: number, length: number][] = [];
  let equal = 0;
  let start = 0;
  for (let n = 1; n <= size; n++) {
    if (n < size && samples[n] === samples[n - 1]) {
      equal += 1;
      continue;
    }
    if (start > 0 && n - start >= RUN_MIN) runs.push([start, n - start]);
    start = n;
  }
  return runs.some(([from, length]) => {
    const count = samples[from] ?? 0;
    if (count !== 0 && (count === facts.min || count === facts.max)) return false;
    const share = Math.max(1 / size, (equal - (length - 1)) / (size - length));
    if (share > EQUAL_SHARE_MAX) return false;
    if (length < 1 + Math.log(CHANCES * size) / -Math.log(share)) return false;
    return standsOut(samples, from, length, step);
  });
}

/** Whether the signal moves beside the run, on each side that there is. */
function standsOut(samples: Int16Array, from: number, length: number, step: number): boolean {
  const to = from + length;
  const wide = Math.min(8, Math.max(3, Math.floor(length / 4)));
  const moves = (start: number, end: number) => {
    let [min, max] = [samples[from] ?? 0, samples[from] ?? 0];
    for (const r of samples.subarray(Math.max(0, start), end)) {
      min = Math.min(min, r);
      max = Math.max(max, r);
    }
    return max - min >= SIDE_STEPS * step;
  };
  const hasBefore = from >= 3;
  const hasAfter = to < samples.length;
  if (!(hasBefore && hasAfter) && length < RUN_ONE_SIDED_MIN) return false;
  return (
    (hasBefore || hasAfter) &&
    (!hasBefore || moves(from - wide, from)) &&
    (!hasAfter || moves(to, to + wide))
  );
}

/** Smaller signals have no flat top that can be told, in steps. */
const TOP_SPAN_MIN = 64;
const BINS = 1000;
const TOP_DISTANCE_MIN = 0.2;
const TOP_COUNT_MIN = 8;
const TOP_RATIO_MIN = 8;
const TOP_OTHERS_MIN = 8;

/** The 16-bit limit: what reaches it is clipped, whatever its distribution. */
export const FULL_SCALE_COUNTS = 32767;

/** Samples in flat tops of a signal that is cut below full scale; 0 if it is not. @param step see countStep */
export function flatTopCount(samples: Int16Array, facts: CountFacts, step: number): number {
  const { min, max } = facts;
  const span = max - min;
  if (span < TOP_SPAN_MIN * step) return 0;
  const width = step * Math.ceil(span / (BINS * step));
  let low = 0;
  let high = 0;
  for (let n = 0; n < samples.length; n++) {
    const r = samples[n] ?? 0;
    if (r - min < width) low += 1;
    if (max - r < width) high += 1;
  }
  if (Math.max(low, high) < TOP_COUNT_MIN) return 0;
  const counts = new Uint32Array(span + 1);
  for (const r of samples) counts[r - min] = (counts[r - min] ?? 0) + 1;
  const middle = median(counts, samples.length);
  const scale = { span, width };
  const bottom = min > -FULL_SCALE_COUNTS && isFlatTop((i) => counts[i] ?? 0, middle, low, scale);
  const top =
    max < FULL_SCALE_COUNTS && isFlatTop((i) => counts[span - i] ?? 0, span - middle, high, scale);
  return (bottom ? low : 0) + (top ? high : 0);
}

/** Of counts by their distance from the smallest. */
function median(counts: Uint32Array, size: number): number {
  const at = (rank: number) => {
    let below = 0;
    for (let i = 0; i < counts.length; i++) {
      below += counts[i] ?? 0;
      if (below > rank) return i;
    }
    return counts.length - 1;
  };
  return (at(Math.floor((size - 1) / 2)) + at(Math.floor(size / 2))) / 2;
}

/**
 * @param samplesAt samples at a distance from the extreme, in counts
 * @param middle distance of the median
 * @param first samples in the first bin
 */
function isFlatTop(
  samplesAt: (distance: number) => number,
  middle: number,
  first: number,
  { span, width }: { readonly span: number; readonly width: number },
): boolean {
  if (first < TOP_COUNT_MIN || middle < TOP_DISTANCE_MIN * span) return false;
  let [fullest, different] = [0, 0];
  let inBin = 0;
  for (let i = width; i <= middle / 2; i++) {
    if (i % width === 0) inBin = 0;
    const here = samplesAt(i);
    inBin += here;
    if (here > 0) different += 1;
    fullest = Math.max(fullest, inBin);
  }
  return different >= TOP_OTHERS_MIN && first >= TOP_RATIO_MIN * fullest;
}

/** Of the range from one full scale to the other: a step that is at least so long ran over, and between the two there is none. */
const OVERRUN_STEP_MIN = 0.6;
const TRUE_STEP_MAX = 0.45;
/** Counts after an overrun lie beyond a quarter of full scale: the true value is at most 1.75 times full scale. */
const OVERRUN_LEVEL_MIN = 0.25;
/** Of the samples, beyond either full scale: a machine does not stay there. */
const OVERRUN_SHARE_MAX = 0.3;

/**
 * Whether counts ran over to the other sign. Steps of nearly the whole range lead beyond full scale and back in turn, no other
 * step is nearly as long, and all samples between lie at the far side.
 */
export function hasWrapped(
  samples: Int16Array,
  facts: CountFacts,
  fullScaleCounts: number,
): boolean {
  const range = 2 * (fullScaleCounts + 1);
  if (facts.max - facts.min < OVERRUN_STEP_MIN * range) return false;
  // The record may begin within full scale, above it, or below it.
  return [0, 1, -1].some((side) => followsOverruns(samples, fullScaleCounts, side));
}

/** @param first 1: begins above full scale, shown at the lower side; -1: below it; 0: within */
function followsOverruns(samples: Int16Array, fullScaleCounts: number, first: number): boolean {
  const range = 2 * (fullScaleCounts + 1);
  const level = OVERRUN_LEVEL_MIN * fullScaleCounts;
  let side = first;
  let [overruns, above, below] = [0, 0, 0];
  let before = samples[0] ?? 0;
  for (const here of samples) {
    const step = here - before;
    if (Math.abs(step) >= OVERRUN_STEP_MIN * range) {
      if (Math.min(Math.abs(before), Math.abs(here)) < level) return false;
      overruns += 1;
      side -= Math.sign(step);
      if (Math.abs(side) > 1) return false;
    } else if (Math.abs(step) > TRUE_STEP_MAX * range) return false;
    if (side !== 0 && side * here > -level) return false;
    if (side > 0) above += 1;
    if (side < 0) below += 1;
    before = here;
  }
  return overruns > 0 && Math.max(above, below) <= OVERRUN_SHARE_MAX * samples.length;
}
