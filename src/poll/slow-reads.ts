import type { DayRead } from "./day-read.ts";
import type { Task } from "./task.ts";

/** A failed read that took this long, ms, waited for a response that did not come: the next one may, too. */
const SLOW_MS = 2_000;

/**
 * Reads that may hold their slot of GATEWAY_CONCURRENCY until a time limit ends them. They leave one slot to the others: sensors that
 * do not answer delay nobody else.
 */
export class SlowReads {
  #running = 0;

  /** Whether the last slot is meant for others. */
  mustWait(task: Task, slots: number): boolean {
    return isSlow(task) && this.#running >= Math.max(1, slots - 1);
  }

  /** The returned function tells that the slot is free again. */
  begin(task: Task): () => void {
    if (!isSlow(task)) return () => {};
    this.#running += 1;
    return () => {
      this.#running -= 1;
    };
  }

  ended(task: Task, read: DayRead): void {
    task.isSlow = !read.ok && read.isStoreFault !== true && read.durationMs >= SLOW_MS;
    if (read.ok || task.isSlow) task.stream.isSlow = task.isSlow;
  }
}

/** A day that was read well is trusted although another one of its sensor is slow. */
function isSlow({ isSlow, lastOkAtMs, stream }: Task): boolean {
  return isSlow || (stream.isSlow && lastOkAtMs === null);
}
