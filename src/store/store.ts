import type { AlarmStore } from "../core/alarm/ports.ts";
import type { AuditLog } from "../core/audit.ts";
import type { LaneChange } from "../core/lane-plan.ts";
import type {
  BufferState,
  Clock,
  DayKey,
  GapLog,
  Logger,
  Outbox,
  OutboxUplink,
  ReadingLog,
} from "../core/ports.ts";
import type { WaveformFiles } from "../core/query/ports.ts";
import { MAIN_UPLINK } from "../core/uplink.ts";
import { AlarmLog } from "./alarms/alarm-log.ts";
import { SqliteAuditLog } from "./audit-log.ts";
import { CommandLog } from "./command-log.ts";
import { Database } from "./database/database.ts";
import { DirectoryLock } from "./database/directory-lock.ts";
import { Meta } from "./database/meta.ts";
import { StoreFailure } from "./database/store-failure.ts";
import { Streams } from "./database/streams.ts";
import { WriteQueue } from "./database/write-queue.ts";
import { SqliteGapLog } from "./outbox/gap-log.ts";
import { SqliteOutbox } from "./outbox/outbox.ts";
import { History } from "./readings/history.ts";
import { Identities } from "./readings/identities.ts";
import { NewestTimes } from "./readings/newest-times.ts";
import { SqliteReadingLog } from "./readings/reading-log.ts";
import { Waveforms } from "./readings/waveforms.ts";
import { openOrRecover, type RecoveryParts } from "./recovery/open-or-recover.ts";
import { type BufferLimits, shareBuffer } from "./space/buffer-limits.ts";
import { BufferMonitor } from "./space/buffer-monitor.ts";
import { Growth } from "./space/growth.ts";
import { Retention } from "./space/retention.ts";

export interface StoreOptions {
  /** DATA_DIR; made where it is missing. */
  readonly dataDir: string;
  /** Path of better_sqlite3.node beside the bundle; undefined lets the package find it. */
  readonly nativeBinding?: string | undefined;
  /** HISTORY_DAYS, WAVEFORM_DAYS, BUFFER_MAX_MB, DISK_FREE_MIN_MB. */
  readonly historyDays: number;
  /** The gateway's clock, ms; null while no answer told it. Readings grow old by it. */
  readonly gatewayNow?: () => number | null;
  readonly waveformDays: number;
  readonly bufferMaxMb: number;
  readonly diskFreeMinMb: number;
  /** Destinations that are configured now, those first that are asked first to tell gaps of others. */
  readonly uplinks: readonly OutboxUplink[];
  readonly clock: Clock;
  readonly logger: Logger;
  /** Name of the site, for the payload of events; empty unless given. */
  readonly site?: () => string;
  /** Called with the seconds of each commit, for the metrics. */
  readonly onCommit?: (seconds: number) => void;
  /** Called for each reading that is given up, for the metrics. */
  readonly onDropped?: (reason: string, count: number) => void;
  /** An uplink has lost readings that it was owed, which a gap record of it says. */
  readonly onLost?: (uplink: string, reason: string, count: number) => void;
  /** Called when damage that showed while running was repaired: lost days are to be read again. */
  readonly onRecovered?: () => void;
  /** Called about every second while a damaged store is copied, which holds up everything else. */
  readonly onProgress?: () => void;
  /** Group-commit window, ms; 200 unless given. */
  readonly commitWindowMs?: number;
  /** Distance of commits under light load, ms; 0, none, unless given. What is acknowledged is on disk all the same. */
  readonly commitPaceMs?: number;
  /** Free bytes of the disk, where it is not to be asked (tests). */
  readonly diskFreeBytes?: () => number | null;
}

