/**
 * Keeps the store to its days and megabytes. Under pressure goes first what costs nobody anything: delivered readings,
 * then samples, and only then readings that are still owed, oldest first, each counted and told as a gap. What was
 * removed stays known by its identity, so that the gateway's next answer does not bring it back.
 */
import type { Clock, Logger } from "../core/ports.ts";
import { type BufferLimits, PAGE_BYTES } from "./buffer-limits.ts";
import type { BufferMonitor } from "./buffer-monitor.ts";
import type { CommandLog } from "./command-log.ts";
import { DroppedCounts } from "./dropped-counts.ts";
import { Eviction, type EvictionParts, type Slice, startWalk, type Walk } from "./eviction.ts";
import type { Meta } from "./meta.ts";
import { StoreFailure } from "./store-failure.ts";
import type { WriteQueue } from "./write-queue.ts";

export interface RetentionParts extends EvictionParts {
  readonly queue: WriteQueue;
  readonly meta: Meta;
  readonly monitor: BufferMonitor;
  readonly commands: CommandLog;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface RetentionOptions {
  readonly historyDays: number;
  readonly waveformDays: number;
  readonly limits: BufferLimits;
  readonly onDropped: ((reason: string, count: number) => void) | undefined;
}

const DAY_MS = 86_400_000;
/** Between two looks at sizes, and between two looks at ages. */
const PASS_MS = 10_000;
const AGE_PASS_MS = 10 * 60_000;
const SLICE_ROWS = 200;
const WAVEFORM_SLICE_ROWS = 20;
/** Shares of the allowed pages: making room begins above the first and ends below the second. */
const HIGH_WATER = 0.93;
const LOW_WATER = 0.9;
/** Free pages that incremental vacuum gives back in one go. */
const VACUUM_PAGES = 256;
const VACUUM_PAGES_MIN = 32;
/** Share of the file that stays free when the disk wants space back; more than the high-water mark leaves. */
const FREE_SHARE_KEPT = 0.12;
/** Share of the file that may lie free before it shrinks. */
const FREE_SHARE_MAX = 0.25;
const FREE_PAGES_MIN = 1024;

type Phase = "delivered" | "waveforms" | "owed";

export class Retention {
  readonly #parts: RetentionParts;
  readonly #options: RetentionOptions;
  readonly #eviction: Eviction;
  readonly #counts: DroppedCounts;
  #agedAt = Number.NEGATIVE_INFINITY;
  /** Set while owed readings are being given up, so that it is logged once. */
  #episode: string | null = null;
  /** Ends passes between two slices; null where one pass is asked for. */
  #stopping: AbortSignal | null = null;
  /** Upper bound of delivered readings at the last walk that found none. */
  #barren = -1;

  constructor(parts: RetentionParts, options: RetentionOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#eviction = new Eviction(parts);
    this.#counts = new DroppedCounts(parts, options.onDropped);
  }

  get dropped(): Readonly<Record<string, number>> {
    return this.#counts.counts;
  }

  /** At start: counters, and the rows of lanes that are no longer configured. */
  begin(lanes: readonly number[]): void {
    this.#counts.load();
    const { db, logger, queue } = this.#parts;
    for (const row of db.read("SELECT lane, count(*) FROM outbox GROUP BY lane").all()) {
      const lane = row[0] as number;
      if (lanes.includes(lane)) continue;
      queue.direct("remove the queue of a format that is off", () =>
        db.write("DELETE FROM outbox WHERE lane = ?").run(lane),
      );
      logger.warn(
        { lane, readings: row[1] },
        "a format was switched off with readings still queued for it",
      );
      this.#counts.add("format_off", row[1] as number);
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#parts;
    this.#stopping = signal;
    while (!signal.aborted) {
      try {
        await this.pass();
      } catch (error) {
        const failure = StoreFailure.from(error, "retention");
        if (failure.code === "internal") throw error;
        logger.warn({ err: failure }, "retention could not work");
      }
      await clock.sleep(PASS_MS, signal);
    }
  }

  /** One look at sizes and, when due, at ages. */
  async pass(): Promise<void> {
    const { clock, db, meta, monitor, queue } = this.#parts;
    queue.read("look at the store", () => db.read("SELECT 1").all());
    // Nothing else may be due to be written: whether the disk is well again shows here.
    if (queue.failure !== null) meta.set("tried_at_ms", String(clock.now()));
    monitor.sample(this.#owedShare());
    if (clock.monotonic() - this.#agedAt >= AGE_PASS_MS) {
      this.#agedAt = clock.monotonic();
      await this.#age();
    }
    await this.#trimCommands();
    await this.#relieve();
    await this.#shrink();
    monitor.restoreBallast();
  }

  #owedShare(): number {
    const { outbox, readings } = this.#parts;
    const owed = Math.max(0, ...outbox.lanes.map((lane) => lane.pending));
    return readings.count === 0 ? 0 : Math.min(1, owed / readings.count);
  }

  /** Somebody who sends commands without end must not push the readings out. */
  async #trimCommands(): Promise<void> {
    const { clock, commands, queue } = this.#parts;
    for (;;) {
      const count = queue.read("count commands", () => commands.count);
      const excess = Math.min(count - this.#options.limits.commandsMax, SLICE_ROWS);
      if (excess <= 0) return;
      let removed = 0;
      await this.#write(() => {
        removed = commands.trim(excess, clock.now() - DAY_MS);
        return null;
      });
      if (removed === 0) return;
    }
  }

