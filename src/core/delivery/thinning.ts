/** Which readings an uplink leaves out (plant section 23 "Ways out"), by the times of readings. Pure. */
import { createGlob } from "../text/glob.ts";

/** As in the uplinks file. */
export interface OnChange {
  /** Globs over value names, each with the difference, in the value's unit, from which on it has changed. */
  readonly values: Readonly<Record<string, number>>;
  readonly atLeastEveryS?: number;
}

/** What decides about a reading; of what has gone, the newest of each listed value. */
export interface Judged {
  readonly timeMs: number;
  readonly values: Readonly<Record<string, unknown>>;
  readonly quality: Readonly<Record<string, unknown>>;
}

export interface ChangeCheck {
  /** Whether a reading goes, after what went last, if anything did. */
  isChanged(last: Judged | null, reading: Judged): boolean;
  /** What went last once this reading has gone. */
  after(last: Judged | null, reading: Judged): Judged;
}

/** Sums such as 0.1 + 0.2 must not miss a difference of 0.3. */
const ROUNDING = 1e-9;

export function createChangeCheck({ values: listed, atLeastEveryS }: OnChange): ChangeCheck {
  const patterns = Object.entries(listed).map(([pattern, least]) => ({
    matches: createGlob(pattern),
    least,
  }));
  const known = new Map<string, number | null>();
  /** Null if the value is not listed; the first pattern counts. */
  const leastOf = (name: string): number | null => {
    let least = known.get(name);
    if (least === undefined) {
      least = patterns.find(({ matches }) => matches(name))?.least ?? null;
      known.set(name, least);
    }
    return least;
  };
  const listedIn = (values: Judged["values"]) =>
    Object.keys(values).filter((name) => leastOf(name) !== null);
  return {
    isChanged(last, reading) {
      const names = listedIn(reading.values);
      if (last === null || names.length === 0) return true;
      const waitedMs = reading.timeMs - last.timeMs;
      if (atLeastEveryS !== undefined && waitedMs >= atLeastEveryS * 1000) return true;
      return names.some(
        (name) =>
          differs(last.values[name], reading.values[name], leastOf(name) ?? 0) ||
          JSON.stringify(last.quality[name]) !== JSON.stringify(reading.quality[name]),
      );
    },
    after(last, { timeMs, values, quality }) {
      const names = listedIn(values);
      if (names.length === 0 && last !== null) return last;
      const pick = (from: Judged["values"]) =>
        Object.fromEntries(names.map((name) => [name, from[name]]));
      return {
        timeMs,
        values: { ...last?.values, ...pick(values) },
        quality: { ...last?.quality, ...pick(quality) },
      };
    },
  };
}

function differs(before: unknown, now: unknown, least: number): boolean {
  if (typeof before !== "number" || typeof now !== "number") return before !== now;
  const difference = Math.abs(now - before);
  const slack = ROUNDING * Math.max(Math.abs(now), Math.abs(before));
  return difference > 0 && difference + slack >= least;
}

/** The number of the period since 1970 UTC that a time lies in. */
export function periodOf(timeMs: number, everyS: number): number {
  return Math.floor(timeMs / (everyS * 1000));
}
