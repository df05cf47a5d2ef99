import type { Property } from "./payload.ts";

/** The tightest limits that judge a value now; absent where there is none. */
export interface MetricLimits {
  readonly high?: number;
  readonly highHigh?: number;
  readonly low?: number;
  readonly lowLow?: number;
}

const NAMES = ["high", "highHigh", "low", "lowLow"] as const;
/** A learned limit drifts with every reading: what is the same by these digits is not told again. */
const DIGITS = 3;

/** What hosts last received of each metric's limits: they are in births, and in the first data after a change. */
export class SentLimits {
  /** By metric name. */
  readonly #sent = new Map<string, MetricLimits>();

  clear(): void {
    this.#sent.clear();
  }

  inBirth(name: string, limits: MetricLimits): Property[] {
    this.#sent.set(name, limits);
    return NAMES.flatMap((key) => propertyOf(key, limits[key]));
  }

  /** Those that differ; null is one that there is no longer. */
  inData(name: string, limits: MetricLimits): Property[] {
    const sent = this.#sent.get(name) ?? {};
    const changed = NAMES.filter((key) => textOf(limits[key]) !== textOf(sent[key]));
    if (changed.length === 0) return [];
    this.#sent.set(name, limits);
    return changed.map((key) => ({ key, type: "Double", value: limits[key] ?? null }));
  }
}

const textOf = (limit: number | undefined) => limit?.toPrecision(DIGITS);

const propertyOf = (key: string, limit: number | undefined): Property[] =>
  limit === undefined ? [] : [{ key, type: "Double", value: limit }];
