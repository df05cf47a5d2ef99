import { isWaveform } from "../../../core/delivery/lane-plan.ts";
import type { Tx } from "../../../core/tx.ts";
import type { Meta } from "../database/meta.ts";
import type { LaneQueue } from "../outbox/lane-queue.ts";
import type { Lanes } from "../outbox/lanes.ts";
import type { Pending } from "../outbox/pending.ts";
import type { ReadingCount } from "../readings/reading-count.ts";
import type { BufferMonitor } from "./buffer-monitor.ts";

interface SheddingParts {
  readonly lanes: Pick<Lanes, "all" | "delivering">;
  readonly pending: Pick<Pending, "depth">;
  readonly readings: Readonly<ReadingCount>;
  readonly monitor: Pick<BufferMonitor, "pages" | "pagesAllowed">;
  readonly meta: Pick<Meta, "get" | "put">;
}

/** What is currently not accepted: readings up to `floorMs`, for these uplinks. */
export interface Shed {
  readonly floorMs: number;
  readonly uplinks: ReadonlySet<string>;
}

/** Time of the newest reading that was dropped while the buffer is full, ms; kept across restarts. */
const FLOOR = "given_up_until_ms";
/** Share of the allowed pages above which the buffer counts as full; lower than where freeing space ends. */
const FULL_SHARE = 0.85;
/** Share of delivered readings that can be removed instead. */
const DELIVERED_SHARE = 0.05;
/** An uplink with less of the buffer pending than this does not fill it, and continues to get everything. */
const HOLDER_SHARE = 0.25;

/**
 * A full buffer drops the oldest readings, including arriving ones: storing an old one would displace a newer one.
 * The last one dropped is the floor; nothing at or below it is accepted until there is space again.
 */
export class Shedding {
  readonly #parts: SheddingParts;
  #floorMs = Number.NEGATIVE_INFINITY;
  /** Upper bound of delivered readings when a search through all found no more of them to remove; -1 before any. */
  #searchedMax = -1;
  /** False if a reading may no longer be pending for anybody since that search although the bound has not moved. */
  #isSearchGood = false;

  constructor(parts: SheddingParts) {
    this.#parts = parts;
  }

  /** At start. */
  load(): void {
    const text = this.#parts.meta.get(FLOOR);
    this.#floorMs = text === null || text === "" ? Number.NEGATIVE_INFINITY : Number(text);
  }

  /** Upper bound of the readings that are pending for nobody any more. */
  get #deliveredMax(): number {
    const { lanes, readings } = this.#parts;
    return readings.count - Math.max(0, ...lanes.all.map((lane) => lane.pending));
  }

  /** Nothing was delivered since a search that found nothing. */
  get isExhausted(): boolean {
    return this.#isSearchGood && this.#deliveredMax <= this.#searchedMax;
  }

  /** A search for delivered readings reached the end of the store. */
  searched(): void {
    this.#searchedMax = this.#deliveredMax;
    this.#isSearchGood = true;
  }

  /** The next search starts from the beginning. */
  searchAgain(): void {
    this.#isSearchGood = false;
  }

  /**
   * Inside the transaction that drops a reading of this time: what the same transaction adds counts as older, too.
   */
  raise(tx: Tx, timeMs: number): void {
    if (timeMs <= this.#floorMs) return;
    this.#change(tx, timeMs);
    this.keep();
  }

  /** Inside a transaction: the floor survives the process. */
  keep(): void {
    this.#parts.meta.put(FLOOR, String(this.#floorMs));
  }

  #change(tx: Tx, floorMs: number): void {
    const before = this.#floorMs;
    this.#floorMs = floorMs;
    // One transaction runs at a time, and nothing else changes the floor meanwhile.
    tx.onRollback(() => {
      this.#floorMs = before;
    });
  }

  /** Null while everything is accepted. */
  current(): Shed | null {
    return this.#floorMs === Number.NEGATIVE_INFINITY ? null : this.#upTo(this.#floorMs);
  }

  /**
   * Between two attempts to write: true if something older than everything pending wants to be stored. That is dropped
   * first, and the write is retried.
   */
  refuse(oldestIncomingMs: number | null): boolean {
    const oldestMs = this.#oldestPending();
    if (oldestIncomingMs === null || oldestMs === null || oldestIncomingMs >= oldestMs)
      return false;
    if (oldestMs - 1 <= this.#floorMs || this.#upTo(oldestMs - 1) === null) return false;
    // `keep` follows with what is not accepted; until then everything in the store is above it.
    this.#floorMs = oldestMs - 1;
    return true;
  }

  /** At a check that found the buffer below its high-water mark: whether everything may be accepted again. */
  get isOver(): boolean {
    if (this.#floorMs === Number.NEGATIVE_INFINITY) return false;
    return !this.#isFull || this.current() === null;
  }

  /** Inside a transaction; if it is still over by then. */
  end(tx: Tx): void {
    if (!this.isOver) return;
    this.#change(tx, Number.NEGATIVE_INFINITY);
    this.#parts.meta.put(FLOOR, "");
  }

  /** Only during a check: while space is freed for a large response there is space for its oldest readings, too. */
  get #isFull(): boolean {
    const { all, free } = this.#parts.monitor.pages();
    return all - free > FULL_SHARE * this.#parts.monitor.pagesAllowed(all);
  }

  #upTo(floorMs: number): Shed | null {
    const { readings } = this.#parts;
    if (this.#deliveredMax > Math.max(DELIVERED_SHARE * readings.count, this.#searchedMax))
      return null;
    const holders = this.#holders();
    if (holders.length === 0) return null;
    return { floorMs, uplinks: new Set(holders.map(({ uplink }) => uplink.name)) };
  }

  /** Those that fill the buffer without delivering. */
  #holders(): LaneQueue[] {
    const { lanes, readings } = this.#parts;
    const delivering = lanes.delivering();
    return lanes.all.filter(
      ({ lane, pending, uplink }) =>
        !isWaveform(lane) &&
        pending >= HOLDER_SHARE * readings.count &&
        !delivering.has(uplink.name),
    );
  }

  #oldestPending(): number | null {
    const { lanes, pending } = this.#parts;
    const times = lanes.all
      .filter((lane) => !isWaveform(lane.lane) && !lane.isLiveOnly)
      .map((lane) => pending.depth(lane).oldestTimeMs ?? Number.POSITIVE_INFINITY);
    const oldest = Math.min(...times);
    return Number.isFinite(oldest) ? oldest : null;
  }
}
