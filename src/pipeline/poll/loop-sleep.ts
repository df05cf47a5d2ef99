import type { Clock } from "../../core/ports.ts";

/** The sleep of a loop that others wake. */
export class LoopSleep {
  readonly #clock: Clock;
  #wake: () => void = () => {};
  /** When the earliest sleep ends, monotonic ms. */
  #wakesAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wake(): void {
    this.#wake();
  }

  /** Until this time or earlier, monotonic ms; until it is woken; until aborted. */
  until(atMs: number, signal: AbortSignal): Promise<void> {
    this.#wakeAt(atMs, signal);
    return this.untilWoken();
  }

  untilWoken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** A sleep is never cancelled: nearly every turn ends before its time, and the next one uses the same sleep. */
  #wakeAt(until: number, signal: AbortSignal): void {
    if (this.#wakesAt <= until && !signal.aborted) return;
    this.#wakesAt = until;
    void this.#clock.sleep(until - this.#clock.monotonic(), signal).then(() => {
      if (this.#wakesAt === until) this.#wakesAt = Number.POSITIVE_INFINITY;
      this.#wake();
    });
  }
}
