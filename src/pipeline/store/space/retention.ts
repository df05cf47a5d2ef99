/**
 * Keeps the store within its days and megabytes. Under pressure, delivered readings are deleted first, then samples,
 * and only then pending readings, oldest first, each counted and reported as a gap. Removed readings stay known by
 * their identity, so that the gateway's next response does not restore them.
 */

import type { Runtime } from "../../../core/ports.ts";
import type { GatewayTime } from "../../../core/time/gateway-time.ts";
import { DAY_MS, HOUR_MS } from "../../../core/time-units.ts";
import type { Tx } from "../../../core/tx.ts";
import { LogPace } from "../../../lib/log-pace.ts";
import type { SqliteCommandLog } from "../command-log.ts";
import type { Counting } from "../counting.ts";
import type { Meta } from "../database/meta.ts";
import { StoreFailure } from "../database/store-failure.ts";
import type { Streams } from "../database/streams.ts";
import { oneStep } from "../database/write-job.ts";
import type { WriteQueue } from "../database/write-queue.ts";
import type { Keeping } from "../keeping.ts";
import { LaneChores } from "../outbox/lane-chores.ts";
import type { Lanes } from "../outbox/lanes.ts";
import type { StoredProgress } from "../readings/stored-progress.ts";
import { hourOf } from "../readings/stored-reading.ts";
import type { BufferLimits } from "./buffer-limits.ts";
import type { BufferMonitor } from "./buffer-monitor.ts";
import type { DroppedCounts } from "./dropped-counts.ts";
import { type Cut, Eviction, type EvictionParts } from "./eviction.ts";
import { type EvictionWalk, startWalk } from "./eviction-walk.ts";
import type { FullBuffer } from "./full-buffer.ts";
import type { LogWatch } from "./log-watch.ts";
import { RetentionClock } from "./retention-clock.ts";
import { type Phase, phaseOf, startRun } from "./run.ts";
import { shrink } from "./shrink.ts";

export interface RetentionParts extends EvictionParts, Runtime {
  readonly lanes: Lanes;
  readonly queue: WriteQueue;
  readonly streams: Streams;
  readonly meta: Meta;
  readonly monitor: BufferMonitor;
  readonly full: FullBuffer;
  readonly counts: DroppedCounts;
  readonly commands: SqliteCommandLog;
  readonly keeping: Keeping | null;
  readonly progress: StoredProgress;
  readonly watch: Pick<LogWatch, "isSparing" | "isSuspected">;
  readonly age: Pick<GatewayTime, "now">;
}

export interface RetentionOptions {
  readonly historyDays: number;
  readonly waveformDays: number;
  readonly limits: BufferLimits;
  /** The gateway's clock, ms; null until a response has contained it. */
  readonly gatewayNow?: (() => number | null) | undefined;
  /** Nothing is removed by age while it is false. */
  readonly isClockConfirmed: () => boolean;
}

/** Intervals of the checks of sizes and of ages. */
const PASS_MS = 10_000;
const AGE_PASS_MS = 10 * 60_000;
/** The same while measurements stay because their machines are not known yet. */
const AWAITED_PASS_MS = 60_000;
/** A pass since which nothing was written is not repeated sooner. */
const SETTLED_MS = 60_000;
/** How long a pass files hours, ms: after an upgrade or a repair there may be months. Answers count those that are left. */
const FILING_MS = 1000;
const SLICE_ROWS = 200;
const WAVEFORM_SLICE_ROWS = 20;
/** Shares of the allowed pages: freeing space begins above the first and ends below the second. */
const HIGH_WATER = 0.93;
const LOW_WATER = 0.9;

export class Retention {
  readonly #parts: RetentionParts;
  readonly #options: RetentionOptions;
  readonly #eviction: Eviction;
  readonly #time: RetentionClock;
  readonly #chores: LaneChores;
  readonly #lines: LogPace;
  #agedAt = Number.NEGATIVE_INFINITY;
  /** At the start of the last pass; null if it did not end. */
  #before: { readonly changes: number; readonly atMs: number } | null = null;
  /** Ends passes between two slices; null if a single pass is requested. */
  #stopping: AbortSignal | null = null;
  #filingMs = Number.POSITIVE_INFINITY;
  /** Ended by `wake`. */
  #pause = new AbortController();

