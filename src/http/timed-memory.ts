/** What is dear to compute and changes slowly. */
export class TimedMemory<T> {
  readonly #lastsMs: number;
  readonly #known = new Map<string, { readonly value: T; readonly atMs: number }>();
  #of: unknown = null;

  constructor(lastsMs: number) {
    this.#lastsMs = lastsMs;
  }

  /** @param of with another one, nothing is remembered @param mayMake false: what is known, however old; null without any */
  of(key: string, of: unknown, nowMs: number, mayMake: boolean, make: () => T): T | null {
    if (this.#of !== of || this.#known.size > REMEMBERED_MAX) this.#known.clear();
    this.#of = of;
    const known = this.#known.get(key);
    if (known !== undefined && Math.abs(nowMs - known.atMs) < this.#lastsMs) return known.value;
    if (!mayMake) return known?.value ?? null;
    const value = make();
    this.#known.set(key, { value, atMs: nowMs });
    return value;
  }
}

const REMEMBERED_MAX = 10_000;
