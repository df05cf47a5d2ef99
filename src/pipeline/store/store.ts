import type { BufferState } from "../../core/agent-status.ts";
import type { AuditLog } from "../../core/audit.ts";
import type { DayKey } from "../../core/day.ts";
import type { OutboxUplink } from "../../core/delivery/delivery.ts";
import type { LaneChange } from "../../core/delivery/lane-plan.ts";
import type { GapLog, Outbox, PendingGaps, ReadingLog, Runtime } from "../../core/ports.ts";
import type { DayMedianStore } from "../../core/query/day-medians.ts";
import type { Measurements } from "../../core/query/measurements.ts";
import type { HourValues, WaveformFiles } from "../../core/query/ports.ts";
import type { StreamKey } from "../../core/sensor.ts";
import type { SessionStore } from "../../core/session-store.ts";
import type { StoreHold } from "../../core/status/store-hold.ts";
import type { RecentTimes } from "../../core/time/recent-times.ts";
import type { SqliteCommandLog } from "./command-log.ts";
import type { Counting, CreateCounting } from "./counting.ts";
import type { Database } from "./database/database.ts";
import type { Meta } from "./database/meta.ts";
import type { SchemaStep } from "./database/schema-step.ts";
import type { Streams } from "./database/streams.ts";
import type { WriteQueue } from "./database/write-queue.ts";
import type { CreateKeeping, Keeping } from "./keeping.ts";
import type { EventRows } from "./outbox/event-rows.ts";
import type { History } from "./readings/history.ts";
import type { StoreSteps } from "./store-steps.ts";

export interface StoreOptions extends Runtime {
  /** DATA_DIR; created if it is missing. */
  readonly dataDir: string;
  /** Path of better_sqlite3.node beside the bundle; undefined lets the package find it. */
  readonly nativeBinding?: string | undefined;
  /** Those of features. */
  readonly steps?: readonly SchemaStep[];
  /** What stays of measurements beyond WAVEFORM_DAYS; undefined: nothing. */
  readonly keep?: CreateKeeping | undefined;
  /** What is counted of readings by hour and day; undefined: nothing. */
  readonly count?: CreateCounting | undefined;
  /** HISTORY_DAYS, WAVEFORM_DAYS, BUFFER_MAX_MB, DISK_FREE_MIN_MB. */
  readonly historyDays: number;
  /** The gateway's clock, ms; null until a response contained it. Readings age by it. */
  readonly gatewayNow?: () => number | null;
  /** False while nobody has confirmed the clock: nothing is then removed by age. Absent: always true. */
  readonly isClockConfirmed?: () => boolean;
  readonly waveformDays: number;
  readonly bufferMaxMb: number;
  readonly diskFreeMinMb: number;
  /** Configured destinations; the first ones are the first candidates to publish gaps of others. */
  readonly uplinks: readonly OutboxUplink[];
  /** Name of the site, for the payload of events; empty unless given. */
  readonly site?: () => string;
  /** Called after each commit, for the metrics: its duration, s, and the bytes written since the store was opened. */
  readonly onCommit?: (seconds: number, bytesWritten: number) => void;
  /** Called for each reading that is dropped, for the metrics. */
  readonly onDropped?: (reason: string, count: number) => void;
  /** A row of this table holds a text that cannot be read; it counts as empty. */
  readonly onDamaged?: (table: string) => void;
  /** Readings that `onChange` or `everyS` of an uplink left out. */
  readonly onNotSelected?: (uplink: string, count: number) => void;
  /** An uplink has lost pending readings; its gap record reports them. */
  readonly onLost?: (uplink: string, reason: string, count: number) => void;
  /** Called about every second while a damaged store is copied, which blocks everything else. */
  readonly onProgress?: () => void;
  /** How long after the start an uplink counts as delivering that has something in hand, ms; 0 unless given. */
  readonly startGraceMs?: number;
  /** How long readings wait after the start for a proof that they are the newest, ms; 0 (none) unless given. */
  readonly liveProofMs?: number;
  /** Group-commit window, ms; 200 unless given. */
  readonly commitWindowMs?: number;
  /** Spacing of commits under light load, ms; 0 (none) unless given. What is acknowledged is on disk all the same. */
  readonly commitPaceMs?: number;
  /** Why DATA_DIR does not outlast a restart; null or absent: it does, or that is not known. */
  readonly notLasting?: string | null;
  /** Free bytes of the disk, if it should not be queried (tests). */
  readonly diskFreeBytes?: () => number | null;
}

