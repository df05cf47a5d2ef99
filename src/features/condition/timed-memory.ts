/** What is dear to compute and changes slowly. */

/** What it was made of. */
export interface MemorySource {
  /** With another one, nothing is remembered. */
  readonly of: unknown;
  /** With another one, it is made anew as soon as there is time. */
  readonly version: number;
  readonly nowMs: number;
}

interface TimedValue<T> {
  readonly value: T;
  readonly version: number;
  readonly atMs: number;
}

const REMEMBERED_MAX = 10_000;

export class TimedMemory<T> {
  readonly #lastsMs: number;
  readonly #known = new Map<string, TimedValue<T>>();
  #of: unknown = null;

  constructor(lastsMs: number) {
    this.#lastsMs = lastsMs;
  }

  /** @param mayMake false: what is known, however old; null without any */
  of(key: string, source: MemorySource, mayMake: boolean, make: () => T): T | null {
    const { version, nowMs } = source;
    if (this.#of !== source.of || this.#known.size > REMEMBERED_MAX) this.#known.clear();
    this.#of = source.of;
    const known = this.#known.get(key);
    const isFresh =
      known !== undefined &&
      known.version === version &&
      Math.abs(nowMs - known.atMs) < this.#lastsMs;
    if (isFresh || !mayMake) return known?.value ?? null;
    const value = make();
    this.#known.set(key, { value, version, atMs: nowMs });
    return value;
  }
}
