/**
 * One attempt to write: a transaction that is committed or rolled back, and what follows from either. After a failure memory is as before,
 * and a broken connection is replaced; a lock of another program is noted, and what was written is counted.
 */
import assert from "node:assert/strict";
import type { Runtime } from "../../../core/ports.ts";
import { type Tx, UnitOfWork } from "../../../core/tx.ts";
import type { Database, LogFrames } from "./database.ts";
import { QuotaFailure, requireMappedRoom, withRoom } from "./room-failure.ts";
import { StoreFailure } from "./store-failure.ts";
import { followDisk, transact } from "./transact.ts";
import type { QueuedJob } from "./write-job.ts";

export interface TransactionsParts extends Runtime {
  readonly db: Database;
  /** Called after each commit: its duration, s, and the bytes written before it. */
  readonly onCommit?: ((seconds: number, bytesWritten: number) => void) | undefined;
}

/** Who else may keep the store from being written. */
interface QueueGuard {
  /** Why nothing may be written although the disk would take it; null if it may. */
  refusal(): StoreFailure | null;
  /** Little may be written: what can wait shares a commit every ten seconds. */
  readonly isSparing: boolean;
  /** The state of the log after a commit. */
  committed(frames: LogFrames): void;
}

/** What the queue calls; connected once the parts of the store exist, before the first write. */
export interface WriteQueueHooks {
  /**
   * Frees space after SQLITE_FULL for a write whose oldest reading has this time, null if it contains none; true if a
   * retry makes sense. Pauses at each `yield`, but ends soon once somebody waits for it.
   */
  makeRoom(
    oldestIncomingMs: number | null,
    isAwaited: () => boolean,
  ): Generator<void, boolean, void>;
  /**
   * Opens new connections, setting a damaged file aside, and reads memory from disk again. Gets the failure that made
   * it necessary.
   */
  reopen(seen: StoreFailure | null): void;
  /** A quota refused a write. */
  quotaRefused(): void;
  readonly guard: QueueGuard;
}

/** Overhead of the -wal per page. */
export const FRAME_HEAD_BYTES = 24;

export class Transactions {
  readonly #parts: TransactionsParts;
  /** Since the store was opened. */
  readonly statistics = { commits: 0, bytesWritten: 0 };
  #hooks: WriteQueueHooks | null = null;
  #frames: LogFrames = { log: 0, checkpointed: 0 };
  /** When another program was first found to have the lock, monotonic ms; null while nobody has. */
  #busySince: number | null = null;
  #failure: StoreFailure | null = null;
  #isClosed = false;

  constructor(parts: TransactionsParts) {
    this.#parts = parts;
  }

  connect(hooks: WriteQueueHooks): void {
    this.#hooks = hooks;
  }

  /** Nothing is opened again. */
  close(): void {
    this.#isClosed = true;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** What was refused last; null while writing works, also while space is freed for it. */
  get failure(): StoreFailure | null {
    return this.#failure;
  }

  /** How long another program has had the lock, ms; null while nobody has. */
  get busyMs(): number | null {
    return this.#busySince === null ? null : this.#parts.clock.monotonic() - this.#busySince;
  }

  get #connected(): WriteQueueHooks {
    assert(this.#hooks !== null, "the queue is not connected");
    return this.#hooks;
  }

  /** Looks whether the lock is free. */
  probe(): void {
    if (this.#isClosed) return;
    try {
      this.revive();
      const { writer } = this.#parts.db;
      writer.exec("BEGIN IMMEDIATE");
      writer.exec("ROLLBACK");
      this.#noteFree();
    } catch (error) {
      this.#noteBusy(StoreFailure.from(error, "look whether the store is free"));
    }
  }

  #noteBusy(failure: StoreFailure): void {
    if (failure.isBusy) this.#busySince ??= this.#parts.clock.monotonic();
  }

  #noteFree(): void {
    this.#busySince = null;
  }

