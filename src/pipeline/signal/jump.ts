/** A step inside a record, after which it goes on at another level (signal-definitions 2). */
import { MM_S2_PER_G } from "../../core/unit.ts";
import type { AxisOptions, Bands } from "./bands.ts";
import type { Doubles } from "./doubles.ts";

interface Step {
  /** First sample after it. */
  readonly at: number;
  /** Mean after it minus mean before it, counts. */
  readonly height: number;
}

/** Smaller velocities are nobody's concern, mm/s. */
const JUMP_VELOCITY_MIN = 0.3;
/** Of the square of the velocity: what is left of it without a step that makes it. */
const JUMP_REST_MAX = 0.25;
const HEIGHT_STEPS = 8;
const LOCAL_SHARE_MIN = 0.6;
const LOCAL_RMS_MIN = 5;

/** The step that explains most of the record, if it is abrupt and stands out. @param step see countStep */
function stepIn(samples: Int16Array, mean: number, step: number): Step | null {
  const size = samples.length;
  const edge = Math.max(8, Math.floor(size / 64));
  // Sums of counts are whole numbers, and the mean cancels in what is compared.
  const total = Math.round(mean * size);
  let best = -1;
  let at = 0;
  let before = sumOf(samples, 0, edge);
  for (let m = edge, sum = before; m <= size - edge; sum += samples[m++] ?? 0) {
    // Its height times m·(size - m); by height² · m · (size - m) steps are compared.
    const raised = total * m - sum * size;
    const square = raised * raised;
    const places = m * (size - m);
    if (square > best * places) {
      best = square / places;
      at = m;
      before = sum;
    }
  }
  if (at === 0) return null;
  const height = (total - before) / (size - at) - before / at;
  if (Math.abs(height) < HEIGHT_STEPS * step) return null;
  const wide = Math.max(8, Math.floor(size / 32));
  const [low, high] = [Math.max(0, at - wide), Math.min(size, at + wide)];
  const abrupt = Math.abs(
    sumOf(samples, at, high) / (high - at) - sumOf(samples, low, at) / (at - low),
  );
  if (abrupt < LOCAL_SHARE_MIN * Math.abs(height)) return null;
  const beside = Math.min(size - edge, at + wide) - Math.max(edge, at - wide) + 1;
  const places = size - 2 * edge + 1 - beside;
  const most = (abrupt / LOCAL_RMS_MIN) ** 2 * places;
  return squaresBeside(samples, { at, edge, wide, most }) > most ? null : { at, height };
}

/**
 * The squares of the differences of the means of `wide` samples after and before, of all places more than `wide` away, summed
 * until they exceed `most`: what lies beyond can only add to it, and most records are known to have no step after a few places.
 */
function squaresBeside(
  samples: Int16Array,
  { at, edge, wide, most }: Readonly<Record<"at" | "edge" | "wide" | "most", number>>,
): number {
  const size = samples.length;
  let squares = 0;
  let [before, after] = [0, 0];
  let summedAt = -1;
  for (let m = edge; m <= size - edge && squares <= most; m++) {
    if (Math.abs(m - at) <= wide) continue;
    const [low, high] = [Math.max(0, m - wide), Math.min(size, m + wide)];
    if (summedAt !== m - 1) {
      before = sumOf(samples, low, m);
      after = sumOf(samples, m, high);
    } else {
      // One place on: both windows move by a sample.
      const moved = samples[m - 1] ?? 0;
      before += moved - (m - 1 - wide >= 0 ? (samples[m - 1 - wide] ?? 0) : 0);
      after += (m - 1 + wide < size ? (samples[m - 1 + wide] ?? 0) : 0) - moved;
    }
    summedAt = m;
    squares += (after / (high - m) - before / (m - low)) ** 2;
  }
  return squares;
}

function sumOf(samples: Int16Array, from: number, to: number): number {
  let sum = 0;
  for (let n = from; n < to; n++) sum += samples[n] ?? 0;
  return sum;
}

/** The record, its mean, and the greatest common divisor of its steps (damage.ts). */
export interface Counts {
  readonly samples: Int16Array;
  readonly mean: number;
  readonly step: number;
}

/** Whether a step makes the record's velocity. @param transform see motionOverall */
export function hasJump(
  { samples, mean, step }: Counts,
  velocityRms: number,
  transform: Doubles,
  s2: number,
  bands: Bands,
  options: AxisOptions,
): boolean {
  if (step === 0 || !(velocityRms >= JUMP_VELOCITY_MIN)) return false;
  const found = stepIn(samples, mean, step);
  if (found === null) return false;
  const rest = velocityWithout(found, transform, samples.length, s2, bands, options);
  return rest * rest <= JUMP_REST_MAX * velocityRms * velocityRms;
}

/**
 * The velocity of the record without the step, mm/s RMS: by motionOverall, with the step's transform taken away. Under the Hann
 * window a step is three geometric series, and its mean has no part in the lines from 2 on.
 * @param transform see motionOverall
 */
function velocityWithout(
  { at, height }: Step,
  transform: Doubles,
  size: number,
  s2: number,
  bands: Bands,
  { sampleRateHz, calibration }: Pick<AxisOptions, "sampleRateHz" | "calibration">,
): number {
  const turn = (2 * Math.PI) / size;
  // The sum of exp(-j·turn·k·n) from the step on, real or imaginary part.
  const series = (k: number): readonly [number, number] => {
    const [re, im] = [Math.cos(turn * k * at) - 1, -Math.sin(turn * k * at)];
    const [c, s] = [1 - Math.cos(turn * k), Math.sin(turn * k)];
    const norm = c * c + s * s;
    return [(re * c + im * s) / norm, (im * c - re * s) / norm];
  };
  const stepRad = (2 * Math.PI * sampleRateHz) / size;
  let [below, here] = [series(bands.lineMin - 1), series(bands.lineMin)];
  let velocity = 0;
  for (let k = bands.lineMin; k <= bands.lineMax; k++) {
    const above = series(k + 1);
    const mirror = size - k;
    const re =
      ((transform[2 * k] ?? 0) + (transform[2 * mirror] ?? 0)) / 2 -
      height * (here[0] / 2 - (below[0] + above[0]) / 4);
    const im =
      ((transform[2 * k + 1] ?? 0) - (transform[2 * mirror + 1] ?? 0)) / 2 -
      height * (here[1] / 2 - (below[1] + above[1]) / 4);
    velocity += ((re * re + im * im) * (2 * k === size ? 1 : 2)) / (k * stepRad) ** 2;
    [below, here] = [here, above];
  }
  return MM_S2_PER_G * calibration * Math.sqrt(velocity / (size * s2));
}
