import type { Logger } from "../../../core/ports.ts";
import type { Tx } from "../../../core/tx.ts";
import type { Database } from "../database/database.ts";
import { transact } from "../database/transact.ts";
import type { BufferMonitor } from "./buffer-monitor.ts";
import { phaseOf, type Run, startRun } from "./run.ts";
import type { Shedding } from "./shedding.ts";

interface RoomMakerParts {
  readonly db: Database;
  readonly monitor: BufferMonitor;
  readonly logger: Logger;
}

/** Frees one slice; false once nothing is left. */
interface FreesSpace {
  free(tx: Tx, run: Run, rowsMax: number): boolean;
}

/** Share of the file's pages that one call frees. */
const FREED_SHARE = 1 / 20;
/** As many readings at once as a slow card accepts without blocking the loop. */
const SLICE_ROWS = 100;
/** Longest work while somebody waits for it, ms; the next call continues where this one ended. */
const AWAITED_MS_MAX = 100;
/** What a write without readings may take of the reserve at once, pages: one that settles deliveries makes space later. */
const LENT_PAGES = 64;

interface PageCounts {
  readonly all: number;
  readonly free: number;
}

const usedOf = ({ all, free }: PageCounts): number => all - free;

/** Frees space after SQLITE_FULL, a slice at a time, so that the event loop runs between them. */
export class RoomMaker {
  readonly #full: FreesSpace;
  readonly #shedding: Shedding;
  readonly #parts: RoomMakerParts;
  /** That of an interrupted call. */
  #run: Run | null = null;

  constructor(full: FreesSpace, shedding: Shedding, parts: RoomMakerParts) {
    this.#full = full;
    this.#shedding = shedding;
    this.#parts = parts;
  }

  /**
   * Each `yield` is a possible pause. Returns whether the failed write may be retried. `oldestIncomingMs` is the time
   * of its oldest reading, null if it contains none.
   */
  *make(oldestIncomingMs: number | null, isAwaited: () => boolean): Generator<void, boolean, void> {
    const { logger, monitor } = this.#parts;
    let hadBallast = false;
    let hasFreed = false;
    try {
      hadBallast = monitor.dropBallast();
    } catch (error) {
      logger.debug({ err: error }, "the ballast could not be removed");
    }
    try {
      hasFreed = yield* this.#free(oldestIncomingMs, isAwaited);
      return hasFreed || hadBallast || (oldestIncomingMs === null && this.#lend());
    } catch (error) {
      // Its write is answered: what cannot be freed on a failing disk must not end the process.
      logger.debug({ err: error }, "could not free space");
      return hadBallast;
    }
  }

  /** Where everything waits for an uplink that delivers, nothing can be freed before its deliveries are settled. */
  #lend(): boolean {
    const { db, monitor } = this.#parts;
    const { all } = monitor.pages();
    return db.capPages(Math.min(all + LENT_PAGES, monitor.pagesWithReserve(all)));
  }

  *#free(
    oldestIncomingMs: number | null,
    isAwaited: () => boolean,
  ): Generator<void, boolean, void> {
    const { db, monitor } = this.#parts;
    // The next write begins at the start of the -wal, whatever space the disk has.
    db.copyLog();
    db.keepLog(monitor.diskShortageBytes() <= 0);
    const before = monitor.pages();
    // Identities have grown into what is reserved for them, or the disk has space again: nothing has to go.
    if (db.capPages(monitor.pagesAllowed(before.all))) return true;
    // What is remembered of a reading is written before the reading's own pages are free.
    db.capPages(monitor.pagesWithReserve(before.all));
    try {
      return yield* this.#slices(before, oldestIncomingMs, isAwaited);
    } finally {
      this.#giveBack(before.all);
    }
  }

  #giveBack(pagesBefore: number): void {
    const { db, monitor } = this.#parts;
    const taken = monitor.pages().all - pagesBefore;
    if (taken > 0) db.writer.exec(`PRAGMA incremental_vacuum(${taken})`);
    db.capPages(monitor.pagesAllowed(monitor.pages().all));
  }

  *#slices(
    before: PageCounts,
    oldestIncomingMs: number | null,
    isAwaited: () => boolean,
  ): Generator<void, boolean, void> {
    const { db, monitor } = this.#parts;
    const shedding = this.#shedding;
    // What was delivered meanwhile is deleted before anything pending.
    const isStale = this.#run !== null && this.#run.phase > 0 && !shedding.isExhausted;
    const run = this.#run === null || isStale ? startRun() : this.#run;
    this.#run = null;
    const wanted = before.all * FREED_SHARE;
    let freed = 0;
    let workedMs = 0;
    for (;;) {
      if (freed >= wanted) return freed > 0;
      if (phaseOf(run) === "pending" && freed <= 0 && shedding.refuse(oldestIncomingMs))
        return true;
      const startedAt = performance.now();
      if (!transact(db, (tx) => this.#full.free(tx, run, SLICE_ROWS))) return freed > 0;
      freed = usedOf(before) - usedOf(monitor.pages());
      workedMs += performance.now() - startedAt;
      if (isAwaited() && workedMs >= AWAITED_MS_MAX) {
        this.#run = run;
        return freed > 0;
      }
      yield;
    }
  }
}
