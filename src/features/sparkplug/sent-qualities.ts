/**
 * What hosts last received of each metric's quality. `Quality` is sent in births, with every value that is not good, and once more
 * when a value is good again: DATA without the property does not mean "good again" to every host.
 */
import { SPARKPLUG_QUALITY } from "../../core/quality-map.ts";
import type { Property } from "./payload.ts";

const GOOD = SPARKPLUG_QUALITY.good;
const BAD = SPARKPLUG_QUALITY.bad;

/** In data that counts as current, and in any message at all. */
interface SentQuality {
  current: number;
  last: number;
}

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
