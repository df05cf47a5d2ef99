/**
 * Tones above the noise of a spectrum: what is kept of a record for diagnosis, a few hundred bytes per spectrum. The
 * speed of the machine may become known later than the record; the tones wait for it, the samples need not.
 */
import type { Doubles } from "./doubles.ts";
import { hannGain } from "./window.ts";

/** Numbers per tone in `ToneList.data`: frequency, amplitude, ratio to the noise. */
export const PLACES = 3;
/** Most tones kept of one spectrum, the most prominent ones: limits the memory per sensor. */
const TONES_MAX = 64;
/**
 * A local maximum below this multiple of the noise is not a tone: noise reaches it in one line of a thousand
 * (Rayleigh).
 */
const RATIO_MIN = 3;
/** Lines over which the noise is assumed constant. */
export const BLOCK = 64;
/** Lines above this multiple of the mean are excluded from the noise; pure noise loses less than 1 % by that. */
const NOISE_CUT = 2.5;
const NOISE_ROUNDS = 5;

export interface Tone {
  readonly hz: number;
  /** Zero-to-peak, in the unit of the spectrum. */
  readonly amplitude: number;
  /** Ratio to the surrounding noise. */
  readonly ratio: number;
}

export interface ToneList {
  /** 1/duration, Hz: two tones closer than twice this are one. */
  readonly resolutionHz: number;
  /** Where the spectrum ends, Hz. */
  readonly topHz: number;
  /** By frequency. */
  readonly data: Float32Array;
}

/** Which tones of a record are searched for: all, those of the acceleration alone (only bearings need the envelopes), none. */
export type WantedTones = boolean | "accel";

/** The line that dominates the velocity around shafts of some speeds (dominant.ts). */
export interface DominantLine {
  /** Frequencies of the shaft in whose range it is the strongest line and holds half of the power, Hz; below `toHz`. */
  readonly fromHz: number;
  readonly toHz: number;
  /** Of the line, between those of the spectrum. */
  readonly hz: number;
  /** Root of the power of the three lines, mm/s RMS. */
  readonly level: number;
}

/** What diagnosis keeps of one axis of a record. */
export interface AxisTones {
  /** G */
  readonly accel: ToneList;
  /** GE; null where the record has no envelope. */
  readonly envelope: ToneList | null;
  /** Of the envelope of the whitened record, shares of its mean; absent where it is too short, and in what 0.2 kept. */
  readonly white?: ToneList | null;
  /** The same spectrum by bands instead of lines (spread-tones.ts). */
  readonly spread?: ToneList | null;
  /** What dominates the velocity around a shaft; absent in what 0.3 kept. */
  readonly dominant?: readonly DominantLine[];
}

function toneAt({ data }: ToneList, i: number): Tone {
  const at = PLACES * i;
  return { hz: data[at] ?? 0, amplitude: data[at + 1] ?? 0, ratio: data[at + 2] ?? 0 };
}

