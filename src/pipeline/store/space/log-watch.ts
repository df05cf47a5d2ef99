import type { Runtime } from "../../../core/ports.ts";
import { holdText, type StoreHold } from "../../../core/status/store-hold.ts";
import { lockHolders } from "../../../lib/lock-holders.ts";
import type { Database, LogFrames } from "../database/database.ts";
import { sizeOf } from "../database/database-file.ts";
import type { Meta } from "../database/meta.ts";
import { StoreFailure } from "../database/store-failure.ts";
import { FRAME_HEAD_BYTES } from "../database/transactions.ts";
import { BUSY_MAX_MS, BUSY_RETRY_MS, type WriteQueue } from "../database/write-queue.ts";
import type { BufferLimits } from "./buffer-limits.ts";
import type { BufferMonitor } from "./buffer-monitor.ts";
import type { LogCopier } from "./log-copier.ts";

interface LogWatchParts extends Runtime {
  readonly db: Database;
  readonly queue: WriteQueue;
  readonly meta: Pick<Meta, "keep">;
  readonly monitor: Pick<
    BufferMonitor,
    "diskShortageBytes" | "dropBallast" | "pages" | "restoreBallast"
  >;
  readonly limits: BufferLimits;
  readonly copier: LogCopier;
}

const TICK_MS = 1_000;
/** Without a commit nothing is left behind; but a writer may hold the store. */
const LOOK_EVERY_MS = 3_000;
/** Frames that stay behind for so long are held there. */
const HELD_AFTER_MS = 10_000;
/** What a small transaction adds to the log, bytes. */
const SMALL_BYTES = 256 << 10;
/** Locks of the -shm: of writers, and of those who read the log or the file. */
const WRITER_BYTES = [120, 120] as const;
const READER_BYTES = [123, 127] as const;

/**
 * Notices that another program holds the store open. While its read transaction lasts, the log can be neither reset nor
 * shortened, and every commit lengthens it: from half of its limit on little is written, at the limit nothing. A foreign
 * write lock is told likewise.
 */
export class LogWatch {
  readonly #parts: LogWatchParts;
  #frames: LogFrames = { log: 0, checkpointed: 0 };
  /** Since when copying leaves frames behind; null while it does not, or that is not known. */
  #behind: { readonly at: number; readonly ms: number } | null = null;
  #hold: StoreHold | null = null;
  /** A commit has been made since the last look at locks. */
  #hasNews = false;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #wasSeen = false;
  /** A full disk refused the copy: the ballast is made again after it. */
  #hasDropped = false;

  constructor(parts: LogWatchParts) {
    this.#parts = parts;
  }

  get hold(): StoreHold | null {
    return this.#hold;
  }