  constructor(parts: RetentionParts, options: RetentionOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#eviction = new Eviction(parts);
    this.#time = new RetentionClock({ ...parts, gatewayNow: options.gatewayNow ?? (() => null) });
    this.#chores = new LaneChores(parts);
    this.#lines = new LogPace(parts.clock);
  }

  /** Lanes were added or removed: they are processed at once, or after the pass that runs. */
  wake(): void {
    this.#pause.abort();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#parts;
    this.#stopping = signal;
    signal.addEventListener("abort", () => this.wake(), { once: true });
    // The first readings come before any filing.
    this.#filingMs = 0;
    while (!signal.aborted) {
      try {
        if (!this.#isSettled() && !this.#parts.watch.isSparing) await this.pass();
      } catch (error) {
        const failure = StoreFailure.from(error, "retention");
        if (failure.code === "internal") throw error;
        const line = this.#lines.next("failed");
        if (line !== null) logger.warn({ err: failure, others: line.heldBack }, "retention failed");
      }
      this.#filingMs = FILING_MS;
      await clock.sleep(PASS_MS, this.#pause.signal);
      if (this.#pause.signal.aborted) this.#pause = new AbortController();
    }
  }

  /** One check of sizes and, when due, of ages. */
  async pass(): Promise<void> {
    const { clock, counting, keeping, meta, monitor, queue } = this.#parts;
    const before = { changes: this.#changes(), atMs: clock.monotonic() };
    this.#before = null;
    queue.read("check the store", () => keeping?.measure());
    // Nothing else may be due to be written: this shows whether the disk has recovered.
    if (queue.failure !== null) meta.set("tried_at_ms", String(clock.now()));
    monitor.sample(this.#pendingShare(), (keeping?.state.bytes ?? 0) + (counting?.bytes ?? 0));
    this.#parts.lanes.fileDeferred();
    await this.#chores.run(() => this.#stopping?.aborted === true);
    // While a reader keeps the log, whatever is removed lengthens it.
    if (this.#parts.watch.isSuspected) return;
    if (counting !== null) {
      await this.#fileHours(counting);
      await this.#thinHours(counting);
    }
    if (this.#options.isClockConfirmed() && clock.monotonic() - this.#agedAt >= AGE_PASS_MS) {
      this.#agedAt = clock.monotonic();
      await this.#age();
      if (keeping?.isWaiting) this.#agedAt -= AGE_PASS_MS - AWAITED_PASS_MS;
    }
    await this.#trimCommands();
    await this.#relieve();
    await shrink(this.#parts, this.#options.limits.fileBytesMax);
    monitor.restoreBallast();
    this.#before = before;
  }

  /** What is written, and others on the disk, give a pass something to do at once; time alone can wait for the minute. */
  #isSettled(): boolean {
    const { clock, monitor, queue } = this.#parts;
    const before = this.#before;
    if (before === null || clock.monotonic() - before.atMs >= SETTLED_MS) return false;
    return queue.failure === null && monitor.isDiskAmple() && this.#changes() === before.changes;
  }

  #changes(): number {
    return this.#parts.queue.read("check the store", () => this.#parts.db.changes);
  }

  #pendingShare(): number {
    const { lanes, readings } = this.#parts;
    const pending = Math.max(0, ...lanes.all.map((lane) => lane.pending));
    return readings.count === 0 ? 0 : Math.min(1, pending / readings.count);
  }

  /** Hours that ended an hour ago: what comes late is mostly there. */
  async #fileHours(counting: Counting): Promise<void> {
    const { clock } = this.#parts;
    const nowMs = this.#options.gatewayNow?.() ?? clock.now();
    const untilHour = hourOf(nowMs - HOUR_MS);
    const endsAt = clock.monotonic() + this.#filingMs;
    const isTime = () => this.#stopping?.aborted !== true && clock.monotonic() < endsAt;
    while (isTime() && (await counting.file(untilHour)));
  }

  async #thinHours(counting: Counting): Promise<void> {
    const isTooMuch = () => counting.bytes > this.#options.limits.hoursBytes;
    // A job with nothing to do would end the spacing of commits at every pass.
    if (isTooMuch()) await this.#untilNone(() => Number(isTooMuch() && counting.thin()));
  }

  /** An endless series of commands must not displace the readings. */
  async #trimCommands(): Promise<void> {
    const { clock, commands, queue } = this.#parts;
    for (;;) {
      const count = queue.read("count commands", () => commands.count);
      const excess = Math.min(count - this.#options.limits.commandsMax, SLICE_ROWS);
      if (excess <= 0) return;
      const removed = await this.#write(() => commands.trim(excess, clock.now() - DAY_MS));
      if (removed === 0) return;
    }
  }

  async #age(): Promise<void> {
    const { counting, identities, keeping, progress } = this.#parts;
    const { historyDays, limits, waveformDays } = this.#options;
    const nowMs = this.#time.now();
    const historyUntil = nowMs - historyDays * DAY_MS;
    const waveformsUntil = nowMs - waveformDays * DAY_MS;
    await keeping?.refresh(nowMs);
    const samples = { untilMs: waveformsUntil, nowMs };
    await this.#each((tx, walk) =>
      this.#eviction.waveforms(tx, walk, samples, WAVEFORM_SLICE_ROWS, false),
    );
    const readings = { untilMs: historyUntil, nowMs };
    await this.#each((tx, walk) => this.#eviction.readings(tx, walk, readings, SLICE_ROWS));
    if (keeping !== null) {
      await this.#untilNone(() => keeping.thin(waveformsUntil, WAVEFORM_SLICE_ROWS));
      await this.#untilNone(() => keeping.trim(WAVEFORM_SLICE_ROWS));
    }
    // Two days more than readings: a day's progress must not be deleted before its readings may.
    const dayBefore = new Date(historyUntil - 2 * DAY_MS).toISOString().slice(0, 10);
    await this.#write((tx) => progress.deleteBefore(tx, dayBefore));
    const today = Math.floor(nowMs / DAY_MS);
    if (counting !== null) await this.#untilNone(() => Number(counting.dropOld(today)));
    while (identities.bytes > limits.forgottenBytes)
      await this.#write((tx) => identities.shrink(tx));
  }

