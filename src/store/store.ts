import type { BufferState } from "../core/agent-status.ts";
import type { AlarmStore } from "../core/alarm/ports.ts";
import type { AuditLog } from "../core/audit.ts";
import type { DayKey } from "../core/day.ts";
import type { OutboxUplink } from "../core/delivery.ts";
import type { LaneChange } from "../core/lane-plan.ts";
import type { Clock, GapLog, Logger, Outbox, ReadingLog } from "../core/ports.ts";
import type { WaveformFiles } from "../core/query/ports.ts";
import type { CommandLog } from "./command-log.ts";
import type { Meta } from "./database/meta.ts";
import type { History } from "./readings/history.ts";

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
  /** Called after each commit, for the metrics: its duration, s, and the bytes written since the store was opened. */
  readonly onCommit?: (seconds: number, bytesWritten: number) => void;
  /** Called for each reading that is given up, for the metrics. */
  readonly onDropped?: (reason: string, count: number) => void;
  /** An uplink has lost readings that it was owed, which a gap record of it says. */
  readonly onLost?: (uplink: string, reason: string, count: number) => void;
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
  /** Calls the listener whenever damage met while running was repaired: days that were lost must be read again. */
  onRecovered(listener: () => void): void;
  /** Writes what waits, checkpoints and gives the directory free. */
  close(): Promise<void>;
}