  /** In words, with what follows from it; null while nobody holds the store. */
  get text(): string | null {
    if (this.#hold === null) return null;
    const effect = this.refusal() !== null ? ": nothing is written" : ": reading pauses";
    return holdText(this.#hold) + (this.isSparing ? `${effect} until it ends` : "");
  }

  /** Copying has left frames behind: what is freed now only lengthens the log. */
  get isSuspected(): boolean {
    return this.#behind !== null || this.#hold !== null;
  }

  /** Reading and backfill pause, and what can wait is written once in ten seconds. */
  get isSparing(): boolean {
    if (this.#hold?.by === "writer") return true;
    const { heldLogBytes, walBytes } = this.#parts.limits;
    return this.#logBytes >= heldLogBytes / 2 || this.#lacksDisk(walBytes / 2);
  }

  refusal(): StoreFailure | null {
    const { heldLogBytes } = this.#parts.limits;
    const isHeld =
      this.#hold?.by === "writer" || this.#logBytes >= heldLogBytes || this.#lacksDisk(SMALL_BYTES);
    if (!isHeld) return null;
    const text = this.#hold === null ? HELD_TEXT : holdText(this.#hold);
    return new StoreFailure("held", `${text}: nothing is written until it ends`);
  }

  /** Why a change cannot be stored, once a lock that is held for a moment has been waited for; null if it can. */
  async whyUnwritable(): Promise<string | null> {
    const { clock, queue } = this.#parts;
    for (;;) {
      const refusal = this.refusal();
      if (refusal !== null) return refusal.message;
      queue.probe();
      const { busyMs } = queue;
      if (busyMs === null) return null;
      if (busyMs >= BUSY_MAX_MS) return `${HELD_TEXT}: nothing is written until it ends`;
      await clock.sleep(BUSY_RETRY_MS);
    }
  }

  /** Of a log that cannot be reset, bytes. */
  get #logBytes(): number {
    const { log, checkpointed } = this.#frames;
    return log > checkpointed ? log * (this.#parts.db.pageBytes + FRAME_HEAD_BYTES) : 0;
  }

  /** With so much more the disk had less room than it is to have, once the log is in the file. */
  #lacksDisk(bytes: number): boolean {
    const { db, monitor } = this.#parts;
    if (!this.isSuspected || !db.isOpen) return false;
    const growth = Math.max(0, monitor.pages().all * db.pageBytes - sizeOf(db.path));
    return monitor.diskShortageBytes() + growth + bytes > 0;
  }

  committed(frames: LogFrames): void {
    this.#frames = frames;
    this.#hasNews = true;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, copier, logger } = this.#parts;
    while (!signal.aborted) {
      await clock.sleep(TICK_MS, signal);
      if (signal.aborted) break;
      try {
        await this.tick();
      } catch (error) {
        const failure = StoreFailure.from(error, "look at the log");
        if (failure.code === "internal") throw error;
        logger.debug({ err: failure }, "the log could not be looked at");
      }
    }
    await copier.close();
  }

  /** One look. */
  async tick(): Promise<void> {
    const { clock, db, queue } = this.#parts;
    if (!db.isOpen) return;
    const isDue =
      this.#hasNews ||
      this.#wasSeen ||
      this.isSuspected ||
      queue.busyMs !== null ||
      clock.monotonic() - this.#lookedAt >= LOOK_EVERY_MS;
    if (!isDue) return;
    this.#hasNews = false;
    this.#lookedAt = clock.monotonic();
    const writers = this.#holders(WRITER_BYTES);
    await queue.betweenWrites();
    if (!db.isOpen) return;
    if (writers.length > 0 || queue.busyMs !== null) queue.probe();
    await this.#lookAtLog(this.#holders(READER_BYTES).length > 0);
    this.#judge();
  }

  #holders(bytes: readonly [number, number]): readonly number[] {
    return lockHolders(`${this.#parts.db.path}-shm`, bytes) ?? [];
  }

  async #lookAtLog(isSeen: boolean): Promise<void> {
    const { clock, db } = this.#parts;
    this.#frames = db.logFrames();
    // One that reads again and again is seen often: copying each time would wear the card.
    const isNear =
      (isSeen && this.#wasSeen) || this.#behind !== null || this.#frames.log >= db.checkpointPages;
    this.#wasSeen = isSeen;
    if (isNear && this.#hasRest) this.#frames = await this.#copied();
    if (!isNear || !this.#hasRest) return this.#free();
    this.#behind ??= { at: clock.monotonic(), ms: clock.now() };
    // Once it may be copied it is long: not at a commit.
    db.checkpointAtCommit(false);
  }

  get #hasRest(): boolean {
    return this.#frames.log > this.#frames.checkpointed;
  }

  /** A long log is copied by the thread. */
  async #copied(): Promise<LogFrames> {
    const { copier, db, logger, monitor, queue } = this.#parts;
    const { log, checkpointed } = this.#frames;
    const isLong = log - checkpointed > 2 * db.checkpointPages;
    const copy = async () => {
      if (!isLong) return db.copyLog();
      try {
        return await copier.copy();
      } catch (error) {
        if (error instanceof StoreFailure) throw error;
        logger.debug({ err: error }, "the log is copied without a thread");
        await queue.betweenWrites();
        return db.copyLog();
      }
    };
    try {
      return await copy();
    } catch (error) {
      const { isOutOfSpace } = StoreFailure.from(error, "copy the log");
      if (!isOutOfSpace || !monitor.dropBallast()) throw error;
      this.#hasDropped = true;
      await queue.betweenWrites();
      return copy();
    }
  }

  #free(): void {
    if (this.#behind === null) return;
    this.#behind = null;
    this.#parts.db.checkpointAtCommit(true);
    void this.#parts.copier.close();
  }

  #judge(): void {
    const { clock, queue } = this.#parts;
    const { busyMs } = queue;
    const at = clock.monotonic();
    if (busyMs !== null && busyMs >= BUSY_MAX_MS)
      this.#found("writer", clock.now() - busyMs, [WRITER_BYTES[0], READER_BYTES[1]]);
    else if (this.#behind !== null && at - this.#behind.at >= HELD_AFTER_MS)
      this.#found("reader", this.#behind.ms, READER_BYTES);
    else if (this.#hold !== null && busyMs === null && this.#behind === null) this.#ended();
  }

  #found(by: StoreHold["by"], sinceMs: number, bytes: readonly [number, number]): void {
    const pids = this.#holders(bytes).filter((pid) => pid > 0);
    const before = this.#hold;
    this.#hold = { by, sinceMs: before?.sinceMs ?? sinceMs, pids };
    if (before !== null) return;
    this.#parts.logger.warn({ by, pids }, holdText(this.#hold));
  }

  /** The next write begins at the start of the log, which is shortened with it; then the rest follows. */
  #ended(): void {
    const { clock, logger, meta, monitor } = this.#parts;
    const heldMs = clock.now() - (this.#hold?.sinceMs ?? clock.now());
    this.#hold = null;
    logger.info({ heldMs }, "no other program holds the store open any more");
    meta
      .keep("tried_at_ms", String(clock.now()))
      .catch((err: unknown) => logger.debug({ err }, "nothing can be written yet"));
    if (this.#hasDropped) monitor.restoreBallast();
    this.#hasDropped = false;
  }
}

const HELD_TEXT = "another program holds the store open";
