/** What hosts last received of each metric's quality and limits. */

import type { Property } from "./payload.ts";
import { SPARKPLUG_QUALITY } from "./quality-map.ts";

const GOOD = SPARKPLUG_QUALITY.good;
const BAD = SPARKPLUG_QUALITY.bad;

/** In data that counts as current, and in any message at all. */
interface SentQuality {
  current: number;
  last: number;
}

/**
 * `Quality` is sent in births, with every value that is not good, and once more when a value is good again: DATA without the property
 * does not mean "good again" to every host.
 */
export class SentQualities {
  /** By metric name. */
  readonly #sent = new Map<string, SentQuality>();

  clear(): void {
    this.#sent.clear();
  }

  /** A message was made and not sent: every quality is sent again. */
  resend(): void {
    for (const name of this.#sent.keys()) this.#sent.set(name, { current: BAD, last: BAD });
  }

  /** A birth contains every quality. */
  inBirth(name: string, quality: number, reason: string | null): Property[] {
    const mark = markOf(quality, reason);
    this.#sent.set(name, { current: mark, last: mark });
    return properties(quality, reason);
  }

  inData(name: string, quality: number, reason: string | null, isHistorical: boolean): Property[] {
    const sent = this.#sent.get(name);
    const isNews =
      reason !== null ||
      quality !== GOOD ||
      (sent !== undefined && (sent.current !== GOOD || sent.last !== GOOD));
    if (sent) {
      const mark = markOf(quality, reason);
      sent.last = mark;
      if (!isHistorical) sent.current = mark;
    }
    return isNews ? properties(quality, reason) : [];
  }
}

function properties(quality: number, reason: string | null): Property[] {
  return [
    { key: "Quality", type: "Int32", value: quality },
    { key: "Reason", type: "String", value: reason },
  ];
}

/** An uncertain value has Quality 192 and a reason; it must be cleared like a bad one. */
function markOf(quality: number, reason: string | null): number {
  return reason === null ? quality : BAD;
}

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