/** Index of the first tone at or above a frequency: rules look this up hundreds of times per reading. */
function firstFrom(data: Float32Array, fromHz: number): number {
  let low = 0;
  let high = data.length / PLACES;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((data[PLACES * middle] ?? 0) < fromHz) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The strongest tone in [fromHz, toHz] that is not excluded; null if there is none. */
export function strongestIn(
  list: ToneList,
  fromHz: number,
  toHz: number,
  isPassedOver: (hz: number) => boolean = () => false,
): Tone | null {
  const { data } = list;
  let best = -1;
  let amplitude = 0;
  for (let at = PLACES * firstFrom(data, fromHz); at < data.length; at += PLACES) {
    const hz = data[at] ?? 0;
    if (hz > toHz) break;
    if ((data[at + 1] ?? 0) <= amplitude || isPassedOver(hz)) continue;
    amplitude = data[at + 1] ?? 0;
    best = at;
  }
  return best < 0 ? null : toneAt(list, best / PLACES);
}

export interface ToneSpectrum {
  /** Amplitudes up to a common factor `scale`; lines 0..lines. */
  readonly lines: Doubles;
  readonly count: number;
  readonly scale: number;
  readonly stepHz: number;
  readonly resolutionHz: number;
  /** First line that is not a residue of the mean. */
  readonly first: number;
  /** Of each block (`noiseLevels`), where several look for tones in it. */
  readonly noise?: Doubles;
  /** Least ratio to the noise, and most tones that are kept; `RATIO_MIN` and `TONES_MAX` if absent. */
  readonly ratioMin?: number;
  readonly tonesMax?: number;
}

/** Local maxima well above the noise, with frequency and amplitude between the lines. */
export function tonesOf(spectrum: ToneSpectrum): ToneList {
  const { lines, count, scale, stepHz, resolutionHz, first } = spectrum;
  const { ratioMin = RATIO_MIN, tonesMax = TONES_MAX } = spectrum;
  const top = stepHz === resolutionHz ? hannTop : vertex;
  // Flat, `PLACES` numbers each, by frequency: two maxima are at least two lines apart, and no top moves by more than
  // half a line.
  const found: number[] = [];
  for (let from = first, block = 0; from < count; from += BLOCK, block++) {
    const to = Math.min(count, from + BLOCK);
    const noise = spectrum.noise?.[block] ?? noiseOf(lines, first, from, to);
    if (!(noise > 0)) continue;
    const least = ratioMin * noise;
    for (let k = from; k < to; k++) {
      const here = lines[k] ?? 0;
      if (here < least || k + 1 >= count) continue;
      const below = lines[k - 1] ?? 0;
      const above = lines[k + 1] ?? 0;
      if (here <= below || here < above) continue;
      const [offset, gain] = top(below, here, above);
      found.push((k + offset) * stepHz, here * gain * scale, (here * gain) / noise);
    }
  }
  return { resolutionHz, topHz: (count - 1) * stepHz, data: mostProminent(found, tonesMax) };
}

/** Those of the largest ratio, still sorted by frequency; among equal ones the lower. */
export function mostProminent(found: readonly number[], tonesMax: number): Float32Array {
  const count = found.length / PLACES;
  if (count <= tonesMax) return new Float32Array(found);
  const ratios = new Float64Array(count);
  for (let i = 0; i < count; i++) ratios[i] = found[PLACES * i + 2] ?? 0;
  const least = ratios.slice().sort()[count - tonesMax] ?? 0;
  let equals = tonesMax;
  for (const ratio of ratios) if (ratio > least) equals -= 1;
  const data = new Float32Array(PLACES * tonesMax);
  let at = 0;
  for (let i = 0; i < count; i++) {
    const ratio = ratios[i] ?? 0;
    if (ratio < least || (ratio === least && equals-- <= 0)) continue;
    for (let place = 0; place < PLACES; place++) data[at++] = found[PLACES * i + place] ?? 0;
  }
  return data;
}

/** @param levels room for the noise of each block of lines from the first on */
export function noiseLevels(
  { lines, first, count }: Pick<ToneSpectrum, "lines" | "first" | "count">,
  levels: Doubles,
): Doubles {
  for (let from = first, block = 0; from < count; from += BLOCK, block++)
    levels[block] = noiseOf(lines, first, from, Math.min(count, from + BLOCK));
  return levels;
}

/** Mean of the lines of a block that are not tones: of all of them first, then without those far above it. The last block takes lines of the one before. */
function noiseOf(lines: Doubles, first: number, blockFrom: number, to: number): number {
  const from = Math.max(first, Math.min(blockFrom, to - BLOCK));
  let sum = 0;
  let most = 0;
  for (let k = from; k < to; k++) {
    const line = lines[k] ?? 0;
    sum += line;
    if (line > most) most = line;
  }
  let mean = sum / (to - from);
  for (let round = 1; round < NOISE_ROUNDS; round++) {
    const cut = NOISE_CUT * mean;
    // None of them exceeds it: another round would find the same.
    if (most < cut) break;
    let count = 0;
    sum = 0;
    most = 0;
    for (let k = from; k < to; k++) {
      const line = lines[k] ?? 0;
      if (line >= cut) continue;
      sum += line;
      count += 1;
      if (line > most) most = line;
    }
    if (count === 0) break;
    mean = sum / count;
  }
  return mean;
}

/**
 * Where the tone lies, in lines of 1/duration from the middle one, and how much stronger it is than that: by three lines
 * under the Hann window (Agrež 2002), as exact for one tone as by two of them (spectrum.ts), and less moved by noise.
 */
function hannTop(below: number, here: number, above: number): readonly [number, number] {
  const offset = clamped((2 * (above - below)) / (below + 2 * here + above));
  return [offset, hannGain(offset)];
}

/**
 * The same between closer lines, of a padded transform: a parabola through three logarithms, within 0.2 % of the amplitude.
 */
function vertex(below: number, here: number, above: number): readonly [number, number] {
  if (!(below > 0) || !(above > 0)) return [0, 1];
  const a = Math.log(below / here);
  const b = Math.log(above / here);
  const curve = a + b;
  if (!(curve < 0)) return [0, 1];
  const offset = clamped((0.5 * (a - b)) / curve);
  return [offset, Math.exp(-((a - b) * (a - b)) / (8 * curve))];
}

const clamped = (offset: number) => Math.max(-0.5, Math.min(0.5, offset));
