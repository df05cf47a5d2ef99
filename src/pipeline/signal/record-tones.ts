/**
 * The tones of a record, from transforms that its overall values need anyway: finding them costs a pass over the lines,
 * no further transform.
 */
import { type Bands, USABLE_RATE } from "./bands.ts";
import { type Doubles, doubles } from "./doubles.ts";
import type { DftPlan, DftPlans } from "./fft.ts";
import { type ToneList, tonesOf } from "./tones.ts";

/** The Hann main lobe of a residual offset covers lines 0 and 1. */
const FIRST_LINE = 2;

/**
 * Tones of the Hann-windowed record, G. `transform` is the interleaved DFT of x1 + j·x2, as in `motionOverall`.
 * @param s1 sum of the window
 */
export function accelTones(
  transform: Doubles,
  size: number,
  s1: number,
  sampleRateHz: number,
  calibration: number,
  room: Doubles,
): ToneList {
  // Above rate/2.56 lines may be aliases.
  const count = Math.min(Math.floor(size / USABLE_RATE) + 1, Math.floor(size / 2));
  for (let k = FIRST_LINE - 1; k < count; k++) {
    const mirror = size - k;
    const re = (transform[2 * k] ?? 0) + (transform[2 * mirror] ?? 0);
    const im = (transform[2 * k + 1] ?? 0) - (transform[2 * mirror + 1] ?? 0);
    room[k] = Math.sqrt(re * re + im * im);
  }
  const stepHz = sampleRateHz / size;
  // 2·|Y|/S1, and `room` contains 2·|Y|.
  const scale = calibration / s1;
  const line = { stepHz, resolutionHz: stepHz, first: FIRST_LINE };
  return tonesOf({ lines: room, count, scale, ...line });
}

/** Cosine of the window in whole lines of the padded transform, and the factors that go with it. */
interface PaddedHann {
  readonly shift: number;
  readonly s1: number;
  readonly cos: number;
  readonly sin: number;
  /** exp(-2πj·i/L), interleaved. */
  readonly turns: Doubles;
}

/**
 * Tones of the envelope, GE, from the zero-padded transform that `BandPower` has run (envelope-power.ts): z holds the even
 * samples of q as real and the odd ones as imaginary parts. The window is a raised cosine whose period is a whole part of L,
 * applied as three lines of the transform: the Hann window of the M samples to within a tenth at its ends, and on lines
 * closer than 1/M·rate, so that a tone between two lines of the M-point spectrum is hardly lowered.
 */
export function envelopeTones(
  plans: DftPlans,
  { output: z, size: half }: DftPlan,
  bands: Bands,
  sampleRateHz: number,
  calibration: number,
): ToneList {
  const full = 2 * half;
  const size = bands.envSize;
  const key = `padded-hann/${size}/${half}`;
  const window = plans.table(key, full, () => paddedHann(size, half));
  const stepHz = sampleRateHz / full;
  const topHz = (bands.envLines * sampleRateHz) / size;
  const count = Math.min(Math.floor(topHz / stepHz) + 1, half - window.shift);
  const lines = plans.table(`padded-lines/${half}`, 3 * half, () => doubles(3 * half));
  unpack(z, half, count + window.shift, window.turns, lines);
  const { shift, cos, sin } = window;
  const room = plans.table(`tone-lines/${full}`, full, () => doubles(full));
  for (let i = shift; i < count; i++) {
    const at = 2 * i;
    const low = 2 * (i - shift);
    const high = 2 * (i + shift);
    const lre = lines[low] ?? 0;
    const lim = lines[low + 1] ?? 0;
    const hre = lines[high] ?? 0;
    const him = lines[high + 1] ?? 0;
    // 0.5·S[i] + 0.25·(conj(t)·S[i-s] + t·S[i+s]), t = exp(jφ)
    const re = 0.5 * (lines[at] ?? 0) + 0.25 * (cos * (lre + hre) + sin * (lim - him));
    const im = 0.5 * (lines[at + 1] ?? 0) + 0.25 * (cos * (lim + him) + sin * (hre - lre));
    room[i] = Math.sqrt(re * re + im * im);
  }
  const scale = (2 * calibration) / window.s1;
  const resolutionHz = sampleRateHz / size;
  const first = Math.ceil((FIRST_LINE * full) / size);
  return tonesOf({ lines: room, count, scale, stepHz, resolutionHz, first });
}

function paddedHann(size: number, half: number): PaddedHann {
  const full = 2 * half;
  const shift = Math.round(full / size);
  const centre = (size - 1) / 2;
  let s1 = 0;
  for (let n = 0; n < size; n++) {
    s1 += 0.5 + 0.5 * Math.cos((2 * Math.PI * shift * (n - centre)) / full);
  }
  const phase = (2 * Math.PI * shift * centre) / full;
  const turns = doubles(full);
  for (let i = 0; i < half; i++) {
    turns[2 * i] = Math.cos((2 * Math.PI * i) / full);
    turns[2 * i + 1] = -Math.sin((2 * Math.PI * i) / full);
  }
  return { shift, s1, cos: Math.cos(phase), sin: Math.sin(phase), turns };
}

/** S[i] of the real sequence, i = 0..count-1: E + W·O of its even and odd samples. */
function unpack(z: Doubles, half: number, count: number, turns: Doubles, lines: Doubles): void {
  for (let i = 0; i < count; i++) {
    const a = 2 * i;
    const b = i === 0 ? 0 : 2 * (half - i);
    const are = z[a] ?? 0;
    const aim = z[a + 1] ?? 0;
    const bre = z[b] ?? 0;
    const bim = z[b + 1] ?? 0;
    const ere = 0.5 * (are + bre);
    const eim = 0.5 * (aim - bim);
    const ore = 0.5 * (aim + bim);
    const oim = 0.5 * (bre - are);
    const wre = turns[a] ?? 0;
    const wim = turns[a + 1] ?? 0;
    lines[a] = ere + wre * ore - wim * oim;
    lines[a + 1] = eim + wre * oim + wim * ore;
  }
}

/** The same from the exact M-point transform of q that long records have; Hann as three of its lines. */
export function longEnvelopeTones(
  lines: Doubles,
  bands: Bands,
  sampleRateHz: number,
  calibration: number,
): ToneList {
  const { envSize, envLines } = bands;
  const room = new Float64Array(envLines + 1);
  for (let k = 1; k <= envLines; k++) {
    const at = 2 * k;
    const re = 0.5 * (lines[at] ?? 0) - 0.25 * ((lines[at - 2] ?? 0) + (lines[at + 2] ?? 0));
    const im = 0.5 * (lines[at + 1] ?? 0) - 0.25 * ((lines[at - 1] ?? 0) + (lines[at + 3] ?? 0));
    room[k] = Math.sqrt(re * re + im * im);
  }
  const stepHz = sampleRateHz / envSize;
  const scale = (4 * calibration) / envSize;
  const place = { stepHz, resolutionHz: stepHz, first: FIRST_LINE };
  return tonesOf({ lines: room, count: envLines + 1, scale, ...place });
}
