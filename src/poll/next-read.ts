import type { DayRead } from "./day-read.ts";
import { type DayDue, type DayRules, dayDue } from "./days.ts";
import { BACKOFF_MAX_MS } from "./gateway-pause.ts";
import type { Stream, Task } from "./task.ts";

/** A request that the gateway rejects as wrong is retried after this long: it may be being redeployed. */
const REQUEST_RETRY_MS = 300_000;
/** Intervals grow up to this factor while responses take longer than half of them. */
const SLOWDOWN_MAX = 8;
/** Intervals are shortened at random by up to this share, so that sensors (and boxes) spread out. */
export const JITTER = 0.1;

/** When a task's day is due by the calendar; null if it needs no further read. */
export function taskDue(task: Task, gatewayNowMs: number, rules: DayRules): DayDue | null {
  const { stream } = task;
  const intervalMs = stream.intervalMs * stream.slowdown;
  return dayDue(task.day, gatewayNowMs, rules, task.lastOkAtMs, intervalMs, stream.offsetMinutes);
}

/** How long until a successfully read day is read again, ms. */
export function untilNextReadMs(
  { stream }: Task,
  due: DayDue,
  gatewayNowMs: number,
  random: () => number,
): number {
  const jitterMs = stream.intervalMs * stream.slowdown * JITTER * random();
  const nextMs =
    due.phase === "today"
      ? nextOfToday(stream, gatewayNowMs, due.dueAtMs - jitterMs)
      : due.dueAtMs + jitterMs;
  return Math.max(0, nextMs - gatewayNowMs);
}

/**
 * The current day: when the next record is expected, at the latest after the interval. Large waveform days are read
 * less often: at least half the period apart, and twice the duration of the last response.
 */
function nextOfToday(stream: Stream, gatewayNowMs: number, latestMs: number): number {
  const aimMs = stream.cadence.nextReadMs(gatewayNowMs);
  if (stream.kind !== "accel") return aimMs === null ? latestMs : Math.min(aimMs, latestMs);
  const period = stream.cadence.periodMs ?? 0;
  const earliestMs = gatewayNowMs + Math.max(period / 2, 2 * stream.lastDurationMs);
  return Math.max(earliestMs, aimMs ?? latestMs);
}

/** How long until a day whose read failed is retried, ms. */
export function untilRetryMs(task: Task, read: DayRead & { ok: false }): number {
  return Math.max(ownRetryMs(task, read), read.retryAfterMs ?? 0);
}

function ownRetryMs(task: Task, read: DayRead & { ok: false }): number {
  switch (read.failureClass) {
    case "service_status":
      return task.stream.intervalMs;
    case "request":
      return REQUEST_RETRY_MS;
    case "configuration":
      return BACKOFF_MAX_MS;
    case "transient":
    case "not_json":
    case "truncated":
    case "too_large":
    case "aborted":
      return task.backoff.next();
  }
}

/** The stream's factor after a response of this duration (services section 8, fault 25). */
export function slowdownAfter({ slowdown, intervalMs }: Stream, durationMs: number): number {
  return durationMs > (intervalMs * slowdown) / 2
    ? Math.min(SLOWDOWN_MAX, slowdown * 2)
    : Math.max(1, slowdown / 2);
}
