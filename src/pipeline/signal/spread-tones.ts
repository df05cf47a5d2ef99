/**
 * Tones of what slips. The longer a record, the more lines a bearing's frequency is spread over, while those of shafts and
 * mains stay sharp. Around each line the power of a band is summed, one per cent to either side: the higher its frequency and
 * the longer the record, the more lines; low down, or of a short record, it is the line alone.
 *
 * The ratio of such a tone is that of a single line which noise exceeds as rarely; its amplitude is that of a single line with
 * the power that the band has above the noise.
 */
import type { Doubles } from "./doubles.ts";
import { BLOCK, mostProminent, PLACES, type ToneList, type ToneSpectrum } from "./tones.ts";

/** Slip to either side, share of the frequency. */
export const SLIP_SHARE = 0.01;
/** Lines that the power of a steady tone fills under a Hann window. */
const HANN_LINES = 1.5;
/** Mean power of Rayleigh noise, in squares of its mean amplitude. */
const RAYLEIGH = 4 / Math.PI;
const TONES_MAX = 64;

/** @param sums room for one number more than there are lines */
export function spreadTonesOf(
  spectrum: ToneSpectrum & { readonly noise: Doubles },
  sums: Doubles,
): ToneList {
  const { lines, noise: levels, count, scale, stepHz, resolutionHz, first } = spectrum;
  const { ratioMin = 2 } = spectrum;
  sums[0] = 0;
  for (let k = 0; k < count; k++) sums[k + 1] = (sums[k] ?? 0) + (lines[k] ?? 0) ** 2;
  const least = ratioMin ** 2 / RAYLEIGH;
  let width = 0;
  let timesMin = TIMES_MIN;
  const found: number[] = [];
  let last = { to: -1, score: 0 };
  for (let from = first, block = 0; from < count; from += BLOCK, block++) {
    const to = Math.min(count, from + BLOCK);
    const noise = RAYLEIGH * (levels[block] ?? 0) ** 2;
    if (!(noise > 0)) continue;
    for (let k = from; k < to; k++) {
      const reach = Math.round(SLIP_SHARE * k);
      if (k + reach >= count) break;
      if (width !== 2 * reach + 1) {
        width = 2 * reach + 1;
        timesMin = Math.max(TIMES_MIN, (1 - GUARD) * timesFor(least, independent(width)));
      }
      const power = (sums[k + reach + 1] ?? 0) - (sums[k - reach] ?? 0);
      if (power < timesMin * width * noise) continue;
      const score = asOneLine(power / (width * noise), independent(width));
      if (score < least) continue;
      // Bands that overlap are one: the rarest of them.
      if (k <= last.to) {
        if (score <= last.score) continue;
        found.length -= PLACES;
      }
      last = { to: k + reach + 1, score };
      const above = Math.max(0, power - width * noise) / (reach === 0 ? 1 : HANN_LINES);
      const hz = stepHz * centreOf(lines, k, Math.max(1, reach));
      found.push(hz, scale * Math.sqrt(above), Math.sqrt(RAYLEIGH * score));
    }
  }
  return { resolutionHz, topHz: (count - 1) * stepHz, data: mostProminent(found, TONES_MAX) };
}

/** Even many lines must exceed the noise by a few tenths to be as rare as one that exceeds it three times. */
const TIMES_MIN = 1.3;
/** Of a limit that spares the exact comparison. */
const GUARD = 1e-9;

/** Of so many neighbouring lines of noise under a Hann window, whose powers are correlated by (2/3)² and (1/6)². */
const independent = (width: number) => width ** 2 / (1.945 * width - 0.945);

/**
 * The power of one line, in means of the noise, that noise exceeds as often as the mean of so many exceeds `times`: powers are
 * distributed as χ², whose cube root is nearly normal (Wilson & Hilferty 1931).
 */
function asOneLine(times: number, count: number): number {
  if (count === 1) return times;
  const variance = 1 / (9 * count);
  const deviations = (Math.cbrt(times) - 1 + variance) / Math.sqrt(variance);
  return Math.max(0, 1 - 1 / 9 + deviations / 3) ** 3;
}

/** The times of so many lines that are as rare as `power` of one: the inverse of `asOneLine`. */
function timesFor(power: number, count: number): number {
  if (count === 1) return power;
  const variance = 1 / (9 * count);
  const deviations = 3 * (Math.cbrt(power) - 8 / 9);
  return (1 - variance + deviations * Math.sqrt(variance)) ** 3;
}

/** Centre of the power of a band, in lines. */
function centreOf(lines: Doubles, k: number, reach: number): number {
  let sum = 0;
  let moment = 0;
  for (let i = -reach; i <= reach; i++) {
    const power = (lines[k + i] ?? 0) ** 2;
    sum += power;
    moment += i * power;
  }
  return sum > 0 ? k + moment / sum : k;
}
