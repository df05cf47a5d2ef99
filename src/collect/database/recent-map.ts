/**
 * A map of limited size, which what has not been used for long leaves first: entries move to a young half when they are
 * used, and when that is full, the old half goes.
 */
export class RecentMap<K, V> {
  readonly #halfMax: number;
  #young = new Map<K, V>();
  #old = new Map<K, V>();

  /** @param max entries, about; half of them are certain to stay */
  constructor(max: number) {
    this.#halfMax = Math.ceil(max / 2);
  }

  get(key: K): V | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: K, value: V): void {
    if (this.#young.size >= this.#halfMax && !this.#young.has(key)) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }

  clear(): void {
    this.#old.clear();
    this.#young.clear();
  }
}
