import type { DayRead } from "./day-read.ts";
import { type PolledStream, PRIORITY, type Task } from "./task.ts";

/** After this many failed reads of a day, earlier days continue without it. */
const TRIES_MAX = 3;

/**
 * Whether a past day should wait: the newest reading of a sensor and kind goes live and older ones to history (contract
 * section 6), so the newest day with records is read before earlier ones, unless it cannot be.
 */
export function waitsForNewer({ stream, day, priority, jobs }: Task): boolean {
  if (priority === PRIORITY.today || jobs.length > 0) return false;
  const newer = [...stream.days.values()].filter((other) => other.day > day);
  newer.sort((a, b) => (a.day < b.day ? 1 : -1));
  for (const other of newer) {
    if (other.lastOkAtMs === null && other.tries < TRIES_MAX) return true;
    if (other.hasRecords) return false;
  }
  return false;
}

/** A day that is set aside, perhaps for hours: earlier days continue without it, as after failed reads. */
export function giveWay(task: Task): Task {
  task.tries = TRIES_MAX;
  return task;
}

/** The weight of a failed read, in tries. */
export function triesOf(read: DayRead & { ok: false }): number {
  switch (read.failureClass) {
    // Retried only after minutes, or answered for good.
    case "service_status":
    case "request":
    case "configuration":
      return TRIES_MAX;
    case "transient":
    case "not_json":
    case "truncated":
    case "too_large":
    case "aborted":
      // The gateway was not reached: the fault does not belong to a particular day.
      return read.isGatewayFault && read.retryAfterMs === null ? 0 : 1;
  }
}

/** Days of a stream that waited for a newer one and may be read now. */
export function takeWaiting(stream: PolledStream): Task[] {
  const waiting = [...stream.waiting].filter((task) => stream.days.get(task.day) === task);
  stream.waiting.clear();
  return waiting.filter((task) => !task.isRunning);
}
