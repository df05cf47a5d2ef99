import type { Clock } from "../../src/core/ports.ts";
import { systemClock } from "../../src/lib/clock.ts";

/** The machine's clock for a simulator, of which hours can be left out: the plant lives on while nobody waits for it. */
export class SkippingClock implements Clock {
  #skippedMs = 0;

  now(): number {
    return systemClock.now() + this.#skippedMs;
  }
  monotonic(): number {
    return systemClock.monotonic() + this.#skippedMs;
  }
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return systemClock.sleep(ms, signal);
  }
  /** In the simulator's time before its `speed`. */
  skip(ms: number): void {
    this.#skippedMs += ms;
  }
}