  /** Slices that return how much they did. */
  async #untilNone(slice: () => number): Promise<void> {
    for (let done = 1; done > 0 && this.#stopping?.aborted !== true; )
      done = await this.#write(slice);
  }

  async #each(slice: Cut): Promise<void> {
    const walk = startWalk();
    // Weeks of samples that became due at once take minutes: stopping the agent does not wait for them.
    while (!walk.isOver && this.#stopping?.aborted !== true) await this.#step(walk, slice);
  }

  /**
   * One slice. The walk advances when it is committed: one that is rolled back and retried starts at the same position.
   */
  #step(walk: EvictionWalk, slice: Cut): Promise<void> {
    return this.#write((tx) => {
      const at = { ...walk };
      slice(tx, at);
      tx.onCommit(() => Object.assign(walk, at));
    });
  }

  /** In a transaction that may be shared with other writes. */
  #write<T>(work: (tx: Tx) => T): Promise<T> {
    return this.#parts.queue.enqueue(oneStep("retention", SLICE_ROWS, work), 0);
  }

  /** Frees space down to the low-water mark. */
  async #relieve(): Promise<void> {
    const { db, full, monitor } = this.#parts;
    const { all } = monitor.pages();
    const allowed = monitor.pagesAllowed(all);
    db.capPages(allowed);
    if (!this.#isAbove(HIGH_WATER, "delivered")) {
      if (full.relieved()) await this.#write((tx) => full.endShedding(tx));
      return;
    }
    const run = startRun();
    while (this.#stopping?.aborted !== true) {
      const phase = phaseOf(run);
      if (phase === undefined || !this.#isAbove(LOW_WATER, phase)) return;
      await this.#write((tx) => full.free(tx, run, SLICE_ROWS));
    }
  }

  /** Pending readings are dropped only for new ones: a disk filled by others is no reason to lose them. */
  #isAbove(share: number, phase: Phase): boolean {
    const { monitor } = this.#parts;
    const { all, free } = monitor.pages();
    const used = all - free;
    if (used > share * monitor.pagesAllowed(all)) return true;
    // A free list that is long enough is returned by `shrink`.
    return phase !== "pending" && monitor.diskShortageBytes() > free * this.#parts.db.pageBytes;
  }
}
