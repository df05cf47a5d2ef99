import type { Clock, DayKey, Logger, SensorState } from "../core/ports.ts";
import type { Kind, Sensor } from "../core/sensor.ts";
import { addDays, dayOf } from "../core/zone.ts";
import { Backoff } from "../lib/backoff.ts";
import { BackfillJob } from "./backfill-job.ts";
import { Cadence } from "./cadence.ts";
import { type DayRules, dayDue, openDays } from "./days.ts";
import { GatewayClock } from "./gateway-clock.ts";
import type { DayRead, ReadDay } from "./read-day.ts";
import { sensorStates } from "./sensor-states.ts";
import { PRIORITY, type Stream, type Task, TaskQueue } from "./task.ts";

/** Back-off of one (sensor, kind, day), and of the gateway as a whole (services 5, "Retry"). */
const BACKOFF_MIN_MS = 1_000;
const BACKOFF_MAX_MS = 300_000;
/** What the gateway calls a wrong request is tried again after this long: it may be being redeployed. */
const REQUEST_RETRY_MS = 300_000;
/** So many different keys failing with no success between them are the gateway's fault, not the keys'. */
const FAILURES_OF_A_GATEWAY = 5;
/** Intervals grow up to this factor while answers take longer than half of them. */
const SLOWDOWN_MAX = 8;
/** Intervals are shortened at random by up to this share, so that sensors (and boxes) spread out. */
const JITTER = 0.1;
/**
 * Answers that only wait for their commit give their place to the next read, so that a round shares one sync and the
 * gateway is not kept waiting for the disk. So much of them may wait, in small readings (a few MB).
 */
const COMMITTING_MAX = 2_048;
/** The loop looks at calendar and queue at least this often, ms. */
const LOOK_MS = 5_000;

export interface PollOptions extends DayRules {
  readonly intervalMs: number;
  readonly concurrency: number;
  /** 0…1; for tests. */
  readonly random?: () => number;
}

export interface PollParts {
  readonly readDay: ReadDay;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Newest stored time of a stream, so that a restart knows where it was. */
  readonly newestTimeMs: (sensor: string, kind: Kind) => number | null;
  /** True for a day that was read before, by an earlier process too: it stays open for late records. */
  readonly wasRead: (key: DayKey) => boolean;
}

/** Decides what is read when, and keeps a bounded number of reads going. */
export class Poller {
  readonly gatewayClock: GatewayClock;
  readonly #parts: PollParts;
  readonly #options: PollOptions;
  readonly #random: () => number;
  readonly #streams: readonly Stream[];
  readonly #queue = new TaskQueue();
  readonly #running = new Set<Promise<void>>();
  /** Reads that hold one of the places of GATEWAY_CONCURRENCY. */
  #receiving = 0;
  #committing = 0;
  readonly #gatewayBackoff: Backoff;
  /** Keys that failed since the last success. */
  readonly #failing = new Set<Task>();
  #pausedUntil = 0;
  #planned = "";
  /** Counts what makes earlier reads void. */
  #epoch = 0;
  /** Gateway time of the last look at the calendar, s. */
  #plannedSecond = Number.NaN;
  #hasAnswered = false;
  #wake: () => void = () => {};

