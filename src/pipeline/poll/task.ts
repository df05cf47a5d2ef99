import type { PolledKind, Sensor } from "../../core/sensor.ts";
import type { Backoff } from "../../lib/backoff.ts";
import { Heap } from "../../lib/heap.ts";
import type { BackfillJob } from "./backfill-job.ts";
import type { Cadence } from "./cadence.ts";

/** One kind of one sensor: the unit of polling. */
export interface PolledStream {
  /** As it is now in the site file. */
  sensor: Sensor;
  readonly kind: PolledKind;
  readonly cadence: Cadence;
  intervalMs: number;
  /** POLL_INTERVAL_S: with it a silent sensor is asked, whatever its own interval. */
  usualIntervalMs?: number;
  readonly days: Map<string, Task>;
  /** Days that got their closing read from this process: they are not reopened. */
  readonly closedDays: Set<string>;
  /** Days that wait for a newer one (newest-first.ts). */
  readonly waiting: Set<Task>;
  /** Grows while responses take longer than half the interval (services section 8, fault 25). */
  slowdown: number;
  /** Newest record, ms, with which it was silent when the last process ended; null if it was not. */
  wasSilentSinceMs: number | null;
  /** When this process began to read it, monotonic ms. */
  startedAt: number;
  /** Our clock, ms. */
  lastReadAtMs: number | null;
  lastDurationMs: number;
  /** A read failed after it had held its slot for long, and none was good since (read-slots.ts). */
  isSlow: boolean;
  /** The last read that failed and what it said; null once reads work again. */
  failure: { readonly task: Task; readonly message: string } | null;
  /** Records that could not be used since the last one that could, and why. */
  rejected: { readonly count: number; readonly reason: string };
  /** True once a read found records since it is read in this way. */
  hasRecords: boolean;
  /** When the newest read began that found records of today or the day before, monotonic ms. */
  foundAt: number | null;
  /** Counts events that make its earlier reads invalid. */
  epoch: number;
  /** UTC offset of its newest record, minutes. */
  offsetMinutes: number | null;
}

export const PRIORITY = { today: 0, late: 1, missed: 2, requested: 3 } as const;
type Priority = (typeof PRIORITY)[keyof typeof PRIORITY];

/** One (sensor, kind, day) with its due time. */
export interface Task {
  readonly stream: PolledStream;
  readonly day: string;
  readonly backoff: Backoff;
  priority: Priority;
  /** Gateway time of its last good read by this process, ms. */
  lastOkAtMs: number | null;
  isRunning: boolean;
  /** Queue entries with an older ticket are invalid. */
  ticket: number;
  /** Consecutive truncated responses: the complete part of the third is used. */
  cuts: number;
  /** Failed reads since the last good one (newest-first.ts). */
  tries: number;
  /** The last read failed after it had held its slot for long (read-slots.ts). */
  isSlow: boolean;
  /** True if its last good read found records. */
  hasRecords: boolean;
  /** Who waits for its next read. */
  jobs: BackfillJob[];
  /** Who waits for the one under way. */
  served: BackfillJob[];
}

interface QueuedTask {
  readonly task: Task;
  readonly ticket: number;
  readonly dueAt: number;
  readonly latestAt: number;
}

/** Reads of past days wait for the current days, but after this many of those one of them goes first. */
const STARVATION_LIMIT = 8;
/**
 * So many reads go out together where their times allow it. The CPU of a read is mostly that of waking up with cold caches: 55 small
 * polls cost 26 ms in one burst, 35 in groups of six, 64 to 71 one by one. Larger groups bring little more and load the gateway.
 */
const GROUP = 6;

/** Tasks by the time at which they must be read (monotonic ms); among due tasks the current day goes first. */
export class TaskQueue {
  readonly #waiting = new Heap<QueuedTask>((a, b) => a.latestAt < b.latestAt);
  readonly #today = new Heap<QueuedTask>((a, b) => a.dueAt < b.dueAt);
  readonly #past = new Heap<QueuedTask>(
    (a, b) =>
      a.task.priority < b.task.priority ||
      (a.task.priority === b.task.priority && a.dueAt < b.dueAt),
  );
  #sincePast = 0;

  /**
   * Sets the task's only place in the queue; an earlier one becomes invalid.
   * @param latestAt until then it may wait for others with which it goes out
   */
  put(task: Task, dueAt: number, latestAt = dueAt): void {
    task.ticket += 1;
    this.#waiting.push({ task, ticket: task.ticket, dueAt, latestAt });
  }

  /** The next task that is due, or null. */
  take(now: number): Task | null {
    this.#gather(now);
    const pastFirst = this.#sincePast >= STARVATION_LIMIT;
    const entry = pastFirst
      ? (popValid(this.#past) ?? popValid(this.#today))
      : (popValid(this.#today) ?? popValid(this.#past));
    if (!entry) return null;
    this.#sincePast = entry.task.priority === PRIORITY.today ? this.#sincePast + 1 : 0;
    return entry.task;
  }

  /** Takes what must be read now and, with it, what may be. */
  #gather(now: number): void {
    const early: QueuedTask[] = [];
    let count = 0;
    for (let next = this.#waiting.peek(); next !== undefined; next = this.#waiting.peek()) {
      const isMet = count > 0 && count < GROUP && early.length < GROUP;
      if (next.latestAt > now && !isMet) break;
      this.#waiting.pop();
      if (!isValid(next)) continue;
      if (next.dueAt > now) early.push(next);
      else {
        (next.task.priority === PRIORITY.today ? this.#today : this.#past).push(next);
        count += 1;
      }
    }
    for (const entry of early) this.#waiting.push(entry);
  }

  /** When the next task must be read, monotonic ms; 0 if one is due already, null if none waits. */
  nextDueAt(): number | null {
    let next = this.#waiting.peek();
    for (; next !== undefined && !isValid(next); next = this.#waiting.peek()) this.#waiting.pop();
    return this.#today.size + this.#past.size > 0 ? 0 : (next?.latestAt ?? null);
  }
}

function isValid(entry: QueuedTask): boolean {
  return entry.ticket === entry.task.ticket && !entry.task.isRunning;
}

function popValid(heap: Heap<QueuedTask>): QueuedTask | null {
  for (let entry = heap.pop(); entry; entry = heap.pop()) if (isValid(entry)) return entry;
  return null;
}
