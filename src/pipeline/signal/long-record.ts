/** A record too long for the plans of fft.ts under its two windows, and its envelope: what window.ts and envelope.ts define, in steps. */
import type { Bands } from "./bands.ts";
import type { LongTransform } from "./long-transform.ts";

/** Numbers processed between two yields. */
const STEP = 65_536;

/** The DFT of x1 + j·x2, the record under the Hann window and under the envelope's taper. Returns the Hann window's S2. */
export function* transformRecord(
  work: LongTransform,
  samples: Int16Array,
  mean: number,
  edge: number,
): Generator<void, number> {
  const { data } = work;
  const size = samples.length;
  let s2 = 0;
  for (let n = 0; n < size; n++) {
    const d = (samples[n] ?? 0) - mean;
    const hann = hannAt(n, size);
    s2 += hann * hann;
    data[2 * n] = d * hann;
    data[2 * n + 1] = d * taperAt(n, size, edge);
    if (n % STEP === 0) yield;
  }
  yield* work.run(size);
  return s2;
}

/** Turns that transform into the mean-free envelope in counts: the real parts of the first envSize points; the imaginary ones are 0. */
export function* demodulateLong(
  work: LongTransform,
  size: number,
  bands: Bands,
): Generator<void, void> {
  const { data } = work;
  const { envLineMin, envLineMax, envEdge, envSize } = bands;
  for (let k = envLineMin; k <= envLineMax; k++) {
    const mirror = 2 * (size - k);
    const re = (data[2 * k + 1] ?? 0) + (data[mirror + 1] ?? 0);
    const im = (data[2 * k] ?? 0) - (data[mirror] ?? 0);
    data[2 * k] = re;
    data[2 * k + 1] = im;
  }
  data.fill(0, 0, 2 * envLineMin);
  data.fill(0, 2 * (envLineMax + 1), 2 * size);
  yield* work.run(size);
  let sum = 0;
  for (let m = 0; m < envSize; m++) {
    const at = 2 * (m + envEdge);
    const re = data[at] ?? 0;
    const im = data[at + 1] ?? 0;
    const magnitude = Math.sqrt(re * re + im * im) / size;
    data[2 * m] = magnitude;
    data[2 * m + 1] = 0;
    sum += magnitude;
    if (m % STEP === 0) yield;
  }
  const mean = sum / envSize;
  for (let m = 0; m < envSize; m++) data[2 * m] = (data[2 * m] ?? 0) - mean;
}

/** The DFT of the real parts of the first `size` points, under the Hann window. Returns the window's S2. */
export function* transformWindowed(work: LongTransform, size: number): Generator<void, number> {
  const { data } = work;
  let s2 = 0;
  for (let n = 0; n < size; n++) {
    const hann = hannAt(n, size);
    s2 += hann * hann;
    data[2 * n] = (data[2 * n] ?? 0) * hann;
    if (n % STEP === 0) yield;
  }
  yield* work.run(size);
  return s2;
}

function hannAt(n: number, size: number): number {
  return 0.5 - 0.5 * Math.cos((2 * Math.PI * n) / size);
}

function taperAt(n: number, size: number, edge: number): number {
  const fromEnd = Math.min(n, size - 1 - n);
  return fromEnd >= edge ? 1 : 0.5 * (1 - Math.cos((Math.PI * (fromEnd + 0.5)) / edge));
}
