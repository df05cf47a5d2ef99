/**
 * Tones of the envelope of a whitened record. Whitening divides each line by the mean of those around it, so that a band in
 * which the bearing rings faintly counts as much as one in which something else is loud; lines that stand out of their
 * surroundings (orders, mesh, mains) are cut to a few times that mean, or their beats would be taken for impacts
 * (Sawalhi & Randall 2011, cepstrum pre-whitening; here with local means, which keep more of the impacts).
 *
 * The band is moved to zero frequency and transformed back with as many points as it needs: the magnitude is the same.
 */
import { USABLE_RATE } from "./bands.ts";
import { type Doubles, doubles } from "./doubles.ts";
import type { DftPlans } from "./fft.ts";
import { powerOfTwoFrom } from "./long-transform.ts";
import { spreadTonesOf } from "./spread-tones.ts";
import { type AxisTones, BLOCK, noiseLevels, tonesOf } from "./tones.ts";

/** Width over which lines are averaged, Hz, and by how much a line may exceed the average. */
const SMOOTH_HZ = 300;
const LIMIT = 3;
/** Lowest frequency that is demodulated: a share of the sample rate, at most this, Hz. */
const LOW_SHARE = 1 / 32;
const LOW_HZ = 500;
/** The spectrum of the envelope ends here, Hz, or at this share of the band, which costs no longer transform. */
const TOP_HZ = 2000;
const TOP_SHARE = 0.25;
/** Fewer lines than this say nothing. */
const LINES_MIN = 256;
/** Weak lines count too, where several stand at the harmonics of a bearing. */
const RATIO_MIN = 2;
const TONES_MAX = 160;
const FIRST_LINE = 2;

type WhiteTones = Required<Pick<AxisTones, "white" | "spread">>;

/**
 * @param transform interleaved DFT of x1 + j·x2, of which x2 is the record with tapered ends
 * @returns null where the record is too short or too slow; amplitudes are shares of the mean of the envelope
 */
export function whiteTones(
  plans: DftPlans,
  transform: Doubles,
  size: number,
  sampleRateHz: number,
): WhiteTones | null {
  const stepHz = sampleRateHz / size;
  const low = Math.max(1, Math.ceil(Math.min(LOW_HZ, LOW_SHARE * sampleRateHz) / stepHz));
  const high = Math.floor(size / USABLE_RATE);
  const count = high - low + 1;
  if (count < LINES_MIN) return null;
  // With fewer points than this, what lies above the band's width would fold back on the lines.
  const plan = plans.complex(powerOfTwoFrom(Math.ceil((1 + TOP_SHARE) * count)));
  const lines = Math.floor(Math.min(TOP_HZ / stepHz, plan.size - count, count));
  whiten(plans, transform, size, low, count, Math.round(SMOOTH_HZ / stepHz / 2), plan.input);
  plan.run(0, count);
  return envelopeOf(plans, plan.output, plan.size, lines, stepHz);
}

/** Writes lines `low`… of the tapered record, whitened, to the first places of `target`, conjugated. */
function whiten(
  plans: DftPlans,
  transform: Doubles,
  size: number,
  low: number,
  count: number,
  reach: number,
  target: Doubles,
): void {
  const sums = plans.table(`white-sums/${count}`, count + 1, () => doubles(count + 1));
  let sum = 0;
  for (let i = 0; i < count; i++) {
    const k = 2 * (low + i);
    const mirror = 2 * size - k;
    const re = (transform[k + 1] ?? 0) + (transform[mirror + 1] ?? 0);
    const im = (transform[k] ?? 0) - (transform[mirror] ?? 0);
    target[2 * i] = re;
    target[2 * i + 1] = im;
    sum += Math.sqrt(re * re + im * im);
    sums[i + 1] = sum;
  }
  for (let i = 0; i < count; i++) {
    const from = Math.max(0, i - reach);
    const to = Math.min(count, i + reach + 1);
    const total = (sums[to] ?? 0) - (sums[from] ?? 0);
    const width = to - from;
    const own = (sums[i + 1] ?? 0) - (sums[i] ?? 0);
    // One division a line: by the mean, or by the line itself where it stands out.
    const isOut = own * width > LIMIT * total;
    const factor = total > 0 ? (isOut ? LIMIT / own : width / total) : 0;
    target[2 * i] = (target[2 * i] ?? 0) * factor;
    target[2 * i + 1] = (target[2 * i + 1] ?? 0) * factor;
  }
}

/** Tones of the magnitude of a signal of `size` complex points, by a real transform of them under a Hann window. */
function envelopeOf(
  plans: DftPlans,
  signal: Doubles,
  size: number,
  lines: number,
  stepHz: number,
): WhiteTones {
  const half = size / 2;
  const plan = plans.complex(half);
  const window = plans.table(`white-hann/${size}`, size, () => periodicHann(size));
  let sum = 0;
  for (let m = 0; m < size; m++) {
    const re = signal[2 * m] ?? 0;
    const im = signal[2 * m + 1] ?? 0;
    const magnitude = Math.sqrt(re * re + im * im);
    plan.input[m] = magnitude;
    sum += magnitude;
  }
  const mean = sum / size;
  for (let m = 0; m < size; m++) {
    plan.input[m] = ((plan.input[m] ?? 0) - mean) * (window[m] ?? 0);
  }
  plan.run();
  const z = plan.output;
  const room = plans.table(`white-lines/${size}`, half, () => doubles(half));
  const turns = plans.table(`white-turns/${size}`, size, () => turnsOf(size));
  for (let k = 1; k <= lines; k++) {
    const a = 2 * k;
    const b = 2 * (half - k);
    const ere = (z[a] ?? 0) + (z[b] ?? 0);
    const eim = (z[a + 1] ?? 0) - (z[b + 1] ?? 0);
    const ore = (z[a + 1] ?? 0) + (z[b + 1] ?? 0);
    const oim = (z[b] ?? 0) - (z[a] ?? 0);
    const cos = turns[2 * k] ?? 0;
    const sin = turns[2 * k + 1] ?? 0;
    const re = ere + cos * ore + sin * oim;
    const im = eim + cos * oim - sin * ore;
    room[k] = Math.sqrt(re * re + im * im);
  }
  // |Q| = room/2; amplitude 2·|Q|/S1 with S1 = size/2, as a share of the mean.
  const scale = mean > 0 ? 2 / size / mean : 0;
  const count = lines + 1;
  const blocks = Math.ceil(half / BLOCK);
  const levels = plans.table(`white-noise/${size}`, blocks, () => doubles(blocks));
  const spectrum = {
    lines: room,
    count,
    scale,
    stepHz,
    resolutionHz: stepHz,
    first: FIRST_LINE,
    noise: noiseLevels({ lines: room, first: FIRST_LINE, count }, levels),
    ratioMin: RATIO_MIN,
    tonesMax: TONES_MAX,
  };
  const sums = plans.table(`white-powers/${size}`, size, () => doubles(half + 2));
  return { white: tonesOf(spectrum), spread: spreadTonesOf(spectrum, sums) };
}

/** cos and sin of 2πk/size, interleaved. */
function turnsOf(size: number): Doubles {
  const turns = doubles(size);
  for (let k = 0; k < size / 2; k++) {
    turns[2 * k] = Math.cos((2 * Math.PI * k) / size);
    turns[2 * k + 1] = Math.sin((2 * Math.PI * k) / size);
  }
  return turns;
}

function periodicHann(size: number): Doubles {
  const window = doubles(size);
  for (let n = 0; n < size; n++) window[n] = 0.5 - 0.5 * Math.cos((2 * Math.PI * n) / size);
  return window;
}