export interface Store {
  readonly readings: ReadingLog & {
    flush(): Promise<void>;
    canReread(key: DayKey): boolean;
  };
  /** That of `main`. */
  readonly outbox: Outbox & { flush(): Promise<void> };
  /** What one uplink is owed. Stays good while uplinks come and go. */
  outboxOf(uplink: string): Outbox;
  /** Everybody's gaps. */
  readonly gaps: GapLog;
  /** Those that one uplink tells. */
  gapsOf(uplink: string): GapLog;
  /**
   * From now on these uplinks are owed; what becomes of the others' lanes is answered. The destination of an uplink that
   * goes, or whose formats change, is closed before. Throws StoreFailure, and then nothing has changed.
   */
  setUplinks(uplinks: readonly OutboxUplink[]): readonly LaneChange[];
  readonly waveforms: WaveformFiles;
  readonly history: History;
  readonly commands: CommandLog;
  readonly alarms: AlarmStore;
  readonly audit: AuditLog;
  readonly meta: Meta;
  /** Cheap; for stats, health and metrics. */
  state(): BufferState;
  readonly statistics: { readonly commits: number; readonly bytesWritten: number };
  /** True when the database answers a read now: for the watchdog and /healthz. */
  isAlive(): boolean;
  /** False once DATA_DIR or its database was deleted or replaced under the agent. */
  isInPlace(): boolean;
  /** Keeps to days and megabytes until aborted. */
  runRetention(signal: AbortSignal): Promise<void>;
  /** One pass of it, for tests and tools. */
  retain(): Promise<void>;
  /** The agent stops: what waits is written now, and from now on nothing waits for company. */
  hurry(): void;
  /** Writes what waits, checkpoints and gives the directory free. */
  close(): Promise<void>;
}

const COMMIT_WINDOW_MS = 200;
const MIB = 1 << 20;

