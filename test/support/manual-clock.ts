import type { Clock } from "../../src/core/ports.ts";

/** A clock that tests turn by hand; sleepers wake in order as it passes their time. */
export class ManualClock implements Clock {
  #now: number;
  #monotonic = 0;
  #sleepers: { at: number; wake: () => void }[] = [];

  constructor(nowMs: number | string = "2026-11-20T12:00:00Z") {
    this.#now = typeof nowMs === "string" ? Date.parse(nowMs) : nowMs;
  }
  /** Whole, as `Date.now` is; `monotonic` may have fractions, as `performance.now` has. */
  now(): number {
    return Math.floor(this.#now);
  }
  monotonic(): number {
    return this.#monotonic;
  }
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const sleeper = {
        at: this.#monotonic + Math.max(0, ms),
        wake: () => {
          this.#sleepers = this.#sleepers.filter((s) => s !== sleeper);
          signal?.removeEventListener("abort", sleeper.wake);
          resolve();
        },
      };
      this.#sleepers.push(sleeper);
      signal?.addEventListener("abort", sleeper.wake, { once: true });
    });
  }
  /** How many are asleep: lets a test wait until the code under test has gone to sleep. */
  get sleeping(): number {
    return this.#sleepers.length;
  }
  /** Earliest wake time from now, ms; null when nobody sleeps. */
  get nextWakeMs(): number | null {
    return this.#sleepers.length === 0
      ? null
      : Math.min(...this.#sleepers.map((s) => s.at)) - this.#monotonic;
  }
  /** Passes time: both clocks go on, sleepers wake in order, pending microtasks run between them. */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    // What is under way goes to sleep first, or it would find the time gone already.
    await new Promise((resolve) => setImmediate(resolve));
    for (;;) {
      const due = this.#sleepers.filter((s) => s.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      const step = Math.max(0, due.at - this.#monotonic);
      this.#monotonic += step;
      this.#now += step;
      due.wake();
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#now += end - this.#monotonic;
    this.#monotonic = end;
    await new Promise((resolve) => setImmediate(resolve));
  }
  /** The wall clock is set; monotonic time does not notice. */
  set(nowMs: number): void {
    this.#now = nowMs;
  }
}
