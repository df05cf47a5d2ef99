import type { BufferState } from "../core/agent-status.ts";
import type { OutboxUplink } from "../core/delivery.ts";
import { GatewayTime } from "../core/gateway-time.ts";
import type { LaneChange } from "../core/lane-plan.ts";
import type { GapLog, Outbox } from "../core/ports.ts";
import { DAY_MS } from "../core/time-units.ts";
import { MAIN_UPLINK } from "../core/uplink.ts";
import { AlarmLog } from "./alarms/alarm-log.ts";
import { SqliteAuditLog } from "./audit-log.ts";
import { SqliteCommandLog } from "./command-log.ts";
import { Database } from "./database/database.ts";
import { DirectoryLock } from "./database/directory-lock.ts";
import { Meta } from "./database/meta.ts";
import { StoreFailure } from "./database/store-failure.ts";
import { Streams } from "./database/streams.ts";
import { WriteQueue } from "./database/write-queue.ts";
import { DayMedianTable } from "./hours/day-medians.ts";
import { HourReader } from "./hours/hour-reader.ts";
import { HourlyValues } from "./hours/hourly-values.ts";
import { Keeper } from "./kept/keeper.ts";
import { StoredMeasurements } from "./kept/measurements.ts";
import { SqliteGapLog } from "./outbox/gap-log.ts";
import { Lanes } from "./outbox/lanes.ts";
import { SqliteOutbox } from "./outbox/outbox.ts";
import { Pending } from "./outbox/pending.ts";
import { Thinning } from "./outbox/thinning.ts";
import { History } from "./readings/history.ts";
import { Identities } from "./readings/identities.ts";
import { NewestTimes } from "./readings/newest-times.ts";
import type { ReadingCount } from "./readings/reading-count.ts";
import { SqliteReadingLog } from "./readings/reading-log.ts";
import { StoredProgress } from "./readings/stored-progress.ts";
import { Waveforms } from "./readings/waveforms.ts";
import { openOrRecover, type RecoveryParts } from "./recovery/open-or-recover.ts";
import { SessionTable } from "./session-table.ts";
import { type BufferLimits, shareBuffer } from "./space/buffer-limits.ts";
import { BufferMonitor } from "./space/buffer-monitor.ts";
import { DroppedCounts } from "./space/dropped-counts.ts";
import { FullBuffer } from "./space/full-buffer.ts";
import { Growth } from "./space/growth.ts";
import { Retention } from "./space/retention.ts";
import type { Store, StoreOptions } from "./store.ts";

const COMMIT_WINDOW_MS = 200;
const SETTLE_WINDOW_MS = 50;
/**
 * With spaced commits, outcomes are written with the next readings: a round of polls is one commit, not two. Longer
 * than the usual round; until then a power cut repeats deliveries with the same ids, as it does with acknowledgements
 * that are still on their way.
 */
const SETTLE_WAIT_MS = 120_000;
const TREND_DAYS = 3650;
const MIB = 1 << 20;
/** Kept measurements own what they hold, up to this share of the buffer. */
const KEPT_SHARE = 1 / 4;

/** Opens DATA_DIR for one agent. Throws StoreFailure: the operator must resolve `in_use` and `schema_newer`. */
export function openStore(options: StoreOptions): Store {
  const store = new SqliteStore(options);
  store.open();
  return store;
}

