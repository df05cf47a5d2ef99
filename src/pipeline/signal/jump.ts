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
  const sums = new Float64Array(size + 1);
  for (let n = 0; n < size; n++) sums[n + 1] = (sums[n] ?? 0) + (samples[n] ?? 0) - mean;
  const total = sums[size] ?? 0;
  let best = -1;
  let at = 0;
  for (let m = edge; m <= size - edge; m++) {
    const before = sums[m] ?? 0;
    // Its height times m·(size - m); by height² · m · (size - m) steps are compared.
    const raised = total * m - before * size;
    const square = raised * raised;
    const places = m * (size - m);
    if (square > best * places) {
      best = square / places;
      at = m;
    }
  }
  if (at === 0) return null;
  const before = sums[at] ?? 0;
  const height = (total - before) / (size - at) - before / at;
  if (Math.abs(height) < HEIGHT_STEPS * step) return null;
  const wide = Math.max(8, Math.floor(size / 32));
  const local = (m: number) => {
    const from = Math.max(0, m - wide);
    const to = Math.min(size, m + wide);
    const here = sums[m] ?? 0;
    return ((sums[to] ?? 0) - here) / (to - m) - (here - (sums[from] ?? 0)) / (m - from);
  };
  const abrupt = Math.abs(local(at));
  if (abrupt < LOCAL_SHARE_MIN * Math.abs(height)) return null;
  const beside = Math.min(size - edge, at + wide) - Math.max(edge, at - wide) + 1;
  const places = size - 2 * edge + 1 - beside;
  const most = (abrupt / LOCAL_RMS_MIN) ** 2 * places;
  let squares = 0;
  for (let m = edge; m <= size - edge; m++) {
    if (Math.abs(m - at) <= wide) continue;
    squares += local(m) ** 2;
    // What lies beyond can only add to it: most records are known to have no step after a few places.
    if (squares > most) return null;
  }
  return { at, height };
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