  constructor(parts: PollParts, options: PollOptions, sensors: readonly Sensor[]) {
    this.#parts = parts;
    this.#options = options;
    this.#random = options.random ?? Math.random;
    this.#gatewayBackoff = new Backoff(BACKOFF_MIN_MS, BACKOFF_MAX_MS, this.#random);
    this.gatewayClock = new GatewayClock(parts.clock);
    this.#streams = sensors.flatMap((sensor) =>
      sensor.kinds.map((kind) => ({
        sensor,
        kind,
        cadence: new Cadence(),
        intervalMs:
          sensor.pollIntervalS === undefined ? options.intervalMs : sensor.pollIntervalS * 1000,
        days: new Map<string, Task>(),
        slowdown: 1,
        lastReadAtMs: null,
        lastDurationMs: 0,
        lastError: null,
        offsetMinutes: null,
      })),
    );
  }

  /** Polls until aborted; reads under way are awaited. */
  async run(signal: AbortSignal): Promise<void> {
    for (const { cadence, sensor, kind } of this.#streams) {
      cadence.seed(this.#parts.newestTimeMs(sensor.code, kind));
    }
    while (!signal.aborted) {
      this.#planDays();
      this.#startReads(signal);
      await this.#untilDue(signal);
    }
    await Promise.all(this.#running);
  }

  /** Reads days again, also such as no window holds; `sensorCode` null means every sensor. */
  backfill(days: readonly string[], sensorCode: string | null): BackfillJob {
    const streams = this.#streams.filter(
      (s) => sensorCode === null || s.sensor.code === sensorCode,
    );
    const job = new BackfillJob(streams.length * days.length);
    for (const day of days) {
      for (const stream of streams) {
        const task = stream.days.get(day) ?? this.#addTask(stream, day, PRIORITY.asked);
        task.jobs.push(job);
        if (!task.isRunning) this.#queue.put(task, this.#parts.clock.monotonic());
      }
    }
    this.#wake();
    return job;
  }

  /** The store lost readings: what the gateway still has of the open days is read again. */
  readAgain(): void {
    this.#parts.logger.warn({}, "days are read again for what the store lost");
    this.#epoch += 1;
    this.#planned = "";
    const now = this.#parts.clock.monotonic();
    for (const stream of this.#streams) {
      for (const task of stream.days.values()) {
        task.lastOkAtMs = null;
        if (!task.isRunning) this.#queue.put(task, now);
      }
    }
    this.#wake();
  }

  /** State of every configured sensor; the battery is the store's to know. */
  sensorStates(): SensorState[] {
    return sensorStates(this.#streams, this.gatewayClock.now());
  }

  /** Gives every stream a task for each day that is open and has none yet. */
  #planDays(): void {
    const now = this.gatewayClock.now();
    // Called after every read: days change with the clock's seconds at most, or with what the records say of the zone.
    const second = Math.floor(now / 1000);
    if (second === this.#plannedSecond && this.#planned !== "") return;
    this.#plannedSecond = second;
    const offsets = [...new Set(this.#streams.map((s) => s.offsetMinutes))];
    const byOffset = new Map(offsets.map((o) => [o, openDays(now, this.#options, o)]));
    const plan = JSON.stringify([...byOffset.values()]);
    if (plan === this.#planned) return;
    this.#planned = plan;
    const reach = addDays(dayOf(now, this.#options.zone), -this.#options.backfillDays);
    for (const stream of this.#streams) {
      const open = byOffset.get(stream.offsetMinutes) ?? [];
      this.#forgetOthers(stream, open);
      for (const day of open) {
        if (stream.days.has(day)) continue;
        const key = { sensor: stream.sensor.code, kind: stream.kind, day };
        if (day < reach && !this.#parts.wasRead(key)) continue;
        const due = dayDue(day, now, this.#options, null, stream.intervalMs, stream.offsetMinutes);
        if (due === null) continue;
        const task = this.#addTask(stream, day, PRIORITY[due.phase]);
        // Before anything is known of the gateway, the running day of one stream asks for all.
        this.#queue.put(task, this.#parts.clock.monotonic());
      }
    }
  }

  /** Days that a wrong clock had us plan, or that passed, are not owed any more. */
  #forgetOthers(stream: Stream, open: readonly string[]): void {
    for (const [day, task] of stream.days) {
      if (open.includes(day) || task.isRunning || task.jobs.length > 0) continue;
      task.ticket += 1;
      stream.days.delete(day);
    }
  }

  #addTask(stream: Stream, day: string, priority: Task["priority"]): Task {
    const task: Task = {
      stream,
      day,
      backoff: new Backoff(BACKOFF_MIN_MS, BACKOFF_MAX_MS, this.#random),
      priority,
      lastOkAtMs: null,
      isRunning: false,
      ticket: 0,
      cuts: 0,
      jobs: [],
    };
    stream.days.set(day, task);
    return task;
  }

  #startReads(signal: AbortSignal): void {
    const now = this.#parts.clock.monotonic();
    // One read at a time until the gateway has answered once: it may be waking up, and the day is not known yet.
    const slots = this.#hasAnswered ? this.#options.concurrency : 1;
    while (now >= this.#pausedUntil && this.#receiving < slots) {
      const task = this.#queue.take(now);
      if (task === null) return;
      task.isRunning = true;
      const read = this.#read(task, signal).finally(() => {
        this.#running.delete(read);
        this.#wake();
      });
      this.#running.add(read);
    }
  }

  async #untilDue(signal: AbortSignal): Promise<void> {
    const now = this.#parts.clock.monotonic();
    const isFull = this.#receiving >= (this.#hasAnswered ? this.#options.concurrency : 1);
    const due = isFull ? null : this.#queue.nextDueAt();
    const until = Math.min(Math.max(due ?? Infinity, this.#pausedUntil), now + LOOK_MS);
    const woken = new AbortController();
    // With a reason of our own: the default one is an error, whose stack costs more than the turn.
    const abort = () => woken.abort(null);
    this.#wake = abort;
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    await this.#parts.clock.sleep(until - now, woken.signal);
    signal.removeEventListener("abort", abort);
  }

  async #read(task: Task, signal: AbortSignal): Promise<void> {
    const { stream } = task;
    const epoch = this.#epoch;
    let holdsPlace = true;
    let weight = 0;
    this.#receiving += 1;
    const leave = () => {
      if (holdsPlace) this.#receiving -= 1;
      holdsPlace = false;
    };
    const read = await this.#parts.readDay(
      {
        sensor: stream.sensor,
        kind: stream.kind,
        day: task.day,
        takeCut: task.cuts >= 2,
        gatewayNow: (dateMs) => this.#observeDate(dateMs),
        received: (waiting) => {
          if (this.#committing + waiting > COMMITTING_MAX) return;
          weight = waiting;
          this.#committing += waiting;
          leave();
          this.#wake();
        },
      },
      signal,
    );
    leave();
    this.#committing -= weight;
    task.isRunning = false;
    if (signal.aborted) return;
    stream.lastReadAtMs = this.#parts.clock.now();
    stream.lastDurationMs = read.durationMs;
    if (read.ok) this.#succeeded(task, read);
    else this.#failed(task, read);
    if (epoch === this.#epoch) return;
    // What it knew when it began is lost since.
    task.lastOkAtMs = null;
    stream.days.set(task.day, task);
    this.#queue.put(task, this.#parts.clock.monotonic());
  }

  /** Every answer tells the time, before its records are judged by it. Returns the gateway's now, ms. */
  #observeDate(dateMs: number | null): number {
    if (dateMs !== null) {
      const jumpMs = this.gatewayClock.observe(dateMs);
      if (jumpMs !== 0 && this.#hasAnswered) this.#clockJumped(jumpMs);
    }
    this.#hasAnswered = true;
    return this.gatewayClock.now();
  }

  /** Times of reads before a jump say nothing any more: everything open is read again soon. */
  #clockJumped(jumpMs: number): void {
    this.#parts.logger.warn({ jumpMs }, "the gateway's clock was set; days are planned anew");
    this.#planned = "";
    const now = this.#parts.clock.monotonic();
    for (const stream of this.#streams) {
      for (const task of stream.days.values()) {
        task.lastOkAtMs = null;
        if (!task.isRunning)
          this.#queue.put(task, now + this.#random() * stream.intervalMs * JITTER);
      }
    }
  }

  #succeeded(task: Task, read: DayRead & { ok: true }): void {
    const { stream } = task;
    const now = this.gatewayClock.now();
    if (stream.lastError !== null) {
      this.#parts.logger.info(where(task), "read again after a fault");
      stream.lastError = null;
    }
    this.#gatewayBackoff.reset();
    this.#failing.clear();
    task.backoff.reset();
    task.cuts = 0;
    stream.slowdown =
      read.durationMs > (stream.intervalMs * stream.slowdown) / 2
        ? Math.min(SLOWDOWN_MAX, stream.slowdown * 2)
        : Math.max(1, stream.slowdown / 2);
    if (task.priority === PRIORITY.today || read.newTimesMs.length > 0) {
      stream.cadence.observe(now, read.newTimesMs, task.lastOkAtMs === null);
    }
    const { offsetMinutes } = read;
    const isNews = offsetMinutes !== null && offsetMinutes !== stream.offsetMinutes;
    if (isNews && task.priority === PRIORITY.today) {
      stream.offsetMinutes = offsetMinutes;
      this.#plannedSecond = Number.NaN;
    }
    task.lastOkAtMs = now;
    this.#settleJobs(task, read.stored, read.known, null);
    this.#requeue(task);
  }

  /** Queues the task's next read, or forgets a day that needs none. */
  #requeue(task: Task): void {
    const { stream } = task;
    const now = this.gatewayClock.now();
    const intervalMs = stream.intervalMs * stream.slowdown;
    const due = dayDue(
      task.day,
      now,
      this.#options,
      task.lastOkAtMs,
      intervalMs,
      stream.offsetMinutes,
    );
    if (due === null) {
      stream.days.delete(task.day);
      return;
    }
    task.priority = PRIORITY[due.phase];
    const jitterMs = intervalMs * JITTER * this.#random();
    const nextMs =
      due.phase === "today"
        ? this.#nextOfToday(stream, now, due.dueAtMs - jitterMs)
        : due.dueAtMs + jitterMs;
    this.#queue.put(task, this.#parts.clock.monotonic() + Math.max(0, nextMs - now));
  }

  /**
   * The running day: when the next record is due by its cadence, at the latest after the interval. Waveform days cost what
   * they weigh: no oftener than half the period, nor than twice the last answer's duration.
   */
  #nextOfToday(stream: Stream, now: number, latestMs: number): number {
    const aimMs = stream.cadence.nextReadMs(now);
    if (stream.kind !== "accel") return aimMs === null ? latestMs : Math.min(aimMs, latestMs);
    const period = stream.cadence.periodMs;
    const earliestMs = now + Math.max((period ?? 0) / 2, 2 * stream.lastDurationMs);
    return Math.max(earliestMs, aimMs ?? latestMs);
  }

  #failed(task: Task, read: DayRead & { ok: false }): void {
    const { stream } = task;
    const monotonic = this.#parts.clock.monotonic();
    if (stream.lastError !== read.message) {
      this.#parts.logger.warn(
        { ...where(task), failureClass: read.failureClass, detail: read.message },
        "read failed",
      );
      stream.lastError = read.message;
    }
    task.cuts =
      read.failureClass === "truncated" || read.failureClass === "too_large" ? task.cuts + 1 : 0;
    // A status number is an answer: the gateway is well.
    if (read.failureClass !== "service_status") this.#failing.add(task);
    const isGateway = read.isGatewayFault || this.#failing.size >= FAILURES_OF_A_GATEWAY;
    if (read.retryAfterMs !== null) {
      this.#pausedUntil = Math.max(this.#pausedUntil, monotonic + read.retryAfterMs);
    } else if (isGateway && monotonic >= this.#pausedUntil) {
      // Calls that were under way when the pause began tell of the same fault: they do not lengthen it.
      this.#pausedUntil = monotonic + this.#gatewayBackoff.next();
    }
    if (task.jobs.length > 0)
      this.#settleJobs(
        task,
        0,
        0,
        `${stream.sensor.code} ${stream.kind} ${task.day}: ${read.message}`,
      );
    if (task.priority === PRIORITY.asked) {
      stream.days.delete(task.day);
      return;
    }
    const due = dayDue(
      task.day,
      this.gatewayClock.now(),
      this.#options,
      null,
      stream.intervalMs,
      stream.offsetMinutes,
    );
    if (due === null) {
      stream.days.delete(task.day);
      return;
    }
    task.priority = PRIORITY[due.phase];
    this.#queue.put(task, monotonic + Math.max(this.#retryMs(task, read), read.retryAfterMs ?? 0));
  }

  #retryMs(task: Task, read: DayRead & { ok: false }): number {
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

  #settleJobs(task: Task, stored: number, known: number, failure: string | null): void {
    for (const job of task.jobs.splice(0)) job.settle(stored, known, failure);
  }
}

function where(task: Task) {
  return { sensor: task.stream.sensor.code, kind: task.stream.kind, day: task.day };
}
