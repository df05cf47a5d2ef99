/** When which stream is read. In one file: queue, slots and states of sensors change together. */
import type { SensorState } from "../../core/agent-status.ts";
import type { DayKey } from "../../core/day.ts";
import type { StreamFound, WantedRecords } from "../../core/ports.ts";
import { type Kind, type Sensor, sameCode } from "../../core/sensor.ts";
import type { SiteSource } from "../../core/site-source.ts";
import { NO_TIMES } from "../../core/time/recent-times.ts";
import { dayEndMs } from "../../core/time/time-zone.ts";
import { BackfillJob, serveJobs, settleJobs, wantedOf } from "./backfill-job.ts";
import { DayPlan } from "./day-plan.ts";
import { DaysRead } from "./days-read.ts";
import { GatewayPause } from "./gateway-pause.ts";
import { LoopSleep } from "./loop-sleep.ts";
import { giveWay, takeWaiting, waitsForNewer } from "./newest-first.ts";
import { commitWaitMs, JITTER, taskDue } from "./next-read.ts";
import { type PollOptions, type PollParts } from "./poll-parts.ts";
import { PolledStreams } from "./polled-streams.ts";
import { keyOf, nameOf, ReadOutcomes } from "./read-outcomes.ts";
import { ReadSlots } from "./read-slots.ts";
import { isCatchingUp, sensorStates, stateNotPolled } from "./sensor-states.ts";
import { SilenceMemory } from "./silence-memory.ts";
import { type PolledStream, PRIORITY, type Task, TaskQueue } from "./task.ts";
import { awaitedDays, countsInTrial, streamsFound } from "./trial-reads.ts";

/** How often a pause for lack of space, or of a slot, is checked, ms. */
const HELD_BACK_MS = 1_000;
/** The loop checks calendar and queue at least this often, ms. */
const CHECK_MS = 5_000;

/** Decides what is read when, with a limited number of concurrent reads. */
export class Poller {
  readonly #parts: PollParts;
  readonly #options: PollOptions;
  readonly #random: () => number;
  readonly #site: SiteSource;
  readonly #streams: PolledStreams;
  readonly #queue = new TaskQueue();
  /** Reads in progress. */
  #running = 0;
  readonly #slots: ReadSlots;
  readonly #pause: GatewayPause;
  readonly #plan: DayPlan;
  readonly #outcomes: ReadOutcomes;
  readonly #silence: SilenceMemory;
  /** Monotonic, ms. */
  #silenceDueAt = 0;
  readonly #sleep: LoopSleep;

