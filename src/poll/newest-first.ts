import type { DayRead } from "./day-read.ts";
import { PRIORITY, type Stream, type Task } from "./task.ts";

/** So many failed reads of a day, and the days before go on without it. */
const TRIES_MAX = 3;

/**
 * Whether a day gone by is to wait: the newest reading of a sensor and kind goes live and older ones to history
 * (contract 6), so the newest day that has records is read before those behind it, unless it cannot be.
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

/** How many tries a failed read counts for. */
export function triesOf(read: DayRead & { ok: false }): number {
  switch (read.failureClass) {
    // Tried again after minutes only, or answered for good.
    case "service_status":
    case "request":
    case "configuration":
      return TRIES_MAX;
    case "transient":
    case "not_json":
    case "truncated":
    case "too_large":
    case "aborted":
      // Nothing was reached: the fault is no particular day's.
      return read.isGatewayFault && read.retryAfterMs === null ? 0 : 1;
  }
}

/** Days of a stream that wait for a newer one, taken out of their wait. */
export function takeWaiting(stream: Stream): Task[] {
  const waiting = [...stream.waiting].filter((task) => stream.days.get(task.day) === task);
  stream.waiting.clear();
  return waiting.filter((task) => !task.isRunning);
}
