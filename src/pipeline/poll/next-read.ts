import type { DayRead } from "./day-read.ts";
import { type DayDue, type DayRules, dayDue } from "./days.ts";
import { BACKOFF_MAX_MS } from "./gateway-pause.ts";
import type { PolledStream, Task } from "./task.ts";

/** A request that the gateway rejects as wrong is retried after this long: it may be being redeployed. */
const REQUEST_RETRY_MS = 300_000;
/** A response that could not be stored is asked for again after this long at the latest: the store is written as soon as it can be. */
const STORE_RETRY_MS = 30_000;
/** Intervals grow up to this factor while responses take longer than half of them. */
const SLOWDOWN_MAX = 8;
/** Intervals are shortened at random by up to this share, so that sensors (and boxes) spread out. */
export const JITTER = 0.05;
/** A read may come earlier by up to this share of its interval, to go out with others. */
const FLEXIBLE = 0.1;
/** A read at the time of the next record may be late by this share of the interval, and by this at most, ms, to go out with others. */
const HOLD = 0.1;
const HOLD_MS_MAX = 1_000;

/** No stream is asked again sooner for a record that is expected, ms. */
const AGAIN_MS_MIN = 1_000;

/** In how long a read may be made and in how long it must, ms. */
export interface ReadWindow {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A quiet sensor is asked at the usual interval, and at least this often, ms. */
const QUIET_INTERVAL_MS_MAX = 600_000;

/** How often a quiet sensor is asked until a record comes, ms; null for others. */
function quietIntervalMs(stream: PolledStream, gatewayNowMs: number): number | null {
  const { cadence, intervalMs, slowdown, usualIntervalMs } = stream;
  if (usualIntervalMs === undefined) return null;
  const quietMs = Math.min(usualIntervalMs, QUIET_INTERVAL_MS_MAX);
  const isQuiet = cadence.isQuiet(gatewayNowMs);
  // One that is asked as often anyway goes on as its records have come, in groups perhaps.
  return isQuiet && intervalMs * slowdown > quietMs ? quietMs : null;
}

/** When a task's day is due by the calendar; null if it needs no further read. */
export function taskDue(task: Task, gatewayNowMs: number, rules: DayRules): DayDue | null {
  const { stream } = task;
  const quietMs = quietIntervalMs(stream, gatewayNowMs);
  const intervalMs = quietMs ?? stream.intervalMs * stream.slowdown;
  return dayDue(task.day, gatewayNowMs, rules, task.lastOkAtMs, intervalMs, stream.offsetMinutes);
}

/** When a successfully read day is read again. */
export function nextReadWindow(
  { stream }: Task,
  due: DayDue,
  gatewayNowMs: number,
  random: () => number,
): ReadWindow {
  const quietMs = quietIntervalMs(stream, gatewayNowMs);
  const intervalMs = quietMs ?? stream.intervalMs * stream.slowdown;
  const jitterMs = intervalMs * JITTER * random();
  const isToday = due.phase === "today";
  // An ended day is never read before its time: that read would not close it, and the next would be due at once.
  const { fromMs, toMs } =
    isToday && quietMs === null
      ? windowOfToday(stream, gatewayNowMs, due.dueAtMs, intervalMs, jitterMs)
      : isToday
        ? { fromMs: due.dueAtMs - intervalMs * FLEXIBLE, toMs: due.dueAtMs - jitterMs }
        : { fromMs: due.dueAtMs, toMs: due.dueAtMs + jitterMs };
  const until = (ms: number) => Math.max(0, ms - gatewayNowMs);
  return { fromMs: until(fromMs), toMs: until(toMs) };
}

/**
 * The current day: when the next record is expected, at the latest after the interval. Large waveform days are read
 * less often: at least half the period apart, and twice the duration of the last response.
 */
function windowOfToday(
  stream: PolledStream,
  gatewayNowMs: number,
  latestMs: number,
  intervalMs: number,
  jitterMs: number,
): ReadWindow {
  const holdMs = Math.min(HOLD_MS_MAX, intervalMs * HOLD);
  const leastMs = gatewayNowMs + Math.min(AGAIN_MS_MIN, intervalMs);
  const nextMs = stream.cadence.nextReadMs(gatewayNowMs);
  const aimMs = nextMs === null ? null : Math.max(nextMs, leastMs);
  if (stream.kind === "accel") {
    const period = stream.cadence.periodMs ?? 0;
    const earliestMs = gatewayNowMs + Math.max(period / 2, 2 * stream.lastDurationMs);
    const fromMs = Math.max(earliestMs, aimMs ?? latestMs - jitterMs);
    return { fromMs, toMs: fromMs + holdMs };
  }
  // A record that comes within the interval is waited for: one read for each.
  if (aimMs !== null && aimMs <= latestMs)
    return { fromMs: aimMs, toMs: Math.min(aimMs + holdMs, latestMs) };
  return { fromMs: latestMs - intervalMs * FLEXIBLE, toMs: latestMs - jitterMs };
}

/** A day is read again once its records are stored, so their commit may not hold up the next read of the current day. */
export const commitWaitMs = ({ intervalMs }: PolledStream): number => intervalMs * (1 - FLEXIBLE);

/** How long until a day whose read failed is retried, ms. */
export function untilRetryMs(task: Task, read: DayRead & { ok: false }): number {
  return Math.max(ownRetryMs(task, read), read.retryAfterMs ?? 0);
}

function ownRetryMs(task: Task, read: DayRead & { ok: false }): number {
  if (read.isStoreFault === true) return Math.min(STORE_RETRY_MS, task.backoff.next());
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
export function slowdownAfter({ slowdown, intervalMs }: PolledStream, durationMs: number): number {
  return durationMs > (intervalMs * slowdown) / 2
    ? Math.min(SLOWDOWN_MAX, slowdown * 2)
    : Math.max(1, slowdown / 2);
}