  constructor(parts: PollParts, options: PollOptions, site: SiteSource) {
    this.#parts = parts;
    this.#options = options;
    this.#random = options.random ?? Math.random;
    this.#sleep = new LoopSleep(parts.clock);
    this.#slots = new ReadSlots(options.concurrency);
    this.#pause = new GatewayPause(this.#random);
    this.#silence = new SilenceMemory(parts.memory);
    this.#site = site;
    this.#streams = new PolledStreams(options.intervalMs);
    this.#streams.take(site.current.sensors);
    const daysRead = new DaysRead(parts.memory);
    const shared = { ...parts, queue: this.#queue, random: this.#random, daysRead };
    this.#plan = new DayPlan(shared, options, this.#streams);
    this.#outcomes = new ReadOutcomes({ ...shared, plan: this.#plan, pause: this.#pause }, options);
  }

  /** Polls until aborted; reads in progress are awaited. */
  async run(signal: AbortSignal): Promise<void> {
    // What an earlier process found silent is silent until its days have been read.
    this.#silenceDueAt = this.#parts.clock.monotonic() + CHECK_MS;
    this.#remember(this.#streams.all);
    const endWatch = this.#site.onChange(({ sensors }) => this.#take(sensors));
    while (!signal.aborted) {
      const jumpMs = this.#parts.gatewayClock.ownJumpMs();
      if (jumpMs !== 0) this.#clockJumped(jumpMs, "this machine's");
      this.#plan.update(this.#parts.gatewayClock.now());
      this.#startReads(signal);
      this.#checkSilence();
      await this.#untilDue(signal);
    }
    endWatch();
    while (this.#running > 0) await this.#sleep.untilWoken();
  }

  #checkSilence(): void {
    const now = this.#parts.clock.monotonic();
    if (now < this.#silenceDueAt) return;
    this.#silenceDueAt = now + CHECK_MS;
    this.#silence.check(this.sensorStates());
  }

  /** What the store knows about these streams. */
  #remember(streams: readonly PolledStream[]): void {
    const keys = streams.map(({ sensor, kind }) => ({ sensor: sensor.code, kind }));
    const recent = this.#parts.recentTimes(keys);
    const startedAt = this.#parts.clock.monotonic();
    for (const [index, stream] of streams.entries()) {
      const { cadence, sensor, kind } = stream;
      stream.wasSilentSinceMs = this.#silence.sinceMs(sensor.code, kind);
      const newestMs = this.#parts.newestTimeMs(sensor.code, kind);
      const isSilent = stream.wasSilentSinceMs !== null && stream.wasSilentSinceMs === newestMs;
      const times = recent[index] ?? NO_TIMES;
      cadence.seed(newestMs, times, isSilent);
      stream.startedAt = startedAt;
      stream.offsetMinutes = times.offsetMinutes;
    }
  }

  /**
   * Another site file is in effect. Unchanged streams continue; reads in progress end as they began. New streams are
   * read as on a first start.
   */
  #take(sensors: readonly Sensor[]): void {
    const { added, removed, retyped } = this.#streams.take(sensors);
    this.#remember(added);
    for (const stream of removed) this.#drop(stream);
    const now = this.#parts.clock.monotonic();
    for (const stream of [...added, ...retyped]) this.#plan.renewStream(stream);
    for (const stream of retyped) {
      stream.failure = null;
      stream.hasRecords = false;
      stream.epoch += 1;
      for (const task of stream.days.values()) {
        task.tries = 0;
        task.backoff.reset();
      }
      this.#reopen(stream, () => now);
    }
    this.#sleep.wake();
  }

