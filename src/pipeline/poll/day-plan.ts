import type { Clock } from "../../core/ports.ts";
import type { StreamKey } from "../../core/sensor.ts";
import { addDays, dayOf } from "../../core/time/time-zone.ts";
import { Backoff } from "../../lib/backoff.ts";
import { type DayRules, isClosed, openDays } from "./days.ts";
import type { DaysRead } from "./days-read.ts";
import { BACKOFF_MAX_MS, BACKOFF_MIN_MS } from "./gateway-pause.ts";
import { taskDue } from "./next-read.ts";
import type { PollParts } from "./poll-parts.ts";
import type { PolledStreams } from "./polled-streams.ts";
import { type PolledStream, PRIORITY, type Task, type TaskQueue } from "./task.ts";

interface PlanParts {
  readonly queue: TaskQueue;
  readonly clock: Clock;
  readonly random: () => number;
  readonly readOn: PollParts["readOn"];
  readonly newestTimeMs: PollParts["newestTimeMs"];
  readonly daysRead: Pick<DaysRead, "includes">;
}

type PlannedStreams = Pick<PolledStreams, "all" | "has">;

interface OpenDays {
  readonly days: readonly string[];
  readonly text: string;
  /** First day that is read although it never was. */
  readonly reach: string;
}

/** Creates a task for each open day of every stream, as the gateway's calendar advances. */
export class DayPlan {
  readonly #parts: PlanParts;
  readonly #rules: DayRules;
  readonly #streams: PlannedStreams;
  /** The open days by the offset in records, as of the last check. */
  #open = new Map<number | null, OpenDays>();
  /** Which streams were read on a day, during one check. */
  readonly #read = new Map<string, (stream: StreamKey) => boolean>();
  /** The open days for which each stream has its tasks, as text. */
  #planned = new WeakMap<PolledStream, string>();
  /** Streams to be planned before the calendar advances. */
  readonly #waiting = new Set<PolledStream>();
  #isWhole = true;
  /** Gateway time of the last check, s. */
  #lookedSecond = Number.NaN;

  constructor(parts: PlanParts, rules: DayRules, streams: PlannedStreams) {
    this.#parts = parts;
    this.#rules = rules;
    this.#streams = streams;
  }

  /** Forces a full check, although the calendar has not changed. */
  renew(): void {
    this.#isWhole = true;
  }

  /** The stream is new, or its records have a new offset: only its days are planned again. */
  renewStream(stream: PolledStream): void {
    this.#waiting.add(stream);
  }

  /** Called before every round; costs nothing while neither the second nor an offset has changed. */
  update(gatewayNowMs: number): void {
    this.#read.clear();
    const second = Math.floor(gatewayNowMs / 1000);
    if (this.#isWhole || second !== this.#lookedSecond) {
      this.#lookedSecond = second;
      this.#open.clear();
      if (this.#isWhole) this.#planned = new WeakMap();
      this.#isWhole = false;
      for (const stream of this.#streams.all) this.#plan(stream, gatewayNowMs);
    } else {
      for (const stream of this.#waiting) {
        if (!this.#streams.has(stream)) continue;
        this.#planned.delete(stream);
        this.#plan(stream, gatewayNowMs);
      }
    }
    this.#waiting.clear();
  }

  #wasRead({ sensor, kind }: PolledStream, day: string): boolean {
    let isRead = this.#read.get(day);
    if (isRead === undefined) {
      isRead = this.#parts.readOn(day);
      this.#read.set(day, isRead);
    }
    if (isRead({ sensor: sensor.code, kind })) return true;
    // Read and found empty, unless the sensor is new.
    const { daysRead, newestTimeMs } = this.#parts;
    return daysRead.includes(day) && newestTimeMs(sensor.code, kind) !== null;
  }

  #plan(stream: PolledStream, gatewayNowMs: number): void {
    const { days, text, reach } = this.#openDays(stream.offsetMinutes, gatewayNowMs);
    if (this.#planned.get(stream) === text && !this.#waiting.has(stream)) return;
    this.#planned.set(stream, text);
    forgetOthers(stream, days);
    for (const day of days) this.#openDay(stream, day, reach, gatewayNowMs);
  }

  #openDays(offsetMinutes: number | null, gatewayNowMs: number): OpenDays {
    let open = this.#open.get(offsetMinutes);
    if (open === undefined) {
      const days = openDays(gatewayNowMs, this.#rules, offsetMinutes);
      const today = dayOf(gatewayNowMs, this.#rules.zone);
      const reach = addDays(today, -this.#rules.backfillDays);
      open = { days, text: days.join(), reach };
      this.#open.set(offsetMinutes, open);
    }
    return open;
  }

  /** A task for the day, in no queue yet. */
  addTask(stream: PolledStream, day: string, priority: Task["priority"]): Task {
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
      isSlow: false,
      hasRecords: false,
      jobs: [],
      served: [],
    };
    stream.days.set(day, task);
    return task;
  }

  #openDay(stream: PolledStream, day: string, reach: string, gatewayNowMs: number): void {
    if (stream.closedDays.has(day)) {
      if (isClosed(day, this.#rules.zone, gatewayNowMs)) return;
      // It was closed by a clock that has been set back since.
      stream.closedDays.delete(day);
    }
    const known = stream.days.get(day);
    if (known !== undefined) {
      // The day that was current may have ended since, or a wrong clock took it for the current one.
      const due = taskDue(known, gatewayNowMs, this.#rules);
      if (due === null || known.priority === PRIORITY.requested) return;
      const hasReturned = due.phase === "today" && known.priority !== PRIORITY.today;
      known.priority = PRIORITY[due.phase];
      // It ended by a clock that has been set back since: its next read may be as far away as that of an ended day.
      if (hasReturned && !known.isRunning)
        this.#parts.queue.put(known, this.#parts.clock.monotonic());
      return;
    }
    if (day < reach && !this.#wasRead(stream, day)) return;
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

/** Days that were planned because of a wrong clock, or that have passed, are no longer due. */
function forgetOthers(stream: PolledStream, open: readonly string[]): void {
  for (const [day, task] of stream.days) {
    if (open.includes(day) || task.isRunning || task.jobs.length > 0) continue;
    task.ticket += 1;
    stream.days.delete(day);
  }
  for (const day of stream.closedDays) if (!open.includes(day)) stream.closedDays.delete(day);
}
