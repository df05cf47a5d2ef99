import type { Gap, GapLog } from "../core/ports.ts";
import type { GapReader } from "../core/query/ports.ts";
import type { LiveHub } from "./live-hub.ts";

/** Told gaps kept for the dashboard. */
const RECENT_MAX = 200;

/** The store's gap log, with the gaps that were told lately still to be seen. */
export class GapWatch implements GapLog, GapReader {
  readonly #gaps: GapLog;
  readonly #hub: LiveHub;
  #told: Gap[] = [];
  #handedOut = new Map<number, Gap>();

  constructor(gaps: GapLog, hub: LiveHub) {
    this.#gaps = gaps;
    this.#hub = hub;
  }

  pendingGaps(max: number): Gap[] {
    const gaps = this.#gaps.pendingGaps(max);
    this.#handedOut = new Map(gaps.map((gap) => [gap.gapId, gap]));
    return gaps;
  }

  settleGaps(gapIds: readonly number[]): void {
    this.#gaps.settleGaps(gapIds);
    for (const id of gapIds) {
      const gap = this.#handedOut.get(id);
      if (gap === undefined) continue;
      this.#told = [gap, ...this.#told].slice(0, RECENT_MAX);
      this.#hub.emit({ type: "gap", gap });
    }
  }

  /** Newest first; such as are not told yet included. */
  recent(max: number): readonly Gap[] {
    return [...this.#gaps.pendingGaps(max).reverse(), ...this.#told].slice(0, max);
  }
}