  /** Its days are due again as if they had not been read. */
  #reopen(stream: PolledStream, dueAt: () => number): void {
    stream.closedDays.clear();
    for (const task of stream.days.values()) {
      task.lastOkAtMs = null;
      if (!task.isRunning) this.#queue.put(task, dueAt());
    }
  }

  /** Stops reading it; a backfill that waits for its days gets a failure. */
  #drop(stream: PolledStream): void {
    for (const task of stream.days.values()) {
      task.ticket += 1;
      settleJobs(
        [...task.jobs.splice(0), ...task.served.splice(0)],
        `${nameOf(task)}: no longer in the site file`,
      );
    }
    stream.days.clear();
    stream.waiting.clear();
  }

  /** Reads days again, including days outside every window; `sensorCode` null means every sensor. */
  backfill(days: readonly string[], sensorCode: string | null): BackfillJob {
    const streams = this.#streams.all.filter(
      (s) => sensorCode === null || sameCode(s.sensor.code, sensorCode),
    );
    const job = new BackfillJob(streams.length * days.length);
    this.#request(job, streams, days);
    return job;
  }

  /** Reads a day again for stored records that are needed once more; says why if it cannot be read. */
  async readWanted({ sensor, kind, day }: DayKey, wanted: WantedRecords): Promise<string | null> {
    const stream = this.#streams.find(sensor, kind);
    if (stream === undefined) return "no longer in the site file";
    const job = new BackfillJob(1, wanted);
    this.#request(job, [stream], [day]);
    await job.finished;
    return job.failures[0] ?? null;
  }

  #request(job: BackfillJob, streams: readonly PolledStream[], days: readonly string[]): void {
    for (const day of days) {
      for (const stream of streams) {
        const task = stream.days.get(day) ?? this.#plan.addTask(stream, day, PRIORITY.requested);
        task.jobs.push(job);
        if (!task.isRunning) this.#queue.put(task, this.#parts.clock.monotonic());
      }
    }
    this.#sleep.wake();
  }

  /** By sensor and kind, whether records are found. */
  get found(): readonly StreamFound[] {
    return streamsFound(this.#streams.all, this.#parts.gatewayClock.now(), this.#options.zone);
  }

  /** Reads the current days of these sensors and kinds now, regardless of their intervals. */
  readSoon(awaited: readonly Pick<StreamFound, "sensor" | "kind">[]): void {
    const { clock, gatewayClock } = this.#parts;
    for (const { sensor, kind } of awaited) {
      const stream = this.#streams.find(sensor, kind);
      if (stream === undefined) continue;
      for (const task of awaitedDays(stream, gatewayClock.now(), this.#options.zone))
        this.#queue.put(task, clock.monotonic());
    }
    this.#sleep.wake();
  }

  /** The store lost readings: the open days are read again from the gateway. */
  readAgain(): void {
    this.#parts.logger.warn({}, "reading days again because the store lost readings");
    this.#plan.renew();
    const now = this.#parts.clock.monotonic();
    for (const stream of this.#streams.all) {
      stream.epoch += 1;
      this.#reopen(stream, () => now);
    }
    this.#sleep.wake();
  }

  /** True once each stream was read by this process. */
  get hasReadAll(): boolean {
    return this.#streams.all.every(({ lastReadAtMs }) => lastReadAtMs !== null);
  }

  /** State of every configured sensor; the battery comes from the store. */
  sensorStates(): SensorState[] {
    const { all, notPolled } = this.#streams;
    const { clock, gatewayClock } = this.#parts;
    const commitMs = this.#options.commitIntervalMs ?? 0;
    const states = sensorStates(all, gatewayClock.now(), clock.monotonic(), commitMs);
    return [...states, ...notPolled.map((one) => stateNotPolled(one, this.#parts.newestTimeMs))];
  }

  /** States of the sensors that are known well enough to say whether they are silent. */
  settledStates(): SensorState[] {
    const now = this.#parts.clock.monotonic();
    const catchingUp = new Set(
      this.#streams.all.filter((one) => isCatchingUp(one, now)).map(({ sensor }) => sensor.code),
    );
    return this.sensorStates().filter(({ code }) => !catchingUp.has(code));
  }

  /** Days of a sensor and kind that have not been read since they ended, and will be; none while its reads fail. */
  pendingDays(sensor: string, kind: Kind): readonly string[] {
    const stream = this.#streams.find(sensor, kind);
    if (stream === undefined || stream.failure !== null) return [];
    return [...stream.days.values()]
      .filter(({ day, lastOkAtMs }) => {
        return lastOkAtMs === null || lastOkAtMs < dayEndMs(day, this.#options.zone);
      })
      .map(({ day }) => day);
  }

  get #isHeldBack(): boolean {
    return this.#parts.isHeldBack?.() ?? false;
  }

  #startReads(signal: AbortSignal): void {
    if (this.#isHeldBack) return;
    const now = this.#parts.clock.monotonic();
    while (now >= this.#pause.untilMs && !this.#slots.areTaken) {
      const task = this.#queue.take(now);
      if (task === null) return;
      if (waitsForNewer(task)) {
        // The end of that read continues it; the look-up is for days that are not open any more.
        task.stream.waiting.add(task);
        this.#queue.put(task, now + CHECK_MS);
        continue;
      }
      // A day requested explicitly is read at once.
      const asideMs = task.jobs.length > 0 ? 0 : (this.#parts.setAsideMs?.(keyOf(task)) ?? 0);
      if (asideMs > 0) {
        this.#queue.put(giveWay(task), now + asideMs);
        continue;
      }
      if (this.#slots.mustWait(task)) {
        this.#queue.put(task, now + HELD_BACK_MS);
        continue;
      }
      task.isRunning = true;
      this.#running += 1;
      void this.#read(task, signal).finally(() => {
        this.#running -= 1;
        this.#sleep.wake();
      });
    }
  }

  async #untilDue(signal: AbortSignal): Promise<void> {
    const now = this.#parts.clock.monotonic();
    const due = this.#slots.areTaken ? null : this.#queue.nextDueAt();
    const earliest = this.#isHeldBack ? now + HELD_BACK_MS : this.#pause.untilMs;
    const until = Math.min(Math.max(due ?? Infinity, earliest), now + CHECK_MS);
    await this.#sleep.until(until, signal);
  }

  async #read(task: Task, signal: AbortSignal): Promise<void> {
    const { stream } = task;
    const { epoch } = stream;
    let isVoid = false;
    let receivedAtMs: number | null = null;
    const startedAt = this.#parts.clock.monotonic();
    // What is requested from now on waits for the next read: this one was not asked for it.
    serveJobs(task);
    const isDayUnknown = !this.#slots.hasAnswered && task.served.length === 0;
    const slot = this.#slots.take(task);
    const read = await this.#parts.readDay(
      {
        sensor: stream.sensor,
        kind: stream.kind,
        day: task.day,
        acceptPartial: task.cuts >= 2,
        gatewayNow: (dateMs) => {
          // The first response shows which day the gateway is on; with our clock wrong, another was requested. A day
          // that somebody requested explicitly is read all the same.
          const now = this.#observeDate(dateMs);
          isVoid =
            isDayUnknown && dateMs !== null && taskDue(task, now, this.#options)?.phase !== "today";
          return now;
        },
        isVoid: () => isVoid,
        waitMaxMs: commitWaitMs(stream),
        ...wantedOf(task.served),
        received: (waiting) => {
          receivedAtMs = this.#parts.gatewayClock.now();
          if (slot.received(waiting)) this.#sleep.wake();
        },
      },
      signal,
    );
    slot.ended(read);
    task.isRunning = false;
    if (signal.aborted || !this.#streams.has(stream)) return;
    const isHeld = !read.ok && read.isStoreFault === true && this.#isHeldBack;
    if (isHeld) task.jobs.unshift(...task.served.splice(0));
    else settleJobs(task.served.splice(0), read.ok ? read : `${nameOf(task)}: ${read.message}`);
    stream.lastReadAtMs = this.#parts.clock.now();
    stream.lastDurationMs = read.durationMs;
    if (read.ok)
      this.#outcomes.succeeded(task, read, receivedAtMs ?? this.#parts.gatewayClock.now());
    else if (isVoid && read.failureClass === "aborted") this.#outcomes.requeue(task);
    // The gateway and this day have no part in it: both are read as before once there is space.
    else if (isHeld) this.#queue.put(task, this.#parts.clock.monotonic());
    else this.#outcomes.failed(task, read);
    if (task.lastOkAtMs !== null || task.tries > 0) {
      const now = this.#parts.clock.monotonic();
      for (const waiting of takeWaiting(stream)) this.#queue.put(waiting, now);
    }
    if (epoch === stream.epoch) {
      const nowMs = this.#parts.gatewayClock.now();
      const isFound = read.ok && read.stored + read.known > 0;
      if (isFound && countsInTrial(task.day, nowMs, this.#options.zone)) stream.foundAt = startedAt;
      return;
    }
    // What was known has been lost since the read began, or the way of reading has changed.
    stream.hasRecords = false;
    task.lastOkAtMs = null;
    stream.days.set(task.day, task);
    this.#queue.put(task, this.#parts.clock.monotonic());
  }

  /** Every response has the time, which is used before its records are evaluated. Returns the gateway's now, ms. */
  #observeDate(dateMs: number | null): number {
    if (dateMs !== null) {
      const jumpMs = this.#parts.gatewayClock.observe(dateMs);
      if (jumpMs !== 0 && this.#slots.hasAnswered) this.#clockJumped(jumpMs, "the gateway's");
    }
    this.#slots.hasAnswered = true;
    return this.#parts.gatewayClock.now();
  }

  /** Times of reads before a jump are meaningless: everything open is read again soon. */
  #clockJumped(jumpMs: number, whose: string): void {
    this.#parts.logger.warn({ jumpMs }, `${whose} clock has jumped; planning the days again`);
    this.#plan.renew();
    const now = this.#parts.clock.monotonic();
    for (const stream of this.#streams.all)
      this.#reopen(stream, () => now + this.#random() * stream.intervalMs * JITTER);
  }
}