/** Opens DATA_DIR for one agent. Throws StoreFailure: `in_use` and `schema_newer` are the operator's to solve. */
export function openStore(options: StoreOptions): Store {
  const lock = DirectoryLock.take(options.dataDir, options.nativeBinding);
  try {
    return new SqliteStore(options, lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

class SqliteStore implements Store {
  readonly readings: SqliteReadingLog;
  readonly outbox: Outbox & { flush(): Promise<void> };
  readonly gaps: SqliteGapLog;
  readonly waveforms: Waveforms;
  readonly history: History;
  readonly commands: CommandLog;
  readonly alarms: AlarmLog;
  readonly audit: SqliteAuditLog;
  readonly meta: Meta;
  readonly statistics: { commits: number; bytesWritten: number; commitSeconds(s: number): void };
  readonly #outbox: SqliteOutbox;
  readonly #db: Database;
  readonly #queue: WriteQueue;
  readonly #lock: DirectoryLock;
  readonly #streams: Streams;
  readonly #identities: Identities;
  readonly #monitor: BufferMonitor;
  readonly #retention: Retention;
  readonly #limits: BufferLimits;
  readonly #recovery: RecoveryParts;
  readonly #onRecovered: () => void;
  #isSuspected = false;
  #isClosed = false;

  constructor(options: StoreOptions, lock: DirectoryLock) {
    const { clock, logger } = options;
    this.#lock = lock;
    this.#onRecovered = () => options.onRecovered?.();
    this.#limits = shareBuffer(options.bufferMaxMb * MIB);
    this.statistics = {
      commits: 0,
      bytesWritten: 0,
      commitSeconds: (seconds) => options.onCommit?.(seconds),
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
      makeRoom: (oldestMs, isHurried) => this.#retention.makeRoom(oldestMs, isHurried),
      undone: () => this.#undone(),
      committed: () => this.gaps.committed(),
      reopen: (seen) => this.#reopen(seen),
    });
    const queue = this.#queue;
    this.meta = new Meta(db, queue);
    const streams = new Streams(db);
    const growth = new Growth();
    const newest = new NewestTimes(db);
    this.#streams = streams;
    this.#identities = new Identities(db, this.meta);
    this.waveforms = new Waveforms(db, streams, queue, (fileId, err) => {
      logger.error({ err, fileId }, "stored samples are damaged and count as lost");
      this.#retention.lost("damaged_samples");
    });
    const outbox = new SqliteOutbox(
      { db, streams, queue, clock, logger, onLost: () => this.#retention.lost("damaged") },
      options.uplinks,
    );
    this.#outbox = outbox;
    this.outbox = { ...outbox.of(MAIN_UPLINK), flush: () => outbox.flush() };
    this.alarms = new AlarmLog({
      db,
      queue,
      streams,
      outbox,
      clock,
      logger,
      site: options.site ?? (() => ""),
      stored: (count) => {
        this.readings.count += count;
      },
    });
    this.gaps = new SqliteGapLog({ db, streams, queue, logger, onLost: options.onLost });
    this.gaps.uplinks = options.uplinks;
    this.readings = new SqliteReadingLog(
      {
        alarms: this.alarms,
        db,
        queue,
        streams,
        identities: this.#identities,
        newest,
        waveforms: this.waveforms,
        outbox,
        gaps: this.gaps,
        full: () => this.#retention,
        growth,
        clock,
      },
      {
        commitWindowMs: options.commitWindowMs ?? COMMIT_WINDOW_MS,
        transactionBytesMax: this.#limits.walBytes / 2,
      },
    );
    this.history = new History(db, streams, newest);
    this.commands = new CommandLog(db, queue);
    this.audit = new SqliteAuditLog(db, queue);
    this.#recovery = {
      nativeBinding: options.nativeBinding,
      clock,
      logger,
      onProgress: () => options.onProgress?.(),
      lanes: outbox,
    };
    const alarm = openOrRecover(db, this.#recovery, {
      load: () => {
        this.#load();
        this.waveforms.sweepStaged();
      },
    });
    this.#monitor = new BufferMonitor({
      db,
      limits: this.#limits,
      growth,
      diskFreeMinBytes: options.diskFreeMinMb * MIB,
      diskFreeBytes: options.diskFreeBytes,
      clock,
      logger,
    });
    this.#monitor.alarm = alarm;
    this.#retention = new Retention(
      {
        db,
        queue,
        outbox,
        streams,
        readings: this.readings,
        waveforms: this.waveforms,
        identities: this.#identities,
        gaps: this.gaps,
        meta: this.meta,
        monitor: this.#monitor,
        commands: this.commands,
        clock,
        logger,
      },
      {
        historyDays: options.historyDays,
        gatewayNow: options.gatewayNow,
        waveformDays: options.waveformDays,
        limits: this.#limits,
        onDropped: options.onDropped,
      },
    );
    this.#begin();
    try {
      this.commands.endInterrupted();
    } catch (error) {
      // They are told as unknown all the same; a full disk must not keep the agent from starting.
      logger.warn({ err: error }, "outcomes of interrupted commands could not be recorded");
    }
  }

  #begin(): void {
    try {
      this.#monitor.start();
      this.#retention.begin();
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  #load(): void {
    this.#streams.load();
    this.#identities.load();
    this.readings.load();
    this.#outbox.load();
    this.alarms.load();
  }

  /** After a failed sync the kernel may have dropped pages it calls written; only a new connection reads the disk. */
  #reopen(seen: StoreFailure | null): void {
    this.#db.disconnect();
    // A disk that fails to read for a moment can look like damage; a damaged page is met again.
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
    this.#onRecovered();
  }

  #undone(): void {
    this.#outbox.rows.insertFailed();
    this.alarms.follower?.undone();
    this.gaps.endEpisode();
    this.#retention.undone();
  }

  outboxOf(uplink: string): Outbox {
    return this.#outbox.of(uplink);
  }

  gapsOf(uplink: string): GapLog {
    return this.gaps.of(uplink);
  }

  setUplinks(uplinks: readonly OutboxUplink[]): readonly LaneChange[] {
    const changes = this.#outbox.configure(uplinks);
    this.gaps.uplinks = uplinks;
    if (changes.length > 0) this.#retention.wake();
    return changes;
  }

  state(): BufferState {
    const lanes = Object.fromEntries(
      this.#outbox.lanes.map(({ name }) => [name, this.#outbox.depth(name)]),
    );
    return {
      lanes,
      readings: this.readings.count,
      databaseBytes: this.#monitor.filesBytes(),
      limitBytes: this.#limits.totalBytes,
      diskFreeBytes: this.#monitor.diskFreeBytes(),
      hoursUntilFull: this.#hoursUntilFull(),
      dropped: this.#retention.dropped,
      alarm: this.#queue.failure?.message ?? this.#monitor.alarm,
      isWritable: !this.#isClosed && this.#queue.failure === null,
    };
  }

  /** Unknown, too, while the disk cannot be read: those who show it go on. */
  #hoursUntilFull(): number | null {
    if (!this.#db.isOpen) return null;
    try {
      return this.#queue.read("look at sizes", () => this.#monitor.hoursUntilFull());
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      return null;
    }
  }

  isInPlace(): boolean {
    return this.#isClosed || this.#db.isInPlace;
  }

  isAlive(): boolean {
    if (!this.isInPlace()) return false;
    try {
      // Through the file's lock and first page: SELECT 1 would not touch either.
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

  hurry(): void {
    this.#queue.hurry();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#outbox.flush();
    try {
      this.audit.close();
    } catch {
      // The entries themselves are there; a disk that takes no more keeps the counts from them.
    }
    this.#outbox.close();
    this.#queue.close();
    this.#db.close();
    this.#monitor.keepRoomToOpen();
    this.#lock.release();
  }
}