  /** Writes at once, in its own transaction. Throws what SQLite throws. */
  write<T>(write: (tx: Tx) => T): T {
    requireMappedRoom(this.#parts.db.path);
    this.revive();
    const result = transact(this.#parts.db, write);
    this.#committed();
    return result;
  }

  /** Why nothing may be written now; null if it may. */
  refusal(): StoreFailure | null {
    return this.#hooks?.guard.refusal() ?? null;
  }

  /** All of the jobs in one transaction, which pauses where they do; null once it is on disk. */
  *attempt(group: readonly QueuedJob[]): Generator<void, StoreFailure | null, void> {
    const { db, onCommit } = this.#parts;
    const startedAt = performance.now();
    const tx = new UnitOfWork();
    const results: unknown[] = [];
    try {
      const refusal = this.refusal();
      if (refusal !== null) throw refusal;
      requireMappedRoom(db.path);
      this.revive();
      db.writer.exec("BEGIN IMMEDIATE");
      for (const { job } of group) results.push(yield* job.run(tx));
      const commitAt = performance.now();
      db.writer.exec("COMMIT");
      onCommit?.((performance.now() - commitAt) / 1000, this.statistics.bytesWritten);
    } catch (error) {
      const what = group.length === 1 ? (group[0]?.job.what ?? "") : `make ${group.length} writes`;
      this.#parts.logger.debug({ ms: performance.now() - startedAt }, "transaction rolled back");
      return this.failed(error, what, tx);
    }
    this.#committed();
    const isFollowed = followDisk(() => tx.committed());
    if (isFollowed) for (const [index, { resolve }] of group.entries()) resolve(results[index]);
    return null;
  }

  /** After a failed reopen each further attempt starts with another one. */
  revive(): void {
    if (!this.#isClosed && !this.#parts.db.isOpen) this.#connected.reopen(null);
  }

  /** `tx` is what the failed transaction changed in memory, if that still has to be taken back. */
  failed(error: unknown, what: string, tx?: UnitOfWork): StoreFailure {
    const { db, logger } = this.#parts;
    const failure = withRoom(StoreFailure.from(error, what), db.path);
    if (failure instanceof QuotaFailure) this.#hooks?.quotaRefused();
    if (failure.code === "internal") logger.error({ err: error }, `could not ${what}`);
    try {
      if (db.isOpen && db.writer.inTransaction) db.writer.exec("ROLLBACK");
    } catch (again) {
      logger.debug({ err: again }, "transaction could not be rolled back");
    }
    // Before anything is read from disk, and with no connection, too.
    if (tx !== undefined) followDisk(() => tx.rolledBack());
    try {
      if (db.isOpen && failure.needsNewConnection(db)) this.#connected.reopen(failure);
    } catch (again) {
      logger.debug({ err: again }, "store could not be reopened");
    }
    this.#noteBusy(failure);
    // Space is freed for it first, or the lock waited for, and then it is tried again.
    if (failure.code !== "full" && !failure.isBusy) this.#failure = failure;
    return failure;
  }

  /** It is not tried again. */
  refused(failure: StoreFailure): StoreFailure {
    this.#failure = failure;
    return failure;
  }

  /** A transaction that wrote nothing succeeds on a file that cannot be written, too. */
  #committed(): void {
    this.#noteFree();
    try {
      if (this.#count() > 0) this.#failure = null;
    } catch (error) {
      if (StoreFailure.from(error, "count").code === "internal") throw error;
      this.#parts.logger.debug({ err: error }, "what was written is not counted");
    }
  }

  /** Bytes passed to the disk: frames into the -wal, and pages from there into the file. */
  #count(): number {
    const { db } = this.#parts;
    this.statistics.commits += 1;
    const before = this.#frames;
    const state = db.logFrames();
    this.#hooks?.guard.committed(state);
    const isNewLog = state.log < before.log;
    const frames = isNewLog ? state.log : state.log - before.log;
    const pages = isNewLog
      ? state.checkpointed
      : Math.max(0, state.checkpointed - before.checkpointed);
    const bytes = frames * (db.pageBytes + FRAME_HEAD_BYTES) + pages * db.pageBytes;
    this.statistics.bytesWritten += bytes;
    this.#frames = state;
    return bytes;
  }
}
