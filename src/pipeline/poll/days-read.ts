import { addDays } from "../../core/time/time-zone.ts";
import type { PollParts } from "./poll-parts.ts";

const NAME = "days_read";

/** Days that were read as the current one, one after the other, both ends in. */
interface Days {
  readonly from: string;
  readonly to: string;
}

/**
 * The latest of them, kept over restarts: a day without records leaves nothing else behind, and stays open for late ones (days.ts).
 */
export class DaysRead {
  readonly #memory: PollParts["memory"];
  /** Undefined until it has been looked up. */
  #before: Days | null | undefined;
  #now: Days | null = null;

  constructor(memory: PollParts["memory"]) {
    this.#memory = memory;
  }

  /** By earlier processes. */
  includes(day: string): boolean {
    const before = this.#earlier();
    return before !== null && before.from <= day && day <= before.to;
  }

  #earlier(): Days | null {
    if (this.#before !== undefined) return this.#before;
    const [from, to] = this.#memory.get(NAME)?.split(" ") ?? [];
    this.#before = from === undefined || to === undefined ? null : { from, to };
    return this.#before;
  }

  note(day: string): void {
    if (day === this.#now?.to) return;
    const last = this.#now ?? this.#earlier();
    const isNext = last !== null && (last.to === day || addDays(last.to, 1) === day);
    this.#now = { from: isNext ? last.from : day, to: day };
    if (last?.to === day) return;
    try {
      this.#memory.set(NAME, `${this.#now.from} ${day}`);
    } catch {
      // Not tried again: making space for it would delay each read of a full store.
    }
  }
}