/** The store in one SQLite file. The constructor connects its parts; `open` does the work. */
class SqliteStore implements Store {
  readonly readings: SqliteReadingLog;
  readonly outbox: Outbox & { flush(): Promise<void> };
  readonly gaps: SqliteGapLog;
  readonly waveforms: Waveforms;
  readonly keeper: Keeper;
  readonly measurements: StoredMeasurements;
  readonly history: History;
  readonly hours: HourReader;
  readonly dayMedians: DayMedianTable;
  readonly commands: SqliteCommandLog;
  readonly alarms: AlarmLog;
  readonly audit: SqliteAuditLog;
  readonly sessions: SessionTable;
  readonly meta: Meta;
  readonly statistics: { commits: number; bytesWritten: number; commitSeconds(s: number): void };
  readonly #lanes: Lanes;
  readonly #pending: Pending;
  readonly #outbox: SqliteOutbox;
  readonly #db: Database;
  readonly #queue: WriteQueue;
  readonly #streams: Streams;
  readonly #identities: Identities;
  readonly #monitor: BufferMonitor;
  readonly #counts: DroppedCounts;
  readonly #full: FullBuffer;
  readonly #stored: ReadingCount = { count: 0 };
  readonly #retention: Retention;
  readonly #limits: BufferLimits;
  readonly #recovery: RecoveryParts;
  readonly #options: StoreOptions;
  readonly #recovered = new Set<() => void>();
  #lock: DirectoryLock | null = null;
  #isSuspected = false;
  #isClosed = false;