  async #age(): Promise<void> {
    const { clock, db, identities } = this.#parts;
    const { historyDays, limits, waveformDays } = this.#options;
    const historyUntil = clock.now() - historyDays * DAY_MS;
    await this.#each((walk) =>
      this.#eviction.waveforms(
        walk,
        clock.now() - waveformDays * DAY_MS,
        WAVEFORM_SLICE_ROWS,
        false,
      ),
    );
    await this.#each((walk) => this.#eviction.readings(walk, historyUntil, SLICE_ROWS, null));
    // Two days more than readings: a day's progress must not go before its readings may.
    const dayBefore = new Date(historyUntil - 2 * DAY_MS).toISOString().slice(0, 10);
    await this.#write(() => {
      db.write("DELETE FROM day_progress WHERE day < ?").run(dayBefore);
      return null;
    });
    while (identities.count > limits.forgottenMax) {
      await this.#write(() => {
        identities.shrink();
        return null;
      });
    }
  }

  async #each(slice: (walk: Walk) => Slice): Promise<void> {
    const walk = startWalk();
    // Weeks of samples that fell due at once take minutes: who stops the agent does not wait for them.
    while (!walk.isOver && this.#stopping?.aborted !== true) await this.#write(() => slice(walk));
  }

  /** A slice in its own transaction, between those of the others. */
  #write(work: () => Slice | null): Promise<Slice | null> {
    return new Promise((resolve, reject) => {
      let slice: Slice | null = null;
      this.#parts.queue.enqueue(
        {
          what: "retention",
          rows: SLICE_ROWS,
          *run() {
            slice = work();
            yield;
          },
          committed: () => {
            slice?.committed();
            resolve(slice);
          },
          failed: (failure) => {
            this.#parts.identities.load();
            reject(failure);
          },
        },
        0,
      );
    });
  }

  /** Makes room until the low-water mark. */
  async #relieve(): Promise<void> {
    const { db, gaps, monitor } = this.#parts;
    const { all } = monitor.pages();
    const allowed = monitor.pagesAllowed(all);
    db.capPages(allowed);
    let phase: Phase = "delivered";
    let walk = startWalk();
    if (!this.#isAbove(HIGH_WATER, phase)) {
      if (this.#episode !== null) gaps.endEpisode();
      this.#episode = null;
      return;
    }
    while (this.#isAbove(LOW_WATER, phase) && this.#stopping?.aborted !== true) {
      const now = phase;
      const slice = await this.#write(() => this.#evict(now, walk));
      if (slice !== null) this.#tell(now, slice);
      if (!walk.isOver) continue;
      if (phase === "owed") return;
      phase = phase === "delivered" ? "waveforms" : "owed";
      walk = startWalk();
    }
  }

  /** Owed readings make room for new ones only: what others did to the disk is no reason to lose them. */
  #isAbove(share: number, phase: Phase): boolean {
    const { monitor } = this.#parts;
    const { all, free } = monitor.pages();
    const used = all - free;
    if (used > share * monitor.pagesAllowed(all)) return true;
    // A free list that is long enough is given back by `shrink`.
    return phase !== "owed" && monitor.diskShortageBytes() > free * PAGE_BYTES;
  }

  #evict(phase: Phase, walk: Walk): Slice {
    const forever = Number.MAX_SAFE_INTEGER;
    switch (phase) {
      case "delivered":
        return this.#evictDelivered(walk);
      case "waveforms": {
        const slice = this.#eviction.waveforms(walk, forever, WAVEFORM_SLICE_ROWS, true);
        if (slice.givenUp > 0) this.#counts.put(`waveform_${this.#reason()}`, slice.givenUp);
        return slice;
      }
      case "owed": {
        const slice = this.#eviction.readings(walk, forever, SLICE_ROWS, this.#reason());
        if (slice.givenUp > 0) this.#counts.put(this.#reason(), slice.givenUp);
        return slice;
      }
    }
  }

  #evictDelivered(walk: Walk): Slice {
    const { outbox, readings } = this.#parts;
    const delivered = readings.count - Math.max(0, ...outbox.lanes.map((lane) => lane.pending));
    if (delivered <= this.#barren) walk.isOver = true;
    if (walk.isOver) return { removed: 0, givenUp: 0, committed() {} };
    const slice = this.#eviction.readings(walk, Number.MAX_SAFE_INTEGER, SLICE_ROWS, null);
    this.#barren = walk.isOver && slice.removed === 0 ? delivered : -1;
    return slice;
  }

  #reason(): "disk_full" | "buffer_full" {
    return this.#parts.monitor.isDiskShort() ? "disk_full" : "buffer_full";
  }

  #tell(phase: Phase, slice: Slice): void {
    if (slice.givenUp === 0) return;
    const reason = this.#reason();
    this.#counts.dropped(phase === "waveforms" ? `waveform_${reason}` : reason, slice.givenUp);
    if (this.#episode === phase) return;
    this.#episode = phase;
    this.#parts.logger.error(
      { reason, what: phase, limitBytes: this.#options.limits.totalBytes },
      phase === "owed"
        ? "the buffer is full: the oldest undelivered readings are given up"
        : "the buffer is full: undelivered waveforms are given up",
    );
  }

  /** Damage took it, wherever it showed. */
  lost(reason: "damaged" | "damaged_samples"): void {
    this.#counts.dropped(reason, 1);
  }

  /** Gives free pages back to the disk where they are many or the disk needs them. */
  async #shrink(): Promise<void> {
    const { db, monitor } = this.#parts;
    for (;;) {
      const { all, free } = monitor.pages();
      const isMuch = free > Math.max(FREE_PAGES_MIN, all * FREE_SHARE_MAX);
      const isNeeded = all > this.#options.limits.pagesMax || monitor.diskShortageBytes() > 0;
      // Some stay for new readings: without them the next pass would have to give up owed ones.
      const pages = Math.min(VACUUM_PAGES, free - Math.ceil(all * FREE_SHARE_KEPT));
      if (pages < VACUUM_PAGES_MIN || (!isMuch && !isNeeded)) return;
      await this.#write(() => {
        db.writer.exec(`PRAGMA incremental_vacuum(${pages})`);
        return null;
      });
      if (monitor.pages().all >= all) return;
      // The file is cut at a checkpoint only.
      if (isNeeded) db.writer.pragma("wal_checkpoint(TRUNCATE)");
    }
  }

  /** At once and synchronously, after SQLITE_FULL: true when the failed write may be tried again. */
  makeRoom(): boolean {
    const { db, logger, monitor } = this.#parts;
    const hadBallast = monitor.dropBallast();
    let freed = 0;
    try {
      // The -wal is begun again from its start, whatever space the disk has.
      db.writer.pragma("wal_checkpoint(TRUNCATE)");
      const before = monitor.pages();
      db.capPages(monitor.pagesAllowed(before.all));
      for (const phase of ["delivered", "waveforms", "owed"] as const) {
        const walk = startWalk();
        this.#barren = -1;
        while (!walk.isOver && freed < before.all / 20) {
          const slice = db.writer.transaction(() => this.#evict(phase, walk)).immediate();
          slice.committed();
          this.#tell(phase, slice);
          freed = monitor.pages().free - before.free;
        }
      }
    } catch (error) {
      logger.debug({ err: error }, "no room could be made");
    }
    return hadBallast || freed > 0;
  }
}
