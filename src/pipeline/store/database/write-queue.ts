/**
 * Every write of the store that can wait goes through this queue and shares transactions: one sync for a poll round or
 * a hundred acknowledgements. A job is in its transaction completely or not at all. A long job pauses between slices so
 * that the event loop stays free; its transaction stays open meanwhile, and the reading connection does not see it.
 *
 * Disk first, memory after: a job changes memory only through its Tx (core/tx.ts). Jobs that are written together share
 * it. If one of them fails, all are rolled back, memory first is as before, and each is tried alone with its own Tx.
 * What comes after a commit belongs into `onCommit`: the next transaction may begin before awaiting code runs again.
 *
 * Under light load commits are spaced (`paceMs`): each writes whole pages, however few rows they contain, so that a
 * sensor every second would wear a card ten times as much as the same readings in rounds.
 *
 * It never waits inside SQLite: while another program has the lock, jobs are tried again on a timer.
 *
 * In one file: groups, pauses, failures and reopening are one state.
 */
import assert from "node:assert/strict";
import { setImmediate as immediate } from "node:timers/promises";
import type { Runtime } from "../../../core/ports.ts";
import { type Tx, UnitOfWork } from "../../../core/tx.ts";
import type { Database, LogFrames } from "./database.ts";
import { QuotaFailure, requireMappedRoom, withRoom } from "./room-failure.ts";
import { StoreFailure } from "./store-failure.ts";
import { followDisk, transact } from "./transact.ts";
import { oneStep, type WriteJob } from "./write-job.ts";

interface QueuedJob {
  readonly job: WriteJob<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (failure: StoreFailure) => void;
}

interface WriteQueueParts extends Runtime {
  readonly db: Database;
  /** Called after each commit: its duration, s, and the bytes written before it. */
  readonly onCommit?: ((seconds: number, bytesWritten: number) => void) | undefined;
  /** Spacing between commits of a few jobs that can wait, ms; 0 = none. */
  readonly paceMs: number;
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

/** Waiting rows that end the window early. */
const ROWS_MAX = 1500;
/** From this many rows on nothing waits to share a commit: they fill the pages that it writes. */
const LIGHT_ROWS = 50;
/** Longest piece of work between two turns of the event loop, ms. */
const SLICE_MS = 10;
/** How often space is freed for one job: a response may be larger than what is freed in one go. */
const ROOM_ROUNDS_MAX = 16;
/** Jobs in a row that the disk fails: it is the disk then, not what they touch. Each one costs new connections. */
const IO_FAILURES_MAX = 8;
/** While another program has the lock, it is asked for this often, and jobs fail after so long, ms. */
export const BUSY_RETRY_MS = 100;
export const BUSY_MAX_MS = 10_000;
/** Spacing of commits while little may be written, ms. */
const SPARING_MS = 10_000;
/** Overhead of the -wal per page. */
export const FRAME_HEAD_BYTES = 24;

export class WriteQueue {
  readonly #parts: WriteQueueParts;
  /** Since the store was opened. */
  readonly statistics = { commits: 0, bytesWritten: 0 };
  #hooks: WriteQueueHooks | null = null;
  #jobs: QueuedJob[] = [];
  #rows = 0;
  #active: Generator<void, void, void> | null = null;
  #pump: Promise<void> | null = null;
  #timer: { readonly dueAt: number; readonly abort: AbortController } | null = null;
  #frames: LogFrames = { log: 0, checkpointed: 0 };
  /** When another program was first found to have the lock, monotonic ms; null while nobody has. */
  #busySince: number | null = null;
  #failure: StoreFailure | null = null;
  /** Somebody waits for the running work to end. */
  #isAwaited = false;
  /** Calls of `soon` that found the lock taken, or a job being written. */
  #late = 0;
  /** What waits is written as soon as the running transaction has ended: some of it cannot wait, or is due. */
  #isDue = false;
  #isClosing = false;
  #isClosed = false;
  #paceMs: number;
  #committedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: WriteQueueParts) {
    this.#parts = parts;
    this.#paceMs = parts.paceMs;
  }

  connect(hooks: WriteQueueHooks): void {
    this.#hooks = hooks;
  }

  get #connected(): WriteQueueHooks {
    assert(this.#hooks !== null, "the queue is not connected");
    return this.#hooks;
  }

  /** What was refused last; null while writing works, also while space is freed for it. */
  get failure(): StoreFailure | null {
    return this.#failure;
  }

  /** How long another program has had the lock, ms; null while nobody has. */
  get busyMs(): number | null {
    return this.#busySince === null ? null : this.#parts.clock.monotonic() - this.#busySince;
  }

