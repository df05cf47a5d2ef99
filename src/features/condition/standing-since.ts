/** Since when machines stand, by the stored readings of their running signals. */

import type { RunningSignal } from "../../core/machine.ts";
import type { PlaceSpan } from "../../core/query/place.ts";
import type { HistoryPosition, HistoryReader } from "../../core/query/ports.ts";
import { normalCode, type StreamKey } from "../../core/sensor.ts";
import { isDatedAhead, storedValues } from "../../core/stored-reading.ts";
import { numberOf } from "../../core/value-number.ts";
import { yieldToLoop } from "../../lib/yield-to-loop.ts";
import { isRunning } from "../machines/api.ts";
import type { ConditionSince } from "./rules/condition.ts";

const PAGE = 200;
/** Pages walked back for a machine that nothing is known of: 27 hours of a reading every ten seconds. */
const PAGES_MAX = 50;

interface Walked extends ConditionSince {
  readonly signal: RunningSignal;
  /** Time of the newest reading that was seen. */
  readonly upToMs: number;
  /** How many readings had come late when the walk began. */
  readonly late: number;
}

export class StandingSince {
  readonly #history: Pick<HistoryReader, "page">;
  /** By machine; what was walked once is not walked again. */
  readonly #known = new Map<number, Walked>();
  /** By stream of a signal, up to which time its readings were walked, ms, and how many older ones were stored since. */
  readonly #streams = new Map<string, { readonly upToMs: number; readonly late: number }>();

  constructor(history: Pick<HistoryReader, "page">) {
    this.#history = history;
  }

  /** A reading is durable. Where it is older than what was walked, as after an outage, the machine is walked again. */
  stored({ sensor, kind, timeMs }: StreamKey & { readonly timeMs: number }): void {
    const known = this.#streams.get(keyOf(sensor, kind));
    if (known === undefined || timeMs > known.upToMs) return;
    this.#streams.set(keyOf(sensor, kind), { ...known, late: known.late + 1 });
  }

  /** @returns how many late ones there were so far */
  #walked(signal: RunningSignal, spans: readonly PlaceSpan[], upToMs: number): number {
    let all = 0;
    for (const { sensor } of spans) {
      const key = keyOf(sensor, signal.kind);
      const { late } = this.#streams.get(key) ?? { late: 0 };
      this.#streams.set(key, { upToMs, late });
      all += late;
    }
    return all;
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
    // What is stored during the walk may be missed by it.
    const late = this.#walked(signal, spans, nowMs);
    const known = before?.signal === signal && before.late === late ? before : undefined;
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
        if (value === null || isDatedAhead(reading)) continue;
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
    this.#walked(signal, spans, newest);
    // It stood all the time since the last walk, as it did then.
    const since =
      !hasRun && left.length === 0 && known !== undefined
        ? { timeMs: known.timeMs, isAtLeast: known.isAtLeast }
        : first === null
          ? null
          : { timeMs: first, isAtLeast: !hasRun };
    if (since === null) this.#known.delete(machine);
    else this.#known.set(machine, { ...since, signal, upToMs: newest, late });
    return since;
  }
}

const keyOf = (sensor: string, kind: string) => `${normalCode(sensor)}/${kind}`;