/** Statements of one file, and the queue through which every write goes. */
export interface StoreTables {
  readonly db: Database;
  readonly queue: WriteQueue;
  readonly streams: Streams;
  /** Events that wait for their delivery, and those that were stored. */
  readonly events: Pick<EventRows, "before" | "insert">;
}

export interface Store {
  readonly readings: ReadingLog & {
    flush(): Promise<void>;
    /** The buffer is full of readings that are being delivered: what is read now could not be stored. */
    isWaitingForDelivery(): boolean;
    canReread(key: DayKey): boolean;
    readOn(day: string): (stream: StreamKey) => boolean;
    recentTimes(wanted: readonly StreamKey[], count: number): readonly RecentTimes[];
  };
  /** That of `main`. */
  readonly outbox: Outbox & { flush(): Promise<void> };
  /** The outbox of one uplink. Stays valid while uplinks are added and removed. */
  outboxOf(uplink: string): Outbox;
  /** A sensor and kind has been read since the start; none of its days from `fromMs` on is unread. */
  noteRead(stream: StreamKey, fromMs: number): void;
  /** Of all uplinks. */
  readonly gaps: GapLog & PendingGaps;
  /** Those that one uplink publishes. */
  gapsOf(uplink: string): GapLog;
  /** The codes of the site file: what is stored under another spelling of one goes out under this. */
  spell(codes: readonly string[]): void;
  /**
   * From now on readings are pending for these uplinks; returns what happens to the lanes of the others. The
   * destination of an uplink that is removed, or whose formats change, is closed before. Throws StoreFailure, and then
   * nothing has changed.
   */
  setUplinks(uplinks: readonly OutboxUplink[]): readonly LaneChange[];
  readonly waveforms: WaveformFiles;
  readonly measurements: Measurements;
  /** Null where nothing stays beyond WAVEFORM_DAYS. */
  readonly keeping: Keeping | null;
  /** Null where nothing is counted. */
  readonly counting: Counting | null;
  /** For what features read and write of their own tables. */
  readonly tables: StoreTables;
  /** What features do in its transactions. */
  readonly steps: { list: readonly StoreSteps[] };
  readonly history: History;
  readonly hours: HourValues;
  /** Day rows of outlooks. */
  readonly dayMedians: DayMedianStore;
  readonly commands: SqliteCommandLog;
  readonly audit: AuditLog;
  readonly sessions: SessionStore;
  readonly meta: Meta;
  /** Cheap; for stats, health and metrics. */
  state(): BufferState;
  readonly statistics: { readonly commits: number; readonly bytesWritten: number };
  /** True if the database can be read now: for the watchdog and /healthz. */
  isAlive(): boolean;
  /** Another program that keeps the store from being written. */
  readonly watch: {
    readonly hold: StoreHold | null;
    /** Nothing should be read now: it could not be stored. */
    readonly isSparing: boolean;
    /** Why a change cannot be stored; null if it can, perhaps after a moment. */
    whyUnwritable(): Promise<string | null>;
  };
  /** Why the last write failed; null while writing works, or waits for deliveries or another program. */
  readonly writeFailure: string | null;
  /** False once DATA_DIR or its database was deleted or replaced under the agent. */
  isInPlace(): boolean;
  /** Enforces the limits of days and megabytes until aborted. */
  runRetention(signal: AbortSignal): Promise<void>;
  /** One pass of it, for tests and tools. */
  retain(): Promise<void>;
  /** What is looked up at the start has been read: less of the file is kept in memory. */
  started(): void;
  /** The agent stops: waiting jobs are written now, and from now on nothing waits to share a commit. */
  commitAtOnce(): void;
  /** Calls the listener whenever damage found while running was repaired: lost days must be read again. */
  onRecovered(listener: () => void): void;
  /** Writes waiting jobs, checkpoints and releases the directory. */
  close(): Promise<void>;
}
