import type { DayKey } from "../../core/day.ts";

/** Days whose known part changed this often are read completely from then on (newest first, rewritten days). */
const PREFIX_MISSES_MAX = 3;

interface ScannedDay {
  readonly date: string;
  misses: number;
  hashes: Set<bigint> | null;
}

/**
 * Days whose known part changes from read to read, with the hashes of their records. Over the limit, hashes of other
 * dates are forgotten, and then no more are taken: their records are decoded and looked up in the store.
 */
export class ScannedDays {
  /** By last use. */
  readonly #days = new Map<string, ScannedDay>();
  readonly #hashesMax: number;
  #count = 0;

  constructor(hashesMax: number) {
    this.#hashesMax = hashesMax;
  }

  /** Hashes that all days hold. */
  get size(): number {
    return this.#count;
  }

  of(key: DayKey): ReadonlySet<bigint> | null {
    return this.#days.get(name(key))?.hashes ?? null;
  }

  countMiss(key: DayKey): void {
    const day = this.#days.get(name(key)) ?? { date: key.day, misses: 0, hashes: null };
    day.misses += 1;
    if (day.misses >= PREFIX_MISSES_MAX) day.hashes ??= new Set();
    this.#use(key, day);
  }

  /** Records of a day that is read completely are known from now on; of another day nothing is kept. */
  remember(key: DayKey, hashes: Iterable<bigint>): void {
    const day = this.#days.get(name(key));
    if (!day?.hashes) return;
    this.#use(key, day);
    for (const hash of hashes) {
      if (day.hashes.has(hash)) continue;
      if (this.#count >= this.#hashesMax && !this.#makeRoom(key.day)) return;
      day.hashes.add(hash);
      this.#count += 1;
    }
  }

  forget(key: DayKey): void {
    this.#remove(name(key));
  }

  #use(key: DayKey, day: ScannedDay): void {
    this.#days.delete(name(key));
    this.#days.set(name(key), day);
  }

  /** Days of one date would take turns. */
  #makeRoom(date: string): boolean {
    for (const [one, { date: of, hashes }] of this.#days) {
      if (of === date || !hashes?.size) continue;
      this.#remove(one);
      return true;
    }
    return false;
  }

  #remove(one: string): void {
    this.#count -= this.#days.get(one)?.hashes?.size ?? 0;
    this.#days.delete(one);
  }
}

function name(key: DayKey): string {
  return `${key.day} ${key.kind} ${key.sensor}`;
}
