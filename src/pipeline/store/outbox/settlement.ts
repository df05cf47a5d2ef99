import { grouped } from "../../../core/grouped.ts";
import type { Runtime } from "../../../core/ports.ts";
import type { Tx } from "../../../core/tx.ts";
import { Backoff } from "../../../lib/backoff.ts";
import type { Database } from "../database/database.ts";
import { StoreFailure } from "../database/store-failure.ts";
import type { WriteJob } from "../database/write-job.ts";
import type { WriteQueue } from "../database/write-queue.ts";
import type { LaneQueue, Slot } from "./lane-queue.ts";
import { DELETE_ROW_SQL, MARK_SQL } from "./pending.ts";

interface SettlementParts extends Runtime {
  readonly db: Database;
  readonly queue: WriteQueue;
}

interface SettlementHooks {
  /** The disk does not accept these outcomes, and they wait for it. */
  readonly blocked: (settlement: Settlement) => void;
  /** They are on disk, or will not be written by this process. */
  readonly over: (settlement: Settlement) => void;
  /** It is being written: later outcomes belong to the next one. */
  readonly started: () => void;
  readonly closing: AbortSignal;
}

// Rows inserted in between since the page was read have a higher seq and stay.
const DELETE_RUN_SQL = `DELETE FROM outbox WHERE lane = ? AND hour = ? AND stream = ?
  AND (time_ms, seq) >= (?, ?) AND (time_ms, seq) <= (?, ?) AND seq <= ?`;

const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 30_000;

/**
 * Outcomes of several publishers that are deleted from the outbox in one transaction, together with their live marks.
 */
export class Settlement {
  /** Once they are on disk. Rejects if they stay pending there. */
  readonly done: Promise<void>;
  readonly #parts: SettlementParts;
  readonly #hooks: SettlementHooks;
  readonly #slots = new Map<LaneQueue, Slot[]>();
  size = 0;

  /** @param windowMs how long it may wait for others to share its commit */
  constructor(parts: SettlementParts, hooks: SettlementHooks, windowMs: number) {
    this.#parts = parts;
    this.#hooks = hooks;
    this.done = this.#write(windowMs);
    // A caller that does not wait must not end the process with it.
    this.done.catch(() => {});
  }

  add(lane: LaneQueue, slot: Slot): void {
    const slots = this.#slots.get(lane);
    if (slots === undefined) this.#slots.set(lane, [slot]);
    else slots.push(slot);
    this.size += 1;
    lane.settled += 1;
    lane.rowsVersion += 1;
  }

  /** Tries until they are written, or until that will never work. */
  async #write(windowMs: number): Promise<void> {
    const { clock, logger, queue } = this.#parts;
    const { closing, blocked, over } = this.#hooks;
    const retry = new Backoff(RETRY_MIN_MS, RETRY_MAX_MS);
    const job: WriteJob = {
      what: "settle deliveries",
      rows: 1,
      // Until then a kill repeats them, like those whose acknowledgement is still on its way.
      canWait: true,
      run: (tx) => this.#run(tx),
    };
    for (let waitMs = windowMs; ; waitMs = 0) {
      try {
        return await queue.enqueue(job, waitMs);
      } catch (error) {
        const failure = StoreFailure.from(error, job.what);
        if (!failure.isRetryable || closing.aborted) {
          // What was sent stays pending on disk and is sent again after the restart: at least once.
          this.#release((lane, slot) => lane.endLease(slot));
          over(this);
          throw failure;
        }
        if (retry.failures === 0)
          logger.error({ err: failure }, "acknowledgements cannot be stored; publishing pauses");
        blocked(this);
        await clock.sleep(retry.next(), closing);
      }
    }
  }

  *#run(tx: Tx): Generator<void, void, void> {
    this.#hooks.started();
    for (const [lane, slots] of this.#slots) {
      for (const run of runsOf(lane, slots)) {
        this.#delete(tx, lane, run);
        yield;
      }
      for (const [stream, timeMs] of marksOf(slots)) {
        this.#parts.db.write(MARK_SQL).run(lane.number, stream, timeMs);
      }
    }
    tx.onCommit(() => {
      this.#release((lane, slot) => lane.leave(slot));
      this.#hooks.over(this);
    });
  }

  #delete(tx: Tx, lane: LaneQueue, run: readonly Slot[]): void {
    const first = run[0];
    const last = run.at(-1);
    if (first === undefined || last === undefined) return;
    const { hour, stream } = first.place;
    const { db } = this.#parts;
    const from = first.place;
    const to = last.place;
    const { changes } =
      run.length === 1
        ? db.write(DELETE_ROW_SQL).run(lane.number, hour, stream, from.timeMs, from.seq)
        : db
            .write(DELETE_RUN_SQL)
            .run(
              lane.number,
              hour,
              stream,
              from.timeMs,
              from.seq,
              to.timeMs,
              to.seq,
              first.page.seqMax,
            );
    tx.onCommit(() => {
      lane.stream(stream).pending = Math.max(0, lane.stream(stream).pending - changes);
      lane.rowsVersion += 1;
    });
  }

  #release(end: (lane: LaneQueue, slot: Slot) => void): void {
    for (const [lane, slots] of this.#slots) {
      for (const slot of slots) end(lane, slot);
      lane.settled = Math.max(0, lane.settled - slots.length);
      lane.rowsVersion += 1;
    }
  }
}

/**
 * Runs of neighbours on one page. A slot whose lease has ended is on its own: since the disk was read again, another
 * reading may stand between it and its neighbour, under a row number that was given up.
 */
function runsOf(lane: LaneQueue, slots: readonly Slot[]): Slot[][] {
  const runs = slots.filter((slot) => !lane.holds(slot)).map((slot) => [slot]);
  const held = slots.filter((slot) => lane.holds(slot));
  for (const page of grouped(held, ({ page }) => page).values()) {
    page.sort((a, b) => a.index - b.index);
    let run: Slot[] = [];
    for (const slot of page) {
      const previous = run.at(-1);
      if (previous !== undefined && slot.index !== previous.index + 1) {
        runs.push(run);
        run = [];
      }
      run.push(slot);
    }
    runs.push(run);
  }
  return runs;
}

function marksOf(slots: readonly Slot[]): Map<number, number> {
  const marks = new Map<number, number>();
  for (const { live, place } of slots) {
    if (live) marks.set(place.stream, Math.max(marks.get(place.stream) ?? -Infinity, place.timeMs));
  }
  return marks;
}
