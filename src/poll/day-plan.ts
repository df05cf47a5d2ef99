import type { Clock, DayKey } from "../core/ports.ts";
import { addDays, dayOf } from "../core/zone.ts";
import { Backoff } from "../lib/backoff.ts";
import { type DayRules, openDays } from "./days.ts";
import { BACKOFF_MAX_MS, BACKOFF_MIN_MS } from "./gateway-pause.ts";
import { taskDue } from "./next-read.ts";
import { PRIORITY, type Stream, type Task, type TaskQueue } from "./task.ts";

interface PlanParts {
  readonly queue: TaskQueue;
  readonly clock: Clock;
  readonly random: () => number;
  /** True for a day that was read before, by an earlier process too: it stays open for late records. */
  readonly wasRead: (key: DayKey) => boolean;
}

/** Gives every stream a task for each day that is open, as the gateway's calendar moves on. */
export class DayPlan {
  readonly #parts: PlanParts;
  readonly #rules: DayRules;
  readonly #streams: readonly Stream[];
  /** The open days that have their tasks, as text; empty = none yet. */
  #planned = "";
  /** Gateway time of the last look, s. */
  #lookedSecond = Number.NaN;

  constructor(parts: PlanParts, rules: DayRules, streams: readonly Stream[]) {
    this.#parts = parts;
    this.#rules = rules;
    this.#streams = streams;
  }

  /**
   * Makes the next look a whole one, though the calendar did not move; also where a stream's records carry another offset
   * than before, for the open days of all offsets may look the same then.
   */
  renew(): void {
    this.#planned = "";
  }

  /** Called before every round; costs nothing while neither the second nor an offset changed. */
  update(gatewayNowMs: number): void {
    const second = Math.floor(gatewayNowMs / 1000);
    if (second === this.#lookedSecond && this.#planned !== "") return;
    this.#lookedSecond = second;
    const offsets = [...new Set(this.#streams.map((s) => s.offsetMinutes))];
    const byOffset = new Map(offsets.map((o) => [o, openDays(gatewayNowMs, this.#rules, o)]));
    const plan = JSON.stringify([...byOffset.values()]);
    if (plan === this.#planned) return;
    this.#planned = plan;
    const reach = addDays(dayOf(gatewayNowMs, this.#rules.zone), -this.#rules.backfillDays);
    for (const stream of this.#streams) {
      const open = byOffset.get(stream.offsetMinutes) ?? [];
      forgetOthers(stream, open);
      for (const day of open) this.#open(stream, day, reach, gatewayNowMs);
    }
  }

  /** A task for the day, in no queue yet. */
  addTask(stream: Stream, day: string, priority: Task["priority"]): Task {
    const task: Task = {
      stream,
      day,
      backoff: new Backoff(BACKOFF_MIN_MS, BACKOFF_MAX_MS, this.#parts.random),
      priority,
      lastOkAtMs: null,
      isRunning: false,
      ticket: 0,
      cuts: 0,
      tries: 0,
      hasRecords: false,
      jobs: [],
    };
    stream.days.set(day, task);
    return task;
  }

  #open(stream: Stream, day: string, reach: string, gatewayNowMs: number): void {
    if (stream.closedDays.has(day)) return;
    const known = stream.days.get(day);
    if (known !== undefined) {
      // The day that was running may have ended since, or a wrong clock took it for the running one.
      const due = taskDue(known, gatewayNowMs, this.#rules);
      if (due !== null && known.priority !== PRIORITY.asked) known.priority = PRIORITY[due.phase];
      return;
    }
    const key = { sensor: stream.sensor.code, kind: stream.kind, day };
    if (day < reach && !this.#parts.wasRead(key)) return;
    const task = this.addTask(stream, day, PRIORITY.missed);
    const due = taskDue(task, gatewayNowMs, this.#rules);
    if (due === null) {
      stream.days.delete(day);
      return;
    }
    task.priority = PRIORITY[due.phase];
    this.#parts.queue.put(task, this.#parts.clock.monotonic());
  }
}

/** Days that a wrong clock had us plan, or that passed, are not owed any more. */
function forgetOthers(stream: Stream, open: readonly string[]): void {
  for (const [day, task] of stream.days) {
    if (open.includes(day) || task.isRunning || task.jobs.length > 0) continue;
    task.ticket += 1;
    stream.days.delete(day);
  }
  for (const day of stream.closedDays) if (!open.includes(day)) stream.closedDays.delete(day);
}
