/**
 * Every write of the store that can wait goes through here and shares transactions: one sync for a poll round or a
 * hundred acknowledgements. A job is in its transaction whole or not at all. A long job pauses between slices so that
 * the event loop stays free; its transaction stays open meanwhile, and the reading connection does not see it.
 */
import { setImmediate as immediate } from "node:timers/promises";
import type { Clock, Logger } from "../core/ports.ts";
import type { Database } from "./database.ts";
import { StoreFailure } from "./store-failure.ts";

export interface WriteJob {
  readonly what: string;
  /** About how many rows it writes: many at once are not kept waiting. */
  readonly rows: number;
  /** Writes; each `yield` is a place to pause. */
  run(): Generator<void, void, void>;
  /** After the commit: memory follows the disk. */
  committed(): void;
  /** Nothing was written. */
  failed(failure: StoreFailure): void;
}

export interface WriteStatistics {
  commits: number;
  bytesWritten: number;
  commitSeconds(seconds: number): void;
}

interface WriteQueueParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly statistics: WriteStatistics;
  /** Makes room after SQLITE_FULL; true when trying again makes sense. */
  readonly makeRoom: () => boolean;
  /** A transaction was rolled back: what its jobs noted in memory is void. */
  readonly undone: () => void;
  /** Opens new connections, setting a damaged file aside, and reads memory from disk again. Told what made it necessary. */
  readonly reopen: (seen: StoreFailure | null) => void;
}

/** Rows waiting that end the window early. */
const ROWS_MAX = 500;
/** Longest piece of work between two turns of the event loop, ms. */
const SLICE_MS = 10;
const PAGE_BYTES = 4096;
const FRAME_BYTES = PAGE_BYTES + 24;

export class WriteQueue {
  readonly #parts: WriteQueueParts;
  #jobs: WriteJob[] = [];
  #rows = 0;
  #active: Generator<void, void, void> | null = null;
  #pump: Promise<void> | null = null;
  #timer: { readonly dueAt: number; readonly abort: AbortController } | null = null;
  #frames = { log: 0, checkpointed: 0 };
  #failure: StoreFailure | null = null;
  #isClosed = false;

  constructor(parts: WriteQueueParts) {
    this.#parts = parts;
  }

  /** The failure that stands since the last try to write; null while writing works. */
  get failure(): StoreFailure | null {
    return this.#failure;
  }

  /** Queues a job; it is written at the latest `windowMs` from now. */
  enqueue(job: WriteJob, windowMs: number): void {
    if (this.#isClosed)
      return job.failed(new StoreFailure("closed", `${job.what}: store is closed`));
    this.#jobs.push(job);
    this.#rows += job.rows;
    if (this.#rows >= ROWS_MAX || windowMs <= 0) void this.flush();
    else this.#arm(this.#parts.clock.monotonic() + windowMs);
  }

  #arm(dueAt: number): void {
    if (this.#timer !== null && this.#timer.dueAt <= dueAt) return;
    this.#timer?.abort.abort();
    const timer = { dueAt, abort: new AbortController() };
    this.#timer = timer;
    const { clock } = this.#parts;
    void clock.sleep(Math.max(0, dueAt - clock.monotonic()), timer.abort.signal).then(() => {
      if (this.#timer === timer) void this.flush();
    });
  }

  /** Writes all that waits. Never rejects: each job hears its own end. */
  flush(): Promise<void> {
    this.#timer?.abort.abort();
    this.#timer = null;
    this.#pump ??= this.#drain().finally(() => {
      this.#pump = null;
      if (this.#jobs.length > 0 && this.#timer === null) void this.flush();
    });
    return this.#pump;
  }

  async #drain(): Promise<void> {
    // A turn of the loop first, so that jobs queued in this one share the transaction.
    await immediate();
    while (this.#jobs.length > 0) {
      const active = this.#start();
      let startedAt = performance.now();
      while (!active.next().done) {
        if (performance.now() - startedAt < SLICE_MS) continue;
        await immediate();
        startedAt = performance.now();
      }
    }
  }

  #start(): Generator<void, void, void> {
    const group = this.#jobs;
    this.#jobs = [];
    this.#rows = 0;
    this.#active = this.#writeGroup(group);
    return this.#active;
  }

