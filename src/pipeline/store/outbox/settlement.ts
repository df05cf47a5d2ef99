import { isWaveform } from "../../../core/delivery/lane-plan.ts";
import type { Runtime } from "../../../core/ports.ts";
import type { Tx } from "../../../core/tx.ts";
import { Backoff } from "../../../lib/backoff.ts";
import type { Database } from "../database/database.ts";
import { StoreFailure } from "../database/store-failure.ts";
import type { WriteJob } from "../database/write-job.ts";
import type { WriteQueue } from "../database/write-queue.ts";
import type { DroppedCounts } from "../space/dropped-counts.ts";
import type { SqliteGapLog } from "./gap-log.ts";
import type { LaneQueue, Slot } from "./lane-queue.ts";
import type { Lanes } from "./lanes.ts";
import { DELETE_ROW_SQL, MARK_SQL } from "./pending.ts";
import type { Place } from "./stream-queue.ts";

export interface SettlementParts extends Runtime {
  readonly db: Database;
  readonly queue: WriteQueue;
  readonly lanes: Lanes;
  readonly gaps: Pick<SqliteGapLog, "add">;
  readonly counts: Pick<DroppedCounts, "add" | "note">;
}

interface SettlementHooks {
  /** The disk does not accept these outcomes, and they wait for it. */
  readonly blocked: (settlement: Settlement, isHeld: boolean) => void;
  /** They are on disk, or will not be written by this process; not told: nobody has been told of that yet. */
  readonly over: (settlement: Settlement, isTold: boolean) => void;
  /** It is being written: later outcomes belong to the next one. */
  readonly started: () => void;
  readonly closing: AbortSignal;
}

const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 30_000;
/** The same while another program holds the store: later outcomes join these. */
const HELD_RETRY_MS = 2_000;
/** Nothing said, an hour after the start, that it may go live. */
const UNPROVEN = "unproven";

/**
 * Outcomes of several publishers that are deleted from the outbox in one transaction, together with their live marks.
 */
export class Settlement {
  /** Once they are on disk. Rejects if they stay pending there. */
  readonly done: Promise<void>;
  readonly #parts: SettlementParts;
  readonly #hooks: SettlementHooks;
  readonly #slots = new Map<LaneQueue, Slot[]>();
  readonly #givenUp = new Set<Slot>();
  size = 0;

  /** @param windowMs how long it may wait for others to share its commit */
  constructor(parts: SettlementParts, hooks: SettlementHooks, windowMs: number) {
    this.#parts = parts;
    this.#hooks = hooks;
    this.done = this.#write(windowMs);
    // A caller that does not wait must not end the process with it.
    this.done.catch(() => {});
  }

  add(lane: LaneQueue, slot: Slot, isGivenUp = false): void {
    if (isGivenUp) this.#givenUp.add(slot);
    const slots = this.#slots.get(lane);
    if (slots === undefined) this.#slots.set(lane, [slot]);
    else slots.push(slot);
    this.size += 1;
    if (slot.isReplaced !== true) lane.settled += 1;
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
          over(this, !closing.aborted);
          if (closing.aborted) throw new StoreFailure("closed", `${job.what}: the agent stops`);
          throw failure;
        }
        const isHeld = failure.code === "held";
        blocked(this, isHeld);
        if (isHeld) {
          await clock.sleep(HELD_RETRY_MS, closing);
          continue;
        }
        if (retry.failures === 0)
          logger.error({ err: failure }, "acknowledgements cannot be stored; publishing pauses");
        await clock.sleep(retry.next(), closing);
      }
    }
  }

  *#run(tx: Tx): Generator<void, void, void> {
    this.#hooks.started();
    for (const [lane, slots] of this.#slots) {
      for (const slot of slots) {
        const isGone = this.#delete(tx, lane, slot.place);
        if (isGone && this.#givenUp.has(slot)) this.#giveUp(tx, lane, slot.place);
        yield;
      }
      for (const [stream, timeMs] of marksOf(slots)) {
        this.#parts.db.write(MARK_SQL).run(lane.number, stream, timeMs);
      }
    }
    tx.onCommit(() => {
      this.#release((lane, slot) => lane.leave(slot));
      this.#hooks.over(this, true);
    });
  }

  /**
   * Row by row: between two that were leased together others may stand by now, with older numbers, too, that nobody has
   * sent yet. A DELETE of their range would save half a microsecond a row.
   */
  #delete(tx: Tx, lane: LaneQueue, { hour, stream, timeMs, seq }: Place): boolean {
    const { changes } = this.#parts.db
      .write(DELETE_ROW_SQL)
      .run(lane.number, hour, stream, timeMs, seq);
    if (changes === 0) return false;
    tx.onCommit(() => {
      lane.stream(stream).pending = Math.max(0, lane.stream(stream).pending - 1);
      lane.rowsVersion += 1;
    });
    return true;
  }

  /** It is lost, once, unless another lane of its uplink brings it as history. */
  #giveUp(tx: Tx, lane: LaneQueue, { stream, timeMs }: Place): void {
    const { counts, gaps, lanes } = this.#parts;
    if (isWaveform(lane.lane)) return counts.add(tx, `waveform_${UNPROVEN}`, 1);
    const { name } = lane.uplink;
    const all = lanes.all.filter((one) => one.uplink.name === name && !isWaveform(one.lane));
    if (all[0] !== lane || all.some(({ isLiveOnly }) => !isLiveOnly)) return;
    gaps.add(tx, stream, timeMs, UNPROVEN, name);
    counts.add(tx, UNPROVEN, 1);
  }

  #release(end: (lane: LaneQueue, slot: Slot) => void): void {
    for (const [lane, slots] of this.#slots) {
      const counted = slots.filter(({ isReplaced }) => isReplaced !== true).length;
      lane.settled = Math.max(0, lane.settled - counted);
      for (const slot of slots) end(lane, slot);
      lane.rowsVersion += 1;
    }
  }
}

function marksOf(slots: readonly Slot[]): Map<number, number> {
  const marks = new Map<number, number>();
  for (const { live, place } of slots) {
    if (live) marks.set(place.stream, Math.max(marks.get(place.stream) ?? -Infinity, place.timeMs));
  }
  return marks;
}
