/**
 * The exact N-point DFT of any length: X[k] = sum x[n]·exp(-j·2π·k·n/N), no padding, no truncation.
 *
 * Powers of two are done by power-of-two.ts. Every other length goes through Bluestein's chirp transform (1970): with
 * k·n = (k² + n² - (k-n)²)/2 the DFT is a convolution with a chirp, done by power-of-two transforms; exact to rounding.
 *
 * Complex data lie interleaved (re, im, re, im, …), always in Doubles: one array type keeps the code monomorphic.
 */
import { type Doubles, doubles } from "./doubles.ts";
import { LongTransform, powerOfTwoFrom } from "./long-transform.ts";
import { powerOfTwoTransform } from "./power-of-two.ts";

/** A transform of one length with its own work space. */
export interface DftPlan {
  readonly size: number;
  /** Filled by the caller before `run`, 2·size numbers. */
  readonly input: Doubles;
  /** X[0..size-1] after `run`, until the plan runs again. */
  readonly output: Doubles;
  /** Forward transform of `input` into `output`. Points outside [from, to) count as zero, whatever they are; the others are unchanged. */
  run(from?: number, to?: number): void;
}

/** `usedAt` counts uses: to write it costs less than to put the entry back at the end of the map. */
interface Kept {
  readonly part: unknown;
  readonly size: number;
  usedAt: number;
}

/** Limit of doubles in all cached plans: 32 MB, enough for every length a site has in practice. */
const KEPT_SIZE_MAX = 1 << 22;

/**
 * Plans and tables by length, created once and cached within a limit; the least recently used goes first. Not to be
 * shared between calculations that interleave: a plan's work space is overwritten by its next use.
 */
export class DftPlans {
  readonly #kept = new Map<string, Kept>();
  #keptSize = 0;
  #uses = 0;
  /** The garbage collector may take it: a long record is rare, and its work space is 24 MB. */
  #long: WeakRef<LongTransform> | null = null;

  /** The plan for complex transforms of `size` points; size >= 1. */
  complex(size: number): DftPlan {
    const isPowerOfTwo = (size & (size - 1)) === 0;
    // Input, output, work space and twiddles of a power of two; Bluestein holds an inner plan twice as long.
    const room = isPowerOfTwo ? 8 * size : 6 * size + 10 * powerOfTwoFrom(2 * size - 1);
    return this.table(`dft/${size}`, room, () =>
      isPowerOfTwo ? powerOfTwoPlan(size) : bluesteinPlan(size),
    );
  }

  /** Any table worth caching, created by `make` if it is missing; `size` in doubles. */
  table<T>(key: string, size: number, make: () => T): T {
    const found = this.#kept.get(key);
    this.#uses += 1;
    if (found !== undefined) {
      found.usedAt = this.#uses;
      // The key names what was created, so the part has the type that its creator gave it.
      return found.part as T;
    }
    const part = make();
    this.#kept.set(key, { part, size, usedAt: this.#uses });
    this.#keptSize += size;
    if (this.#keptSize > KEPT_SIZE_MAX) this.#makeRoom(key);
    return part;
  }

  /** The longest unused go, but not this one. */
  #makeRoom(key: string): void {
    const others = [...this.#kept].filter(([other]) => other !== key);
    for (const [other, { size }] of others.sort(([, a], [, b]) => a.usedAt - b.usedAt)) {
      if (this.#keptSize <= KEPT_SIZE_MAX) break;
      this.#kept.delete(other);
      this.#keptSize -= size;
    }
  }

  /** The work space for a record of `size` samples. It belongs to the caller: calculations in steps may interleave. */
  takeLong(size: number): LongTransform {
    const kept = this.#long?.deref();
    this.#long = null;
    return kept?.sizeMax === size ? kept : new LongTransform(size);
  }

  /** For the next record of that length. */
  giveLong(transform: LongTransform): void {
    this.#long = new WeakRef(transform);
  }

  /** Doubles currently cached. */
  get keptSize(): number {
    return this.#keptSize;
  }
}

function powerOfTwoPlan(size: number): DftPlan {
  const input = doubles(2 * size);
  const output = doubles(2 * size);
  const transform = powerOfTwoTransform(size);
  return { size, input, output, run: (from, to) => transform(output, input, from, to) };
}

function bluesteinPlan(size: number): DftPlan {
  const input = doubles(2 * size);
  const output = doubles(2 * size);
  const inner = powerOfTwoPlan(powerOfTwoFrom(2 * size - 1));
  const chirp = chirpOf(size);
  const kernel = kernelOf(chirp, inner);
  const work = inner.input;

  const run = (from = 0, to = size) => {
    work.fill(0, 0, 2 * from);
    work.fill(0, 2 * to);
    for (let i = 2 * from; i < 2 * to; i += 2) {
      const re = input[i] ?? 0;
      const im = input[i + 1] ?? 0;
      const c = chirp[i] ?? 0;
      const s = chirp[i + 1] ?? 0;
      work[i] = re * c - im * s;
      work[i + 1] = re * s + im * c;
    }
    inner.run();
    const mid = inner.output;
    // The inverse transform is the forward one of the conjugate, conjugated: one direction serves both.
    for (let i = 0; i < work.length; i += 2) {
      const re = mid[i] ?? 0;
      const im = mid[i + 1] ?? 0;
      const c = kernel[i] ?? 0;
      const s = kernel[i + 1] ?? 0;
      work[i] = re * c - im * s;
      work[i + 1] = -(re * s + im * c);
    }
    inner.run();
    for (let i = 0; i < 2 * size; i += 2) {
      const re = mid[i] ?? 0;
      const im = -(mid[i + 1] ?? 0);
      const c = chirp[i] ?? 0;
      const s = chirp[i + 1] ?? 0;
      output[i] = re * c - im * s;
      output[i + 1] = re * s + im * c;
    }
  };
  return { size, input, output, run };
}

/** exp(-j·π·n²/N); n² is taken modulo 2N in whole numbers, so that large n lose no phase. */
function chirpOf(size: number): Doubles {
  const chirp = doubles(2 * size);
  for (let n = 0; n < size; n++) {
    const angle = (Math.PI * ((n * n) % (2 * size))) / size;
    chirp[2 * n] = Math.cos(angle);
    chirp[2 * n + 1] = -Math.sin(angle);
  }
  return chirp;
}

/** Transform of the conjugate chirp, laid out circularly, with the inverse transform's 1/L folded in. */
function kernelOf(chirp: Doubles, inner: DftPlan): Doubles {
  const { input, size } = inner;
  input.fill(0);
  for (let i = 0; i < chirp.length; i += 2) {
    const re = chirp[i] ?? 0;
    const im = -(chirp[i + 1] ?? 0);
    input[i] = re;
    input[i + 1] = im;
    if (i > 0) {
      input[2 * size - i] = re;
      input[2 * size - i + 1] = im;
    }
  }
  inner.run();
  const kernel = doubles(2 * size);
  for (let i = 0; i < 2 * size; i++) kernel[i] = (inner.output[i] ?? 0) / size;
  return kernel;
}
