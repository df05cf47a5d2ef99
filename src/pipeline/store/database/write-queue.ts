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
 * In one file: groups, pauses and further tries are one state. One attempt is a transaction (transactions.ts).
 */
import assert from "node:assert/strict";
import { setImmediate as immediate } from "node:timers/promises";
import type { Tx } from "../../../core/tx.ts";
import { StoreFailure } from "./store-failure.ts";
import { Transactions, type TransactionsParts, type WriteQueueHooks } from "./transactions.ts";
import { oneStep, type QueuedJob, type WriteJob } from "./write-job.ts";

interface WriteQueueParts extends TransactionsParts {
  /** Spacing between commits of a few jobs that can wait, ms; 0 = none. */
  readonly paceMs: number;
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
export class WriteQueue {
  readonly #parts: WriteQueueParts;
  readonly #transactions: Transactions;
  #hooks: WriteQueueHooks | null = null;
  #jobs: QueuedJob[] = [];
  #rows = 0;
  #active: Generator<void, void, void> | null = null;
  #pump: Promise<void> | null = null;
  #timer: { readonly dueAt: number; readonly abort: AbortController } | null = null;
  /** Somebody waits for the running work to end. */
  #isAwaited = false;
  /** Calls of `soon` that found the lock taken, or a job being written. */
  #late = 0;
  /** What waits is written as soon as the running transaction has ended: some of it cannot wait, or is due. */
  #isDue = false;
  #isClosing = false;
  #paceMs: number;
  #committedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: WriteQueueParts) {
    this.#parts = parts;
    this.#transactions = new Transactions(parts);
    this.#paceMs = parts.paceMs;
  }

  connect(hooks: WriteQueueHooks): void {
    this.#hooks = hooks;
    this.#transactions.connect(hooks);
  }

  get #connected(): WriteQueueHooks {
    assert(this.#hooks !== null, "the queue is not connected");
    return this.#hooks;
  }

  /** Since the store was opened. */
  get statistics(): Transactions["statistics"] {
    return this.#transactions.statistics;
  }

  /** What was refused last; null while writing works, also while space is freed for it. */
  get failure(): StoreFailure | null {
    return this.#transactions.failure;
  }

  /** How long another program has had the lock, ms; null while nobody has. */
  get busyMs(): number | null {
    return this.#transactions.busyMs;
  }

  /** Looks whether the lock is free; what waits is written at once then. */
  probe(): void {
    if (this.#active === null) this.#transactions.probe();
  }

  /** Between two transactions: SQLite does not look at the log inside one. */
  async betweenWrites(): Promise<void> {
    while (this.#active !== null) await immediate();
  }

  /** Whether a transaction is open, whose job may pause. */
  get isWriting(): boolean {
    return this.#active !== null;
  }

  /**
   * Queues a job; it is written at the latest `windowMs` from now, one that can wait at the latest after `paceMs`.
   * Resolves with its result once that is on disk; rejects with a StoreFailure if nothing was written.
   */
  enqueue<T>(job: WriteJob<T>, windowMs: number): Promise<T> {
    if (this.#transactions.isClosed)
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
    if (this.#transactions.isClosed) throw new StoreFailure("closed", `${what}: store is closed`);
    this.#finishActive();
    const refusal = this.#transactions.refusal();
    if (refusal !== null) throw this.#transactions.refused(refusal);
    try {
      return this.#transactions.write(write);
    } catch (error) {
      const failure = this.#transactions.failed(error, what);
      if (failure.isBusy) throw failure;
      if (failure.code !== "full" || !this.#makeRoomNow())
        throw this.#transactions.refused(failure);
      try {
        return this.#transactions.write(write);
      } catch (again) {
        throw this.#transactions.refused(this.#transactions.failed(again, what));
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
    this.#transactions.close();
  }

  /** A read whose failure is handled like a write's: a broken connection is replaced. Throws StoreFailure. */
  read<T>(what: string, read: () => T): T {
    try {
      this.#transactions.revive();
      return read();
    } catch (error) {
      if (this.#transactions.isClosed) throw StoreFailure.from(error, what);
      this.#finishActive();
      throw this.#transactions.refused(this.#transactions.failed(error, what));
    }
  }

  *#writeGroup(group: readonly QueuedJob[]): Generator<void, void, void> {
    try {
      const failure = yield* this.#transactions.attempt(group);
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
        else if (own !== null) queued.reject(this.#transactions.refused(own));
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
      for (const { reject } of group) reject(this.#transactions.refused(failure));
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
    let failure = known ?? (yield* this.#transactions.attempt([queued]));
    for (let round = 0; failure?.code === "full" && round < ROOM_ROUNDS_MAX; round++) {
      const hasRoom = yield* this.#connected.makeRoom(
        queued.job.oldestMs ?? null,
        () => this.#isAwaited || this.#late > 0,
      );
      room.isOut = !hasRoom;
      if (!hasRoom) break;
      failure = yield* this.#transactions.attempt([queued]);
    }
    return failure;
  }
}
