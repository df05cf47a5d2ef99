/**
 * The exact DFT of records longer than a sensor sends, in steps: no step blocks the caller for more than a few
 * milliseconds, and the memory is one work space outside the JavaScript heap, used in place.
 *
 * Any length through Bluestein's chirp transform (explained in fft.ts), by a radix-2 transform with bit reversal. It
 * takes about twice the time of the plans of fft.ts and a third of their memory; usual records use those plans.
 */

/**
 * Records up to this length are transformed by fft.ts in one go; creating its tables takes the longest, once per
 * length.
 */
export const SHORT_SIZE_MAX = 32_768;
/** Points processed between two yields: about a millisecond on a small box. */
const STEP_POINTS = 32_768;
const BLOCK_POINTS = 4_096;

export class LongTransform {
  /** Complex data, interleaved: input and output of `run` at its start. */
  readonly data: Float64Array;
  readonly sizeMax: number;
  readonly #room: number;
  readonly #kernel: Float64Array;
  readonly #chirp: Float64Array;
  readonly #twiddles: Float64Array;
  #kernelSize = 0;
  #hasTwiddles = false;

  /** Memory for transforms of up to `sizeMax` points. */
  constructor(sizeMax: number) {
    this.sizeMax = sizeMax;
    // A length that is not a power of two may need twice its size.
    this.#room = powerOfTwoFrom(2 * sizeMax - 1);
    this.data = new Float64Array(2 * this.#room);
    this.#kernel = new Float64Array(2 * this.#room);
    this.#chirp = new Float64Array(2 * sizeMax);
    this.#twiddles = new Float64Array(this.#room);
  }

  /** Replaces data[0..2·size) by its transform; the rest is overwritten. */
  *run(size: number): Generator<void, void> {
    yield* this.#makeTwiddles();
    const { data } = this;
    if (isPowerOfTwo(size)) return yield* this.#transform(data, size);
    const inner = innerSize(size);
    yield* this.#makeKernel(size, inner);
    const chirp = this.#chirp;
    const kernel = this.#kernel;
    data.fill(0, 2 * size);
    for (let i = 0; i < 2 * size; i += 2) {
      multiply(data, i, chirp[i] ?? 0, chirp[i + 1] ?? 0);
      if ((i / 2) % STEP_POINTS === 0) yield;
    }
    yield* this.#transform(data, inner);
    // The inverse transform is the forward one of the conjugate, conjugated.
    for (let i = 0; i < 2 * inner; i += 2) {
      multiply(data, i, kernel[i] ?? 0, kernel[i + 1] ?? 0);
      data[i + 1] = -(data[i + 1] ?? 0);
      if ((i / 2) % STEP_POINTS === 0) yield;
    }
    yield* this.#transform(data, inner);
    for (let i = 0; i < 2 * size; i += 2) {
      data[i + 1] = -(data[i + 1] ?? 0);
      multiply(data, i, chirp[i] ?? 0, chirp[i + 1] ?? 0);
      if ((i / 2) % STEP_POINTS === 0) yield;
    }
  }

  *#makeTwiddles(): Generator<void, void> {
    if (this.#hasTwiddles) return;
    for (let k = 0; k < this.#room / 2; k++) {
      const angle = (-2 * Math.PI * k) / this.#room;
      this.#twiddles[2 * k] = Math.cos(angle);
      this.#twiddles[2 * k + 1] = Math.sin(angle);
      if (k % STEP_POINTS === 0) yield;
    }
    this.#hasTwiddles = true;
  }

  /** The chirp, and the transform of its conjugate with the inverse transform's 1/L folded in. */
  *#makeKernel(size: number, inner: number): Generator<void, void> {
    if (this.#kernelSize === size) return;
    this.#kernelSize = 0;
    const kernel = this.#kernel;
    const chirp = this.#chirp;
    kernel.fill(0);
    for (let n = 0; n < size; n++) {
      // n² is taken modulo 2N in whole numbers, so that large n lose no phase.
      const angle = (Math.PI * ((n * n) % (2 * size))) / size;
      const re = Math.cos(angle) / inner;
      const im = Math.sin(angle) / inner;
      chirp[2 * n] = re * inner;
      chirp[2 * n + 1] = -im * inner;
      kernel[2 * n] = re;
      kernel[2 * n + 1] = im;
      if (n > 0) {
        kernel[2 * (inner - n)] = re;
        kernel[2 * (inner - n) + 1] = im;
      }
      if (n % STEP_POINTS === 0) yield;
    }
    yield* this.#transform(kernel, inner);
    this.#kernelSize = size;
  }

  /** Forward transform of a power of two, in place. */
  *#transform(x: Float64Array, size: number): Generator<void, void> {
    yield* reverseBits(x, size);
    const twiddles = this.#twiddles;
    // The first stages block by block: a block stays in the processor's cache.
    const block = Math.min(size, BLOCK_POINTS);
    for (let start = 0; start < size; start += block) {
      for (let half = 1; half < block; half *= 2) {
        const turn = this.#room / (2 * half);
        for (let at = start; at < start + block; at += 2 * half) {
          butterflies(x, twiddles, at, half, 0, half, turn);
        }
      }
      yield;
    }
    for (let half = block; half < size; half *= 2) {
      const turn = this.#room / (2 * half);
      for (let start = 0; start < size; start += 2 * half) {
        for (let from = 0; from < half; from += STEP_POINTS) {
          butterflies(x, twiddles, start, half, from, Math.min(half, from + STEP_POINTS), turn);
          yield;
        }
      }
    }
  }
}

function butterflies(
  x: Float64Array,
  twiddles: Float64Array,
  start: number,
  half: number,
  from: number,
  to: number,
  turn: number,
): void {
  for (let k = from; k < to; k++) {
    const wr = twiddles[2 * k * turn] ?? 0;
    const wi = twiddles[2 * k * turn + 1] ?? 0;
    const a = 2 * (start + k);
    const b = a + 2 * half;
    const br = x[b] ?? 0;
    const bi = x[b + 1] ?? 0;
    const tr = br * wr - bi * wi;
    const ti = br * wi + bi * wr;
    const ar = x[a] ?? 0;
    const ai = x[a + 1] ?? 0;
    x[b] = ar - tr;
    x[b + 1] = ai - ti;
    x[a] = ar + tr;
    x[a + 1] = ai + ti;
  }
}

function* reverseBits(x: Float64Array, size: number): Generator<void, void> {
  let j = 0;
  for (let i = 0; i < size - 1; i++) {
    if (i < j) {
      const re = x[2 * i] ?? 0;
      const im = x[2 * i + 1] ?? 0;
      x[2 * i] = x[2 * j] ?? 0;
      x[2 * i + 1] = x[2 * j + 1] ?? 0;
      x[2 * j] = re;
      x[2 * j + 1] = im;
    }
    let bit = size >> 1;
    while ((j & bit) !== 0) {
      j ^= bit;
      bit >>= 1;
    }
    j |= bit;
    if (i % STEP_POINTS === 0) yield;
  }
}

function multiply(x: Float64Array, i: number, c: number, s: number): void {
  const re = x[i] ?? 0;
  const im = x[i + 1] ?? 0;
  x[i] = re * c - im * s;
  x[i + 1] = re * s + im * c;
}

const isPowerOfTwo = (size: number) => (size & (size - 1)) === 0;

/** The power of two that the transform of `size` points goes through. */
function innerSize(size: number): number {
  return powerOfTwoFrom(2 * size - 1);
}

export function powerOfTwoFrom(least: number): number {
  let size = 1;
  while (size < least) size *= 2;
  return size;
}
