import type { DayKey } from "../../core/day.ts";
import type { Runtime } from "../../core/ports.ts";
import { dayOf } from "../../core/time/time-zone.ts";
import type { DayPlan } from "./day-plan.ts";
import type { DayRead, Rejected } from "./day-read.ts";
import { currentDays, type DayDue, type DayRules, isClosed } from "./days.ts";
import type { DaysRead } from "./days-read.ts";
import type { GatewayClock } from "./gateway-clock.ts";
import type { GatewayPause } from "./gateway-pause.ts";
import { triesOf } from "./newest-first.ts";
import {
  nextReadWindow,
  type ReadWindow,
  slowdownAfter,
  taskDue,
  untilRetryMs,
} from "./next-read.ts";
import { type PolledStream, PRIORITY, type Task, type TaskQueue } from "./task.ts";

interface ReadOutcomesParts extends Runtime {
  readonly queue: TaskQueue;
  readonly plan: DayPlan;
  readonly pause: GatewayPause;
  readonly gatewayClock: GatewayClock;
  readonly daysRead: Pick<DaysRead, "note">;
  /** 0…1. */
  readonly random: () => number;
}

/** What the end of a read changes: its stream and day, the pause of the gateway, and when the day is read again. */
export class ReadOutcomes {
  readonly #parts: ReadOutcomesParts;
  readonly #options: DayRules;

  constructor(parts: ReadOutcomesParts, options: DayRules) {
    this.#parts = parts;
    this.#options = options;
  }

  /** `now`: when the response had arrived; the wait for its commit says nothing about the gateway. */
  succeeded(task: Task, read: DayRead & { ok: true }, now: number): void {
    const { stream } = task;
    const { stored, known, durationMs } = read;
    const ms = Math.round(durationMs);
    this.#parts.logger.debug({ ...keyOf(task), stored, known, ms }, "day read");
    if (stream.failure !== null && saysMore(task)) {
      this.#parts.logger.info(keyOf(task), "reads work again after a failure");
      stream.failure = null;
    }
    this.#parts.pause.succeeded();
    task.backoff.reset();
    task.cuts = 0;
    task.tries = 0;
    noteRejected(stream, read.rejected);
    task.hasRecords = stored + known > 0;
    if (task.hasRecords) stream.hasRecords = true;
    stream.slowdown = slowdownAfter(stream, durationMs);
    if (task.priority === PRIORITY.today || read.newTimesMs.length > 0) {
      stream.cadence.observe(now, read.newTimesMs, task.lastOkAtMs === null);
    }
    this.#learnOffset(task, read.offsetMinutes, now);
    task.lastOkAtMs = now;
    if (task.priority === PRIORITY.today && task.day === dayOf(now, this.#options.zone))
      this.#parts.daysRead.note(task.day);
    this.requeue(task);
  }

  /**
   * What new records show about the gateway's zone; those of an ended day, which may precede a DST change, only if it
   * helps.
   */
  #learnOffset({ stream, day, priority }: Task, offsetMinutes: number | null, now: number): void {
    if (offsetMinutes === null || offsetMinutes === stream.offsetMinutes) return;
    const isHelp =
      priority === PRIORITY.today ||
      stream.offsetMinutes === null ||
      currentDays(now, this.#options.zone, offsetMinutes).includes(day);
    if (!isHelp) return;
    stream.offsetMinutes = offsetMinutes;
    this.#parts.plan.renewStream(stream);
  }

  /** Queues the task's next read, or removes a day that needs none. */
  requeue(task: Task): void {
    const now = this.#parts.gatewayClock.now();
    this.#queueIfDue(task, now, (due) => nextReadWindow(task, due, now, this.#parts.random));
  }

  #queueIfDue(task: Task, gatewayNowMs: number, windowOf: (due: DayDue) => ReadWindow): void {
    const due = taskDue(task, gatewayNowMs, this.#options);
    if (task.jobs.length > 0) {
      // Requested while it was read.
      task.priority = due === null ? PRIORITY.requested : PRIORITY[due.phase];
      this.#parts.queue.put(task, this.#parts.clock.monotonic());
      return;
    }
    if (due === null) {
      task.stream.days.delete(task.day);
      if (isClosed(task.day, this.#options.zone, task.lastOkAtMs))
        task.stream.closedDays.add(task.day);
      return;
    }
    task.priority = PRIORITY[due.phase];
    const { fromMs, toMs } = windowOf(due);
    const now = this.#parts.clock.monotonic();
    this.#parts.queue.put(task, now + fromMs, now + toMs);
  }

  failed(task: Task, read: DayRead & { ok: false }): void {
    const { stream } = task;
    const { message, failureClass } = read;
    if (saysMore(task)) {
      if (stream.failure?.message !== message) {
        this.#parts.logger.warn({ ...keyOf(task), failureClass, detail: message }, "read failed");
      }
      stream.failure = { task, message };
    }
    task.cuts = failureClass === "truncated" || failureClass === "too_large" ? task.cuts + 1 : 0;
    task.tries += triesOf(read);
    this.#parts.pause.failed(task, read, this.#parts.clock.monotonic());
    // Requested, and read before: as it was.
    if (stream.closedDays.has(task.day) && task.jobs.length === 0) {
      stream.days.delete(task.day);
      return;
    }
    this.#queueIfDue(task, this.#parts.gatewayClock.now(), () => {
      const retryMs = untilRetryMs(task, read);
      return { fromMs: retryMs, toMs: retryMs };
    });
  }
}

/** Whether the outcome of a day counts beside the failure of another one: that of the current day stands until it is read. */
function saysMore({ day, priority, stream }: Task): boolean {
  const { failure } = stream;
  if (failure === null || priority === PRIORITY.today || failure.task.day === day) return true;
  return failure.task.priority !== PRIORITY.today || !stream.days.has(failure.task.day);
}

function noteRejected(stream: PolledStream, rejected: Rejected | undefined): void {
  if (rejected === undefined) return;
  const { count, isAfterUsable, reason } = rejected;
  stream.rejected = { count: count + (isAfterUsable ? 0 : stream.rejected.count), reason };
}

/** In words. */
export function nameOf({ stream: { sensor, kind }, day }: Task): string {
  return `${sensor.code} ${kind} ${day}`;
}

export function keyOf(task: Task): DayKey {
  return { sensor: task.stream.sensor.code, kind: task.stream.kind, day: task.day };
}