  constructor(options: StoreOptions) {
    const { clock, logger } = options;
    this.#options = options;
    this.#limits = shareBuffer(options.bufferMaxMb * MIB);
    this.statistics = {
      commits: 0,
      bytesWritten: 0,
      commitSeconds: (seconds) => options.onCommit?.(seconds, this.statistics.bytesWritten),
    };
    const db = new Database({
      dataDir: options.dataDir,
      nativeBinding: options.nativeBinding,
      checkpointBytes: this.#limits.checkpointBytes,
    });
    this.#db = db;
    this.#queue = new WriteQueue({
      db,
      clock,
      logger,
      statistics: this.statistics,
      paceMs: options.commitPaceMs ?? 0,
    });
    const queue = this.#queue;
    this.meta = new Meta(db, queue);
    const streams = new Streams(db);
    const growth = new Growth();
    const newest = new NewestTimes(db);
    const progress = new StoredProgress(db);
    this.#streams = streams;
    this.#identities = new Identities(db, this.meta, newest);
    const counts = new DroppedCounts(this.meta, options.onDropped);
    const stored = this.#stored;
    const hours = new HourlyValues({ db, queue, streams });
    this.hours = new HourReader(db, streams);
    this.dayMedians = new DayMedianTable(db, queue, streams);
    this.#counts = counts;
    this.waveforms = new Waveforms(db, streams, queue, (fileId, err) => {
      logger.error({ err, fileId }, "stored samples are damaged and count as lost");
      counts.note("damaged_samples", 1);
    });
    this.keeper = new Keeper(
      { db, streams },
      {
        wholeMs: options.waveformDays * DAY_MS,
        limitBytes: this.#limits.totalBytes * KEPT_SHARE,
      },
    );
    this.measurements = new StoredMeasurements({ db, streams, queue, keeper: this.keeper });
    const time = new GatewayTime({ clock, gatewayNow: options.gatewayNow });
    const isClockConfirmed = options.isClockConfirmed ?? (() => true);
    const age = { now: () => (isClockConfirmed() ? time.now() : null) };
    const lanes = new Lanes(
      { db, queue, clock, logger, startGraceMs: options.startGraceMs },
      options.uplinks,
    );
    const pending = new Pending({
      db,
      queue,
      lanes,
      thinning: new Thinning({ db, meta: this.meta, streams }),
      onNotSelected: options.onNotSelected ?? (() => {}),
    });
    const outbox = new SqliteOutbox({
      db,
      streams,
      queue,
      lanes,
      pending,
      clock,
      age,
      logger,
      settleWindowMs: (options.commitPaceMs ?? 0) > 0 ? SETTLE_WAIT_MS : SETTLE_WINDOW_MS,
      onLost: () => counts.note("damaged", 1),
    });
    this.#lanes = lanes;
    this.#pending = pending;
    this.#outbox = outbox;
    this.outbox = { ...outbox.of(MAIN_UPLINK), flush: () => outbox.flush() };
    this.alarms = new AlarmLog({
      db,
      queue,
      streams,
      keeper: this.keeper,
      pending,
      clock,
      age: time,
      logger,
      site: options.site ?? (() => ""),
      stored: (count) => {
        stored.count += count;
      },
    });
    this.gaps = new SqliteGapLog(
      {
        db,
        streams,
        queue,
        logger,
        hasBetween: (...between) => this.#identities.hasBetween(...between),
        onLost: options.onLost,
      },
      options.uplinks,
    );
    this.#monitor = new BufferMonitor({
      db,
      limits: this.#limits,
      growth,
      rememberedBytes: () => this.#identities.fileBytes + hours.bytes,
      diskFreeMinBytes: options.diskFreeMinMb * MIB,
      diskFreeBytes: options.diskFreeBytes,
      clock,
      logger,
    });
    this.#full = new FullBuffer({
      db,
      lanes,
      pending,
      readings: stored,
      waveforms: this.waveforms,
      identities: this.#identities,
      gaps: this.gaps,
      hours,
      keeper: this.keeper,
      meta: this.meta,
      monitor: this.#monitor,
      counts,
      clock,
      logger,
      limitBytes: this.#limits.totalBytes,
    });
    this.readings = new SqliteReadingLog(
      {
        alarms: this.alarms,
        db,
        queue,
        streams,
        identities: this.#identities,
        newest,
        progress,
        waveforms: this.waveforms,
        pending,
        gaps: this.gaps,
        full: this.#full,
        stored,
        hours,
        growth,
        clock,
      },
      {
        commitWindowMs: options.commitWindowMs ?? COMMIT_WINDOW_MS,
        transactionBytesMax: this.#limits.walBytes / 2,
      },
    );
    this.history = new History(db, streams, newest);
    this.commands = new SqliteCommandLog(db, queue);
    this.audit = new SqliteAuditLog(db, queue);
    this.sessions = new SessionTable(db, queue);
    this.#recovery = {
      nativeBinding: options.nativeBinding,
      clock,
      logger,
      onProgress: () => options.onProgress?.(),
      lanes,
    };
    this.#retention = new Retention(
      {
        db,
        queue,
        lanes,
        pending,
        streams,
        readings: stored,
        waveforms: this.waveforms,
        identities: this.#identities,
        gaps: this.gaps,
        hours,
        meta: this.meta,
        monitor: this.#monitor,
        full: this.#full,
        counts,
        keeper: this.keeper,
        commands: this.commands,
        progress,
        clock,
        age,
        logger,
      },
      {
        historyDays: options.historyDays,
        gatewayNow: options.gatewayNow,
        isClockConfirmed,
        waveformDays: options.waveformDays,
        trendDays: options.trendDays ?? TREND_DAYS,
        limits: this.#limits,
      },
    );
    queue.connect({
      makeRoom: (oldestMs, isAwaited) => this.#full.makeRoom(oldestMs, isAwaited),
      reopen: (seen) => this.#reopen(seen),
    });
  }

  /** Locks DATA_DIR and opens the file; copies a damaged one first, which may take minutes. Throws StoreFailure. */
  open(): void {
    const { dataDir, logger, nativeBinding } = this.#options;
    const lock = DirectoryLock.take(dataDir, nativeBinding);
    try {
      this.#monitor.alarm = openOrRecover(this.#db, this.#recovery, {
        load: () => {
          this.#load();
          this.waveforms.sweepStaged();
        },
      });
      this.#begin();
    } catch (error) {
      lock.release();
      throw error;
    }
    this.#lock = lock;
    try {
      this.commands.endInterrupted();
    } catch (error) {
      // They are reported as unknown all the same; a full disk must not keep the agent from starting.
      logger.warn({ err: error }, "outcomes of interrupted commands could not be recorded");
    }
  }

  #begin(): void {
    try {
      this.#monitor.start();
      this.#full.load();
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  onRecovered(listener: () => void): void {
    this.#recovered.add(listener);
  }

  #load(): void {
    this.#streams.load();
    this.#identities.load();
    this.readings.load();
    this.#lanes.load();
    this.gaps.load();
    this.alarms.load();
  }

  /**
   * After a failed sync the kernel may have dropped pages that it reports as written; only a new connection reads the
   * disk.
   */
  #reopen(seen: StoreFailure | null): void {
    this.#db.disconnect();
    // A disk that fails to read for a moment can look like damage; a damaged page is found again.
    const isSuspicious = seen?.code === "corrupt";
    const isDamaged = isSuspicious && this.#isSuspected;
    this.#isSuspected = isSuspicious && !isDamaged;
    const alarm = openOrRecover(this.#db, this.#recovery, {
      load: () => this.#load(),
      seen: isDamaged ? seen : null,
    });
    if (alarm === null) return;
    this.#monitor.alarm = alarm;
    this.#monitor.start();
    for (const listener of this.#recovered) listener();
  }

  outboxOf(uplink: string): Outbox {
    return this.#outbox.of(uplink);
  }

  gapsOf(uplink: string): GapLog {
    return this.gaps.of(uplink);
  }

  setUplinks(uplinks: readonly OutboxUplink[]): readonly LaneChange[] {
    const changes = this.#lanes.configure(uplinks);
    this.gaps.uplinks = uplinks;
    if (changes.length > 0) this.#retention.wake();
    return changes;
  }

  state(): BufferState {
    const lanes = Object.fromEntries(
      this.#lanes.all.map((lane) => [lane.name, this.#pending.depth(lane)]),
    );
    return {
      lanes,
      readings: this.#stored.count,
      ...this.#monitor.shown(this.statistics.commits, () => this.#hoursUntilFull()),
      limitBytes: this.#limits.totalBytes,
      hours: { ...this.#hoursState(), limitBytes: this.#limits.hoursBytes },
      dropped: this.#counts.counts,
      alarm: this.#queue.failure?.message ?? this.#monitor.alarm,
      isWritable: !this.#isClosed && this.#queue.failure === null,
      kept: this.keeper.state,
    };
  }

  /** Unknown, too, while the disk cannot be read: displays continue. */
  #hoursUntilFull(): number | null {
    if (!this.#db.isOpen) return null;
    try {
      return this.#queue.read("check sizes", () => this.#monitor.hoursUntilFull());
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      return null;
    }
  }

  /** Zero, too, while the disk cannot be read. */
  #hoursState(): Omit<BufferState["hours"], "limitBytes"> {
    try {
      return this.#queue.read("look up hourly values", () => this.hours.state());
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      return { bytes: 0, oldestHourMs: null, oldestDayMs: null };
    }
  }

  get writeFailure(): string | null {
    const { failure } = this.#queue;
    const isPause = failure?.code === "full" && this.#full.isWaitingForDelivery;
    return failure === null || isPause ? null : failure.message;
  }

  isInPlace(): boolean {
    return this.#isClosed || this.#db.isInPlace;
  }

  isAlive(): boolean {
    if (!this.isInPlace()) return false;
    try {
      // Uses the file's lock and first page: SELECT 1 would not touch either.
      return this.#db.read("SELECT count(*) FROM sqlite_schema").all().length === 1;
    } catch {
      return false;
    }
  }

  runRetention(signal: AbortSignal): Promise<void> {
    return this.#retention.run(signal);
  }

  retain(): Promise<void> {
    return this.#retention.pass();
  }

  commitAtOnce(): void {
    this.#queue.commitAtOnce();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#outbox.flush();
    try {
      this.audit.close();
    } catch {
      // The entries themselves exist; a disk that accepts no more keeps the counts from them.
    }
    this.#outbox.close();
    this.#queue.close();
    this.#db.close();
    this.#monitor.keepRoomToOpen();
    this.#lock?.release();
  }
}
