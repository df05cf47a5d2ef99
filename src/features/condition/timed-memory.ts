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

export interface TimedAnswer<T> {
  readonly value: T | null;
  /** It should be made anew, for which there was no time. */
  readonly isBehind: boolean;
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
  of(key: string, source: MemorySource, mayMake: boolean, make: () => T): TimedAnswer<T> {
    const { version, nowMs } = source;
    if (this.#of !== source.of) this.#known.clear();
    this.#of = source.of;
    const known = this.#known.get(key);
    const isFresh =
      known !== undefined &&
      known.version === version &&
      Math.abs(nowMs - known.atMs) < this.#lastsMs;
    if (isFresh || !mayMake) return { value: known?.value ?? null, isBehind: !isFresh };
    const value = make();
    this.#known.delete(key);
    this.#known.set(key, { value, version, atMs: nowMs });
    const [oldest] = this.#known.keys();
    if (this.#known.size > REMEMBERED_MAX && oldest !== undefined) this.#known.delete(oldest);
    return { value, isBehind: false };
  }
}
