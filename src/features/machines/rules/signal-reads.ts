/** Until when the days of signals have been read, by the gateway's clock. */
import type { DayReadAt } from "../../../core/day.ts";
import type { Tx } from "../../../core/tx.ts";

/** Days remembered of one sensor and kind: more than a year. */
const DAYS_MAX = 400;

export class SignalReads {
  readonly #days = new Map<string, Map<string, number>>();
  /** Reads whose readings the running transaction stores. */
  readonly #running = new Set<{ readonly stream: string; readonly read: DayReadAt }>();

  /** A read whose readings this transaction stores. */
  stage(tx: Tx, stream: string, read: DayReadAt): void {
    const one = { stream, read };
    this.#running.add(one);
    tx.onCommit(() => {
      this.#running.delete(one);
      this.note(stream, read);
    });
    tx.onRollback(() => this.#running.delete(one));
  }

  /** A read that is over. */
  note(stream: string, { day, atMs }: DayReadAt): void {
    const days = this.#days.get(stream) ?? new Map<string, number>();
    this.#days.set(stream, days);
    // The newest read, also where the gateway's clock was set back: by that clock it says less.
    days.set(day, atMs);
    for (const old of [...days.keys()].toSorted().slice(0, -DAYS_MAX)) days.delete(old);
  }

  /** Null: not since the agent started. */
  atMs(stream: string, day: string): number | null {
    let atMs = this.#days.get(stream)?.get(day) ?? null;
    for (const { stream: of, read } of this.#running)
      if (of === stream && read.day === day) atMs = read.atMs;
    return atMs;
  }
}
