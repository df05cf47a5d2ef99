import type { Gap } from "../../../core/delivery/delivery.ts";
import type { GapLog, PendingGaps } from "../../../core/ports.ts";
import type { GapReader } from "../../../core/query/ports.ts";
import { normalCode } from "../../../core/sensor.ts";
import type { LiveHub } from "../readings/live-hub.ts";

/** Published gaps kept for the dashboard. */
const RECENT_MAX = 200;

/** The store's gap log, with recently published gaps still visible. */
export class GapWatch implements GapReader {
  readonly #gaps: PendingGaps;
  readonly #hub: LiveHub;
  #published: Gap[] = [];

  constructor(gaps: PendingGaps, hub: LiveHub) {
    this.#gaps = gaps;
    this.#hub = hub;
  }

  /** The gaps that one uplink publishes. */
  of(gaps: GapLog): GapLog {
    let handedOut = new Map<number, Gap>();
    return {
      pendingGaps: (max) => {
        const pending = gaps.pendingGaps(max);
        handedOut = new Map(pending.map((gap) => [gap.gapId, gap]));
        return pending;
      },
      settleGaps: (gapIds) => {
        gaps.settleGaps(gapIds);
        for (const id of gapIds) {
          const gap = handedOut.get(id);
          if (gap === undefined) continue;
          this.#published = [gap, ...this.#published].slice(0, RECENT_MAX);
          this.#hub.emit({ type: "gap", gap });
        }
      },
    };
  }

  /** Newest first; those not published yet included. */
  recent(max: number, sensor?: string): readonly Gap[] {
    const code = sensor === undefined ? null : normalCode(sensor);
    const isOwn = (gap: Gap) => code === null || normalCode(gap.sensor) === code;
    const pending = this.#gaps.newestGaps(max, code);
    return [...pending, ...this.#published.filter(isOwn)].slice(0, max);
  }
}
