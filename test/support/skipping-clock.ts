import type { Clock } from "../../src/core/ports.ts";
import { systemClock } from "../../src/lib/clock.ts";

/** The machine's clock for a simulator: it can be stopped, and hours can be left out, while the plant lives on. */
export class SkippingClock implements Clock {
  #skippedMs = 0;
  #stoppedAt: number | null = null;

  now(): number {
    return systemClock.now() - systemClock.monotonic() + this.monotonic();
  }
  monotonic(): number {
    return (this.#stoppedAt ?? systemClock.monotonic()) + this.#skippedMs;
  }
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return systemClock.sleep(ms, signal);
  }
  /** In the simulator's time before its `speed`. */
  skip(ms: number): void {
    this.#skippedMs += ms;
  }
  stop(): void {
    this.#stoppedAt ??= systemClock.monotonic();
  }
  start(): void {
    if (this.#stoppedAt === null) return;
    this.#skippedMs -= systemClock.monotonic() - this.#stoppedAt;
    this.#stoppedAt = null;
  }
}
