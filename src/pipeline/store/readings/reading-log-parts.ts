import type { Clock } from "../../../core/ports.ts";
import type { Tx } from "../../../core/tx.ts";
import type { Counting } from "../counting.ts";
import type { Database } from "../database/database.ts";
import type { Streams } from "../database/streams.ts";
import type { WriteQueue } from "../database/write-queue.ts";
import type { SqliteGapLog } from "../outbox/gap-log.ts";
import type { Pending } from "../outbox/pending.ts";
import type { Growth } from "../space/growth.ts";
import type { Shed } from "../space/shedding.ts";
import type { StoreSteps } from "../store-steps.ts";
import type { Identities } from "./identities.ts";
import type { NewestTimes } from "./newest-times.ts";
import type { ReadingCount } from "./reading-count.ts";
import type { StoredProgress } from "./stored-progress.ts";
import type { Waveforms } from "./waveforms.ts";

/** The handling of readings that a full buffer does not accept. */
interface FullBufferState {
  readonly reason: string;
  /** There is no space, and an uplink delivers what fills it. */
  readonly isWaitingForDelivery: boolean;
  /** What is currently not accepted; null while everything is. */
  shed(): Shed | null;
  /** Counts them, inside the transaction in which they arrive. */
  addShed(tx: Tx, count: number): void;
}

/** The parts involved in storing readings. */
export interface ReadingLogParts {
  readonly db: Database;
  readonly queue: WriteQueue;
  readonly streams: Streams;
  readonly identities: Identities;
  readonly newest: NewestTimes;
  readonly progress: StoredProgress;
  readonly waveforms: Waveforms;
  readonly pending: Pending;
  readonly growth: Growth;
  readonly clock: Clock;
  readonly gaps: SqliteGapLog;
  readonly full: FullBufferState;
  readonly stored: ReadingCount;
  readonly counting: Counting | null;
  readonly steps: { readonly list: readonly StoreSteps[] };
}

export interface ReadingLogOptions {
  /** Longest time a finished response waits for others to share its commit, ms. */
  readonly commitWindowMs: number;
  /** A response larger than this is written in several transactions, its progress with the last. */
  readonly transactionBytesMax: number;
}