  /** Between two transactions: SQLite does not look at the log inside one. */
  async betweenWrites(): Promise<void> {
    while (this.#active !== null) await immediate();
  }

  /** Whether a transaction is open, whose job may pause. */
  get isWriting(): boolean {
    return this.#active !== null;
  }

  /** Looks whether the lock is free; what waits is written at once then. */
  probe(): void {
    if (this.#active !== null || this.#isClosed) return;
    try {
      this.#revive();
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

  /**
   * Queues a job; it is written at the latest `windowMs` from now, one that can wait at the latest after `paceMs`.
   * Resolves with its result once that is on disk; rejects with a StoreFailure if nothing was written.
   */
  enqueue<T>(job: WriteJob<T>, windowMs: number): Promise<T> {
    if (this.#isClosed)
      return Promise.reject(new StoreFailure("closed", `${job.what}: store is closed`));
    const written = new Promise<T>((resolve, reject) => {
      this.#jobs.push({ job, resolve: resolve as QueuedJob["resolve"], reject });
    });
    this.#schedule(job, windowMs);
    return written;
  }

  #schedule(job: WriteJob<unknown>, windowMs: number): void {
    this.#rows += job.rows;
    if (job.canWait !== true) this.#isDue = true;
    if (this.#rows >= ROWS_MAX || windowMs <= 0) return void this.flush();
    const now = this.#parts.clock.monotonic();
    const dueAt = now + windowMs;
    const isPatient = job.canWait === true && this.#rows < LIGHT_ROWS;
    const { waitMaxMs = Number.POSITIVE_INFINITY } = job;
    const sharedAt = Math.min(this.#committedAt + this.#paceMs, now + waitMaxMs);
    if (job.canWait === true && this.#isSparing)
      return this.#arm(Math.max(now, this.#committedAt + SPARING_MS));
    this.#arm(isPatient ? Math.max(dueAt, sharedAt) : dueAt);
  }

  get #isSparing(): boolean {
    return this.#hooks?.guard.isSparing ?? false;
  }

  /** What waits, waits no longer than this for a commit to share, ms. */
  hasten(ms: number): void {
    if (this.#jobs.length > 0 && !this.#isSparing) this.#arm(this.#parts.clock.monotonic() + ms);
  }

  /** From now on nothing waits to share a commit: the agent stops. */
  commitAtOnce(): void {
    this.#paceMs = 0;
    if (this.#jobs.length > 0) void this.flush();
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

  /** Writes all waiting jobs. Never rejects: each job gets its own result. */
  flush(): Promise<void> {
    this.#timer?.abort.abort();
    this.#timer = null;
    this.#isDue = true;
    this.#pump ??= this.#drain().finally(() => {
      this.#pump = null;
      if (this.#jobs.length > 0 && this.#timer === null) void this.flush();
    });
    return this.#pump;
  }

  async #drain(): Promise<void> {
    // Yields to the loop first, so that jobs queued in this turn share the transaction.
    await immediate();
    while (this.#jobs.length > 0 && this.#isDue) {
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
    this.#isDue = false;
    this.#committedAt = this.#parts.clock.monotonic();
    this.#active = this.#writeGroup(group);
    return this.#active;
  }

  /** Writes at once, in its own transaction. Throws StoreFailure. */
  direct<T>(what: string, write: (tx: Tx) => T): T {
    if (this.#isClosed) throw new StoreFailure("closed", `${what}: store is closed`);
    this.#finishActive();
    const refusal = this.#refusal();
    if (refusal !== null) throw this.#refused(refusal);
    try {
      return this.#direct(write);
    } catch (error) {
      const failure = this.#fail(error, what);
      if (failure.isBusy) throw failure;
      if (failure.code !== "full" || !this.#makeRoomNow()) throw this.#refused(failure);
      try {
        return this.#direct(write);
      } catch (again) {
        throw this.#refused(this.#fail(again, what));
      }
    }
  }

  /**
   * `direct`, but after a job that is being written, which keeps its pauses, and where another program has the lock for a
   * moment, once that is free: in order, after 10 s at most. Rejects with a StoreFailure if nothing was written.
   */
  async soon<T>(what: string, write: (tx: Tx) => T): Promise<T> {
    if (this.#late === 0 && this.#active === null) {
      try {
        return this.direct(what, write);
      } catch (error) {
        if (!(error instanceof StoreFailure && error.isBusy)) throw error;
      }
    }
    this.#late += 1;
    return this.enqueue(oneStep(what, 1, write), 0).finally(() => {
      this.#late -= 1;
    });
  }

  #direct<T>(write: (tx: Tx) => T): T {
    requireMappedRoom(this.#parts.db.path);
    this.#revive();
    const result = transact(this.#parts.db, write);
    this.#committed();
    return result;
  }

  #refusal(): StoreFailure | null {
    return this.#hooks?.guard.refusal() ?? null;
  }

  #makeRoomNow(): boolean {
    const making = this.#connected.makeRoom(null, () => true);
    for (;;) {
      const step = making.next();
      if (step.done === true) return step.value;
    }
  }

  #finishActive(): void {
    const active = this.#active;
    if (active === null) return;
    this.#isAwaited = true;
    try {
      while (!active.next().done);
    } finally {
      this.#isAwaited = false;
    }
  }

  /** Waits for running work, writes the rest synchronously: for a clean stop. */
  close(): void {
    this.#isClosing = true;
    this.#finishActive();
    this.#timer?.abort.abort();
    this.#timer = null;
    while (this.#jobs.length > 0) {
      this.#start();
      this.#finishActive();
    }
    this.#isClosed = true;
  }

  /** A read whose failure is handled like a write's: a broken connection is replaced. Throws StoreFailure. */
  read<T>(what: string, read: () => T): T {
    try {
      this.#revive();
      return read();
    } catch (error) {
      if (this.#isClosed) throw StoreFailure.from(error, what);
      this.#finishActive();
      throw this.#refused(this.#fail(error, what));
    }
  }

  *#writeGroup(group: readonly QueuedJob[]): Generator<void, void, void> {
    try {
      const failure = yield* this.#tryGroup(group);
      if (failure === null) return;
      if (failure.code === "held") return this.#held(group, failure);
      const room = { isOut: failure.code !== "full" && group.length === 1 };
      let known: StoreFailure | null = failure.code === "full" ? failure : null;
      const disk = { failed: new Set<string>(), inARow: 0 };
      // One by one: a job that cannot be written must not fail its neighbours.
      for (const queued of group) {
        // If there is no space for the readings of one, there is none for the next; a settlement needs none.
        const isHopeless =
          (room.isOut && (group.length === 1 || typeof queued.job.oldestMs === "number")) ||
          disk.failed.has(queued.job.what) ||
          disk.inARow >= IO_FAILURES_MAX;
        const own = isHopeless ? failure : yield* this.#tryAlone(queued, known, room);
        known = null;
        if (!isHopeless) disk.inARow = own?.code === "io" ? disk.inARow + 1 : 0;
        if (own?.code === "io") disk.failed.add(queued.job.what);
        if (own?.code === "held") this.#held([queued], own);
        else if (own !== null) queued.reject(this.#refused(own));
      }
    } catch (error) {
      // Nobody waits for ever; who has an answer already is not touched.
      for (const { job, reject } of group) reject(StoreFailure.from(error, job.what));
      throw error;
    } finally {
      this.#active = null;
    }
  }

  /** A lock is mostly held for a moment. */
  #held(group: readonly QueuedJob[], failure: StoreFailure): void {
    const mayRetry = failure.isBusy && !this.#isClosing && (this.busyMs ?? 0) < BUSY_MAX_MS;
    if (!mayRetry) {
      for (const { reject } of group) reject(this.#refused(failure));
      return;
    }
    this.#jobs.unshift(...group);
    for (const { job } of group) this.#rows += job.rows;
    this.#arm(this.#parts.clock.monotonic() + BUSY_RETRY_MS);
  }

  /** `known` is its earlier failure; null if it should be tried first. */
  *#tryAlone(
    queued: QueuedJob,
    known: StoreFailure | null,
    room: { isOut: boolean },
  ): Generator<void, StoreFailure | null, void> {
    let failure = known ?? (yield* this.#tryGroup([queued]));
    for (let round = 0; failure?.code === "full" && round < ROOM_ROUNDS_MAX; round++) {
      const hasRoom = yield* this.#connected.makeRoom(
        queued.job.oldestMs ?? null,
        () => this.#isAwaited || this.#late > 0,
      );
      room.isOut = !hasRoom;
      if (!hasRoom) break;
      failure = yield* this.#tryGroup([queued]);
    }
    return failure;
  }

  *#tryGroup(group: readonly QueuedJob[]): Generator<void, StoreFailure | null, void> {
    const { db, onCommit } = this.#parts;
    const startedAt = performance.now();
    const tx = new UnitOfWork();
    const results: unknown[] = [];
    try {
      const refusal = this.#refusal();
      if (refusal !== null) throw refusal;
      requireMappedRoom(db.path);
      this.#revive();
      db.writer.exec("BEGIN IMMEDIATE");
      for (const { job } of group) results.push(yield* job.run(tx));
      const commitAt = performance.now();
      db.writer.exec("COMMIT");
      onCommit?.((performance.now() - commitAt) / 1000, this.statistics.bytesWritten);
    } catch (error) {
      const what = group.length === 1 ? (group[0]?.job.what ?? "") : `make ${group.length} writes`;
      this.#parts.logger.debug({ ms: performance.now() - startedAt }, "transaction rolled back");
      return this.#fail(error, what, tx);
    }
    this.#committed();
    const isFollowed = followDisk(() => tx.committed());
    if (isFollowed) for (const [index, { resolve }] of group.entries()) resolve(results[index]);
    return null;
  }

  /** After a failed reopen each further attempt starts with another one. */
  #revive(): void {
    if (!this.#isClosed && !this.#parts.db.isOpen) this.#connected.reopen(null);
  }

  /** `tx` is what the failed transaction changed in memory, if that still has to be taken back. */
  #fail(error: unknown, what: string, tx?: UnitOfWork): StoreFailure {
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
  #refused(failure: StoreFailure): StoreFailure {
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
