/** Seeded random numbers: the same seed gives the same campaign. */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1) (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }
  between(low: number, high: number): number {
    return Math.floor(low + this.next() * (high - low));
  }
  pick<T>(list: readonly T[]): T {
    const item = list[this.between(0, list.length)];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  }
}
