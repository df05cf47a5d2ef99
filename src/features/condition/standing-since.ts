/** Since when machines stand, by the stored readings of their running signals. */

import type { RunningSignal } from "../../core/machine.ts";
import { isRunning } from "../../core/machine-state/machine-signals.ts";
import type { PlaceSpan } from "../../core/query/place.ts";
import type { HistoryPosition, HistoryReader } from "../../core/query/ports.ts";
import { storedValues } from "../../core/stored-reading.ts";
import { numberOf } from "../../core/value-number.ts";
import { yieldToLoop } from "../../lib/yield-to-loop.ts";
import type { ConditionSince } from "./rules/condition.ts";

const PAGE = 200;
/** Pages walked back for a machine that nothing is known of: 27 hours of a reading every ten seconds. */
const PAGES_MAX = 50;

interface Walked extends ConditionSince {
  readonly signal: RunningSignal;
  /** Time of the newest reading that was seen: what is stored later is newer. */
  readonly upToMs: number;
}

export class StandingSince {
  readonly #history: Pick<HistoryReader, "page">;
  /** By machine; what was walked once is not walked again. */
  readonly #known = new Map<number, Walked>();

  constructor(history: Pick<HistoryReader, "page">) {
    this.#history = history;
  }

  /**
   * The first reading at which it stood without having run since; null without one. @param spans the signal's sensor and
   * those that it replaced
   */
  async of(
    machine: number,
    signal: RunningSignal,
    spans: readonly PlaceSpan[],
    nowMs: number,
  ): Promise<ConditionSince | null> {
    const before = this.#known.get(machine);
    const known = before?.signal === signal ? before : undefined;
    let first: number | null = null;
    let newest = known?.upToMs ?? 0;
    let after: HistoryPosition | null = null;
    let hasRun = false;
    const left = [...spans];
    for (let pages = 0; pages < PAGES_MAX && !hasRun; pages++) {
      const span = left.at(-1);
      if (span === undefined) break;
      const { sensor, fromMs, toMs } = span;
      const page = this.#history.page({
        sensor,
        kind: signal.kind,
        fromMs: Math.max(fromMs, known === undefined ? 0 : known.upToMs + 1),
        toMs: Math.min(toMs, nowMs + 1),
        order: "descending",
        after,
        limit: PAGE,
      });
      for (const reading of page) {
        const { timeMs, seq } = reading;
        after = { timeMs, seq };
        newest = Math.max(newest, timeMs);
        const value = numberOf(storedValues(reading)[signal.value]);
        if (value === null) continue;
        hasRun = isRunning(signal, value);
        if (hasRun) break;
        first = timeMs;
      }
      if (page.length < PAGE) {
        left.pop();
        after = null;
      }
      await yieldToLoop();
    }
    // It stood all the time since the last walk, as it did then.
    const since =
      !hasRun && left.length === 0 && known !== undefined
        ? { timeMs: known.timeMs, isAtLeast: known.isAtLeast }
        : first === null
          ? null
          : { timeMs: first, isAtLeast: !hasRun };
    if (since === null) this.#known.delete(machine);
    else this.#known.set(machine, { ...since, signal, upToMs: newest });
    return since;
  }
}