  /** Writes at once, in a transaction of its own. Throws StoreFailure. */
  direct<T>(what: string, write: () => T): T {
    if (this.#isClosed) throw new StoreFailure("closed", `${what}: store is closed`);
    this.#finishActive();
    try {
      return this.#direct(write);
    } catch (error) {
      const failure = this.#fail(error, what);
      if (failure.code !== "full" || !this.#parts.makeRoom()) throw failure;
      try {
        return this.#direct(write);
      } catch (again) {
        throw this.#fail(again, what);
      }
    }
  }

  #direct<T>(write: () => T): T {
    const { db } = this.#parts;
    this.#revive();
    const result = db.writer.transaction(write).immediate();
    this.#count();
    this.#failure = null;
    return result;
  }

  #finishActive(): void {
    const active = this.#active;
    if (active !== null) while (!active.next().done);
  }

  /** Waits for running work, writes the rest synchronously: for an orderly end. */
  close(): void {
    this.#finishActive();
    this.#timer?.abort.abort();
    this.#timer = null;
    while (this.#jobs.length > 0) {
      this.#start();
      this.#finishActive();
    }
    this.#isClosed = true;
  }

  /** A read whose failure is treated like a write's: a broken connection is replaced. Throws StoreFailure. */
  read<T>(what: string, read: () => T): T {
    try {
      this.#revive();
      return read();
    } catch (error) {
      if (this.#isClosed) throw StoreFailure.from(error, what);
      this.#finishActive();
      throw this.#fail(error, what);
    }
  }

  *#writeGroup(group: readonly WriteJob[]): Generator<void, void, void> {
    try {
      const failure = yield* this.#tryGroup(group);
      if (failure === null) return;
      const canRetry = failure.code === "full" ? this.#parts.makeRoom() : group.length > 1;
      // One by one: a job that cannot be written must not take its neighbours with it.
      for (const job of group) {
        const own = canRetry ? yield* this.#tryGroup([job]) : failure;
        if (own !== null) job.failed(own);
      }
    } finally {
      this.#active = null;
    }
  }

  *#tryGroup(group: readonly WriteJob[]): Generator<void, StoreFailure | null, void> {
    const { db, statistics } = this.#parts;
    const startedAt = performance.now();
    try {
      this.#revive();
      db.writer.exec("BEGIN IMMEDIATE");
      for (const job of group) yield* job.run();
      const commitAt = performance.now();
      db.writer.exec("COMMIT");
      statistics.commitSeconds((performance.now() - commitAt) / 1000);
    } catch (error) {
      const what = group.length === 1 ? (group[0]?.what ?? "") : `${group.length} writes`;
      this.#parts.logger.debug({ ms: performance.now() - startedAt }, "transaction undone");
      return this.#fail(error, what);
    }
    this.#failure = null;
    this.#count();
    for (const job of group) job.committed();
    return null;
  }

  /** After a failed reopen each next try begins with another. */
  #revive(): void {
    if (!this.#isClosed && !this.#parts.db.isOpen) this.#parts.reopen(null);
  }

  #fail(error: unknown, what: string): StoreFailure {
    const { db, logger } = this.#parts;
    const failure = StoreFailure.from(error, what);
    if (failure.code === "internal") logger.error({ err: error }, `${what} failed`);
    try {
      if (db.isOpen && db.writer.inTransaction) db.writer.exec("ROLLBACK");
      if (db.isOpen && needsNewConnection(failure)) this.#parts.reopen(failure);
    } catch (again) {
      logger.debug({ err: again }, "store could not be reopened");
    }
    this.#parts.undone();
    this.#failure = failure;
    return failure;
  }

  /** Bytes handed to the disk: frames into the -wal, and pages from there into the file. */
  #count(): void {
    const { db, statistics } = this.#parts;
    statistics.commits += 1;
    const [state] = db.writer.pragma("wal_checkpoint(NOOP)") as {
      log: number;
      checkpointed: number;
    }[];
    if (state === undefined) return;
    const before = this.#frames;
    const isNewLog = state.log < before.log;
    const frames = isNewLog ? state.log : state.log - before.log;
    const pages = isNewLog
      ? state.checkpointed
      : Math.max(0, state.checkpointed - before.checkpointed);
    statistics.bytesWritten += frames * FRAME_BYTES + pages * PAGE_BYTES;
    this.#frames = { log: state.log, checkpointed: state.checkpointed };
  }
}

function needsNewConnection(failure: StoreFailure): boolean {
  return failure.code === "corrupt" || (failure.sqliteCode?.startsWith("SQLITE_IOERR") ?? false);
}
