import type { DayKey } from "../../core/day.ts";

/** Days whose known part changed this often are read completely from then on (newest first, rewritten days). */
const PREFIX_MISSES_MAX = 3;

/** Days whose known part changes from read to read, with the hashes of their records. Limited, oldest forgotten. */
export class ScannedDays {
  readonly #days = new Map<string, { misses: number; hashes: Set<bigint> | null }>();
  readonly #hashesMax: number;

  constructor(hashesMax: number) {
    this.#hashesMax = hashesMax;
  }

  of(key: DayKey): Set<bigint> | null {
    return this.#days.get(name(key))?.hashes ?? null;
  }

  countMiss(key: DayKey): void {
    const day = this.#days.get(name(key)) ?? { misses: 0, hashes: null };
    this.#days.delete(name(key));
    this.#days.set(name(key), day);
    day.misses += 1;
    if (day.misses >= PREFIX_MISSES_MAX) day.hashes ??= new Set();
    let total = 0;
    for (const { hashes } of this.#days.values()) total += hashes?.size ?? 0;
    for (const [oldest, { hashes }] of this.#days) {
      if (total <= this.#hashesMax || oldest === name(key)) break;
      total -= hashes?.size ?? 0;
      this.#days.delete(oldest);
    }
  }

  forget(key: DayKey): void {
    this.#days.delete(name(key));
  }
}

function name(key: DayKey): string {
  return `${key.day} ${key.kind} ${key.sensor}`;
}
