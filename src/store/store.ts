import {
  type BufferState,
  type Clock,
  type DayKey,
  type GapLog,
  LANES,
  type Lane,
  type Logger,
  type Outbox,
  type ReadingLog,
} from "../core/ports.ts";
import type { WaveformFiles } from "../core/query/ports.ts";
import type { Reading } from "../core/reading.ts";
import { type BufferLimits, shareBuffer } from "./buffer-limits.ts";
import { BufferMonitor } from "./buffer-monitor.ts";
import { CommandLog } from "./command-log.ts";
import { Database } from "./database.ts";
import { DirectoryLock } from "./directory-lock.ts";
import { SqliteGapLog } from "./gap-log.ts";
import { Growth } from "./growth.ts";
import { History } from "./history.ts";
import { Identities } from "./identities.ts";
import { Meta } from "./meta.ts";
import { openOrRecover, type RecoveryParts } from "./open-or-recover.ts";
import { SqliteOutbox } from "./outbox.ts";
import { SqliteReadingLog } from "./reading-log.ts";
import { Retention } from "./retention.ts";
import { StoreFailure } from "./store-failure.ts";
import { Streams } from "./streams.ts";
import { Waveforms } from "./waveforms.ts";
import { WriteQueue } from "./write-queue.ts";

export interface StoreOptions {
  /** DATA_DIR; made where it is missing. */
  readonly dataDir: string;
  /** Path of better_sqlite3.node beside the bundle; undefined lets the package find it. */
  readonly nativeBinding?: string | undefined;
  /** HISTORY_DAYS, WAVEFORM_DAYS, BUFFER_MAX_MB, DISK_FREE_MIN_MB. */
  readonly historyDays: number;
  readonly waveformDays: number;
  readonly bufferMaxMb: number;
  readonly diskFreeMinMb: number;
  /** Destinations that are configured now. */
  readonly lanes: readonly Lane[];
  /** True where PUBLISH_WAVEFORMS lets this reading's samples out. */
  readonly waveformPolicy: (reading: Reading) => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called with the seconds of each commit, for the metrics. */
  readonly onCommit?: (seconds: number) => void;
  /** Called for each reading that is given up, for the metrics. */
  readonly onDropped?: (reason: string, count: number) => void;
  /** Called when damage that showed while running was repaired: lost days are to be read again. */
  readonly onRecovered?: () => void;
  /** Called about every second while a damaged store is copied, which holds up everything else. */
  readonly onProgress?: () => void;
  /** Group-commit window, ms; 200 unless given. */
  readonly commitWindowMs?: number;
  /** Free bytes of the disk, where it is not to be asked (tests). */
  readonly diskFreeBytes?: () => number | null;
}

export interface Store {
  readonly readings: ReadingLog & {
    flush(): Promise<void>;
    canReread(key: DayKey): boolean;
  };
  readonly outbox: Outbox & { flush(): Promise<void> };
  readonly gaps: GapLog;
  readonly waveforms: WaveformFiles;
  readonly history: History;
  readonly commands: CommandLog;
  readonly meta: Meta;
  /** Cheap; for stats, health and metrics. */
  state(): BufferState;
  readonly statistics: { readonly commits: number; readonly bytesWritten: number };
  /** True when the database answers a read now: for the watchdog and /healthz. */
  isAlive(): boolean;
  /** Keeps to days and megabytes until aborted. */
  runRetention(signal: AbortSignal): Promise<void>;
  /** One pass of it, for tests and tools. */
  retain(): Promise<void>;
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
  readonly outbox: SqliteOutbox;
  readonly gaps: SqliteGapLog;
  readonly waveforms: Waveforms;
  readonly history: History;
  readonly commands: CommandLog;
  readonly meta: Meta;
  readonly statistics: { commits: number; bytesWritten: number; commitSeconds(s: number): void };
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
      checkpointPages: this.#limits.checkpointPages,
    });
    this.#db = db;
    this.#queue = new WriteQueue({
      db,
      clock,
      logger,
      statistics: this.statistics,
      makeRoom: () => this.#retention.makeRoom(),
      undone: () => this.#undone(),
      reopen: (seen) => this.#reopen(seen),
    });
    const queue = this.#queue;
    this.meta = new Meta(db, queue);
    const streams = new Streams(db);
    const growth = new Growth();
    this.#streams = streams;
    this.#identities = new Identities(db, this.meta);
    this.waveforms = new Waveforms(db, streams, queue, (fileId, err) => {
      logger.error({ err, fileId }, "stored samples are damaged and count as lost");
      this.#retention.lost("damaged_samples");
    });
    this.outbox = new SqliteOutbox(
      { db, streams, queue, clock, logger, onLost: () => this.#retention.lost("damaged") },
      options.lanes,
    );
    this.readings = new SqliteReadingLog(
      {
        db,
        queue,
        streams,
        identities: this.#identities,
        waveforms: this.waveforms,
        outbox: this.outbox,
        growth,
        clock,
      },
      {
        commitWindowMs: options.commitWindowMs ?? COMMIT_WINDOW_MS,
        transactionBytesMax: this.#limits.walBytes / 2,
        waveformPolicy: options.waveformPolicy,
      },
    );
    this.gaps = new SqliteGapLog({ db, streams, queue, logger });
    this.history = new History(db, streams);
    this.commands = new CommandLog(db, queue);
    this.#recovery = {
      nativeBinding: options.nativeBinding,
      clock,
      logger,
      lanes: options.lanes.filter((lane) => lane !== "plain").map((lane) => LANES.indexOf(lane)),
      markedLanes: options.lanes.map((lane) => LANES.indexOf(lane)),
      onProgress: () => options.onProgress?.(),
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
        outbox: this.outbox,
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
      logger.warn({ err: error }, "commands that were cut short keep no outcome");
    }
  }

  #begin(): void {
    try {
      this.#monitor.start();
      this.#retention.begin(this.outbox.lanes.map((lane) => lane.number));
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  #load(): void {
    this.#streams.load();
    this.#identities.load();
    this.readings.load();
    this.outbox.load();
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
    this.outbox.rows.insertFailed();
    this.gaps.endEpisode();
  }

  state(): BufferState {
    const lanes = Object.fromEntries(
      this.outbox.lanes.map(({ lane }) => [lane, this.outbox.depth(lane)]),
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

  isAlive(): boolean {
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

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.outbox.flush();
    this.outbox.close();
    this.#queue.close();
    this.#db.close();
    this.#monitor.keepRoomToOpen();
    this.#lock.release();
  }
}
