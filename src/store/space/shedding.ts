import { isWaveform } from "../../core/lane-plan.ts";
import type { Meta } from "../database/meta.ts";
import type { LaneQueue } from "../outbox/lane-queue.ts";
import type { SqliteOutbox } from "../outbox/outbox.ts";
import type { SqliteReadingLog } from "../readings/reading-log.ts";
import type { BufferMonitor } from "./buffer-monitor.ts";

interface SheddingParts {
  readonly outbox: SqliteOutbox;
  readonly readings: Pick<SqliteReadingLog, "count">;
  readonly monitor: Pick<BufferMonitor, "pages" | "pagesAllowed">;
  readonly meta: Pick<Meta, "get" | "put">;
}

/** What is not taken now: readings up to `floorMs`, for these uplinks. */
export interface Shed {
  readonly floorMs: number;
  readonly uplinks: ReadonlySet<string>;
}

/** Time of the newest reading that was given up while the buffer is full, ms; kept over restarts. */
const FLOOR = "given_up_until_ms";
/** Share of the allowed pages above which the buffer counts as full; lower than where making room ends. */
const FULL_SHARE = 0.85;
/** Share of delivered readings that can be removed instead. */
const DELIVERED_SHARE = 0.05;
/** An uplink that owes less of the buffer than this is not what fills it, and goes on getting everything. */
const HOLDER_SHARE = 0.25;
/** A lane counts as delivering for this long after its last outcome: between two leases it has nothing in hand. */
const DELIVERING_MS = 30_000;

/**
 * A full buffer gives up the oldest readings, those that are just coming in included: an old one that is stored would push
 * out one that is newer. What was given up last is the floor; nothing at or below it is taken until there is room again.
 */
export class Shedding {
  readonly #parts: SheddingParts;
  #floorMs = Number.NEGATIVE_INFINITY;
  /** The floor as the running transaction will leave it. */
  #stagedMs = Number.NEGATIVE_INFINITY;
  /** Upper bound of delivered readings when a search through all found no more of them to remove; -1 before any. */
  #searchedMax = -1;
  /** False where a reading may have become nobody's since that search without the bound having moved. */
  #isSearchGood = false;

  constructor(parts: SheddingParts) {
    this.#parts = parts;
  }

  /** At start. */
  load(): void {
    const text = this.#parts.meta.get(FLOOR);
    this.#floorMs = text === null || text === "" ? Number.NEGATIVE_INFINITY : Number(text);
    this.#stagedMs = this.#floorMs;
  }

  /** Upper bound of the readings that nobody is owed any more. */
  get #deliveredMax(): number {
    const { outbox, readings } = this.#parts;
    return readings.count - Math.max(0, ...outbox.lanes.map((lane) => lane.pending));
  }

  /** Nothing was delivered since a search that found nothing. */
  get isExhausted(): boolean {
    return this.#isSearchGood && this.#deliveredMax <= this.#searchedMax;
  }

  /** A search for delivered readings came to the end of the store. */
  searched(): void {
    this.#searchedMax = this.#deliveredMax;
    this.#isSearchGood = true;
  }

  /** The next search looks through all again. */
  searchAgain(): void {
    this.#isSearchGood = false;
  }

  /** Inside the transaction that gives up a reading of this time: what the same transaction brings counts as older, too. */
  stage(timeMs: number): void {
    if (timeMs <= this.#stagedMs) return;
    this.#stagedMs = timeMs;
    this.keep();
  }

  /** Inside a transaction: the floor outlives the process. */
  keep(): void {
    this.#parts.meta.put(FLOOR, String(this.#stagedMs));
  }

  /** That transaction is committed. */
  committed(): void {
    this.#floorMs = this.#stagedMs;
  }

  /** A transaction was undone. */
  undone(): void {
    this.#stagedMs = this.#floorMs;
  }

  /** Null while everything is taken. */
  current(): Shed | null {
    return this.#stagedMs === Number.NEGATIVE_INFINITY ? null : this.#upTo(this.#stagedMs);
  }

  /** True where something older than all that is owed wants to come in: that goes first, and the write is tried again. */
  refuse(oldestIncomingMs: number | null): boolean {
    const oldestMs = this.#oldestOwed();
    if (oldestIncomingMs === null || oldestMs === null || oldestIncomingMs >= oldestMs)
      return false;
    if (oldestMs - 1 <= this.#floorMs || this.#upTo(oldestMs - 1) === null) return false;
    // `keep` follows with what is not taken; until then all that lies in the store is above it.
    this.#floorMs = oldestMs - 1;
    this.#stagedMs = this.#floorMs;
    return true;
  }

  /** At a look that found the buffer below its high-water mark: true where the floor went, which `forget` writes. */
  settle(): boolean {
    if (this.#floorMs === Number.NEGATIVE_INFINITY) return false;
    if (this.#isFull && this.current() !== null) return false;
    this.#floorMs = Number.NEGATIVE_INFINITY;
    this.#stagedMs = this.#floorMs;
    return true;
  }

  /** Inside a transaction after `settle`. */
  forget(): void {
    this.#parts.meta.put(FLOOR, "");
  }

  /** Asked at a look only: in the middle of making room for a large answer there is room for its oldest readings, too. */
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

  /** True while those whose backlog fills the buffer get on with it. */
  isDelivering(monotonicMs: number): boolean {
    return this.#holders().some(
      (lane) => lane.leasedCount > 0 || monotonicMs - lane.settledAtMs < DELIVERING_MS,
    );
  }

  #holders(): LaneQueue[] {
    const { outbox, readings } = this.#parts;
    return outbox.lanes.filter(
      ({ lane, pending }) => !isWaveform(lane) && pending >= HOLDER_SHARE * readings.count,
    );
  }

  #oldestOwed(): number | null {
    const { outbox } = this.#parts;
    const times = outbox.lanes
      .filter((lane) => !isWaveform(lane.lane) && !lane.isLiveOnly)
      .map((lane) => outbox.depth(lane.name).oldestTimeMs ?? Number.POSITIVE_INFINITY);
    const oldest = Math.min(...times);
    return Number.isFinite(oldest) ? oldest : null;
  }
}
