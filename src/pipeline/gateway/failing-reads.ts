import type { DayKey } from "../../core/day.ts";

/** More days than this do not fail one by one. */
const REMEMBERED_MAX = 1000;

/**
 * Days whose reads keep failing while others succeed: they back off alone, and say nothing about the gateway (services
 * section 8, fault 4).
 */
export class FailingReads {
  /** By day, how many reads had succeeded when it began to fail; newest last. */
  readonly #failed = new Map<string, number>();
  #successes = 0;

  succeeded(key: DayKey): void {
    this.#successes += 1;
    this.#failed.delete(textOf(key));
  }

  /** True if others were read since the day began to fail. */
  failed(key: DayKey): boolean {
    const text = textOf(key);
    const before = this.#failed.get(text);
    if (before !== undefined) return before < this.#successes;
    this.#failed.set(text, this.#successes);
    const [oldest] = this.#failed.keys();
    if (this.#failed.size > REMEMBERED_MAX && oldest !== undefined) this.#failed.delete(oldest);
    return false;
  }
}

const textOf = ({ sensor, kind, day }: DayKey) => `${sensor} ${kind} ${day}`;
