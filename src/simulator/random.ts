/**
 * Random numbers that can be read in any order: a value is a hash of its context (seed, sensor, record number), so any
 * record of any day is the same for every reader at any time.
 */

/** Mixes two whole numbers into 32 bits. */
export function mix(a: number, b: number): number {
  let h =
    Math.imul((a ^ b) | 0, 0x9e3779b1) ^ Math.imul(Math.floor(b / 4294967296) | 0, 0x7feb352d);
  h = Math.imul(h ^ (a >>> 15) ^ 0x5bd1e995, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h + (b | 0), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** A seed from text. */
export function seedOf(seed: number, text: string): number {
  let h = mix(seed, text.length);
  for (let i = 0; i < text.length; i++) h = mix(h, text.charCodeAt(i));
  return h;
}

/** 0 ≤ value < 1, from a hash of the parts. */
export function chance(seed: number, n: number, salt = 0): number {
  return mix(mix(seed, salt), n) / 4294967296;
}

/** A repeatable sequence, for values drawn in order. */
export class RandomSequence {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0 || 0x6d2b79f5;
  }
  /** 0 ≤ value < 1 (xorshift32). */
  next(): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x;
    return (x >>> 0) / 4294967296;
  }
  /** Close enough to a normal distribution for noise: mean 0, standard deviation 1. */
  noise(): number {
    return (this.next() + this.next() + this.next() - 1.5) * 2;
  }
}
