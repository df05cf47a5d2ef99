import type { Runtime } from "../../../core/ports.ts";
import type { Tx } from "../../../core/tx.ts";
import type { Meta } from "../database/meta.ts";
import type { Lanes } from "../outbox/lanes.ts";
import type { BufferMonitor } from "./buffer-monitor.ts";
import type { DroppedCounts } from "./dropped-counts.ts";
import { Eviction, type EvictionParts, emptySlice, type Slice } from "./eviction.ts";
import { type EvictionWalk, WHATEVER_AGE } from "./eviction-walk.ts";
import { RoomMaker } from "./room-maker.ts";
import { moveOn, type Phase, phaseOf, type Run } from "./run.ts";
import { type Shed, Shedding } from "./shedding.ts";

export interface FullBufferParts extends EvictionParts, Runtime {
  readonly lanes: Lanes;
  readonly meta: Meta;
  readonly monitor: BufferMonitor;
  readonly counts: DroppedCounts;
  readonly limitBytes: number;
}

/** A search that found nothing delivered is repeated after this time, ms. */
const SEARCH_AGAIN_MS = 10_000;
/** Reading goes on once less than this share of what was pending then is pending. */
const PENDING_SHARE = 0.9;
const WAVEFORM_SLICE_ROWS = 20;
/** Pending readings dropped in one slice, at least. */
const PENDING_ROWS_MIN = 10;

/**
 * What a full buffer drops, in which order, and what it accepts meanwhile. `free` is the only step that frees space; a
 * job of retention and, inside a write that found none, the RoomMaker call it. What only uplinks that deliver are
 * waiting for is never dropped: writes of readings fail until there is space, and reading pauses.
 */
export class FullBuffer {
  readonly #parts: FullBufferParts;
  readonly #eviction: Eviction;
  readonly #shedding: Shedding;
  readonly #room: RoomMaker;
  /** Set while pending readings are being dropped, so that it is logged once. */
  #episode: string | null = null;
  /** When a search last found nothing delivered, ms of the monotonic clock. */
  #exhaustedAt = Number.NEGATIVE_INFINITY;
  /** What was pending for delivering uplinks when a write last found no space; null if it did. */
  #pendingAtFailure: number | null = null;

  constructor(parts: FullBufferParts) {
    this.#parts = parts;
    this.#eviction = new Eviction(parts);
    this.#shedding = new Shedding(parts);
    this.#room = new RoomMaker(this, this.#shedding, parts);
  }

  /** At start. */
  load(): void {
    this.#parts.counts.load();
    this.#shedding.load();
  }

  get reason(): "disk_full" | "buffer_full" {
    return this.#parts.monitor.isDiskShort() ? "disk_full" : "buffer_full";
  }

  /**
   * True while there is no space for more readings and an uplink delivers those that fill the buffer: what is read
   * later is not lost.
   */
  get isWaitingForDelivery(): boolean {
    if (this.#pendingAtFailure === null) return false;
    const enough = PENDING_SHARE * this.#pendingAtFailure;
    if (this.#parts.lanes.delivering().size === 0 || this.#pending <= enough)
      this.#pendingAtFailure = null;
    return this.#pendingAtFailure !== null;
  }

  /** The most readings that are pending for a delivering uplink. */
  get #pending(): number {
    const { lanes } = this.#parts;
    const delivering = lanes.delivering();
    const waiting = lanes.all.filter(({ uplink }) => delivering.has(uplink.name));
    return Math.max(0, ...waiting.map(({ pending }) => pending));
  }

  /** At a check that found space. Returns whether the floor may go, too: `endShedding` does that. */
  relieved(): boolean {
    if (this.#episode !== null) this.#parts.gaps.endEpisode();
    this.#episode = null;
    return this.#shedding.isOver;
  }

  /** Inside a transaction: everything is accepted again, unless the buffer has filled meanwhile. */
  endShedding(tx: Tx): void {
    this.#shedding.end(tx);
  }

  /** Frees one slice; false once nothing is left. The run moves on with the commit. */
  free(tx: Tx, run: Run, rowsMax: number): boolean {
    const phase = phaseOf(run);
    if (phase === undefined) return false;
    const walk = { ...run.walk };
    const { dropped } = this.#freeOf(tx, phase, walk, rowsMax);
    if (dropped > 0) this.#count(tx, phase, dropped);
    tx.onCommit(() => moveOn(run, walk));
    return true;
  }

  #freeOf(tx: Tx, phase: Phase, walk: EvictionWalk, rowsMax: number): Slice {
    switch (phase) {
      case "delivered":
        return this.#freeDelivered(tx, walk, rowsMax);
      case "waveforms": {
        const slice = this.#eviction.waveforms(tx, walk, WHATEVER_AGE, WAVEFORM_SLICE_ROWS, true);
        // Their readings may now be pending for nobody.
        if (slice.dropped > 0) this.#shedding.searchAgain();
        return slice;
      }
      case "pending":
        return this.#freePending(tx, walk, rowsMax);
    }
  }

  #freeDelivered(tx: Tx, walk: EvictionWalk, rowsMax: number): Slice {
    if (this.#shedding.isExhausted) walk.isOver = true;
    if (walk.isOver) return emptySlice();
    const slice = this.#eviction.readings(tx, walk, WHATEVER_AGE, rowsMax);
    if (walk.isOver && slice.removed === 0) {
      this.#shedding.searched();
      this.#exhaustedAt = this.#parts.clock.monotonic();
    } else this.#shedding.searchAgain();
    return slice;
  }

  /** Where an uplink delivers, only the others lose, first what the one with the largest backlog alone waits for. */
  #freePending(tx: Tx, walk: EvictionWalk, rowsMax: number): Slice {
    const { lanes, readings } = this.#parts;
    const others = lanes.notDelivering();
    const tiers =
      lanes.delivering().size === 0
        ? [null]
        : others.map((_, index) => new Set(others.slice(0, index + 1)));
    // At most a hundredth: deleting beyond the mark would lose readings for nothing.
    const most = Math.min(rowsMax, Math.max(PENDING_ROWS_MIN, Math.ceil(readings.count / 100)));
    const slice = this.#eviction.oldest(tx, walk, most, this.reason, tiers);
    if (slice.newestMs !== null) this.#shedding.raise(tx, slice.newestMs);
    return slice;
  }

  /** What is given up, inside its transaction; logged after it, once until there is space again. */
  #count(tx: Tx, phase: Phase, dropped: number): void {
    const { counts, limitBytes, logger } = this.#parts;
    const reason = this.reason;
    counts.add(tx, phase === "waveforms" ? `waveform_${reason}` : reason, dropped);
    tx.onCommit(() => {
      if (this.#episode === phase) return;
      this.#episode = phase;
      logger.error(
        { reason, what: phase, limitBytes },
        phase === "pending"
          ? "the buffer is full: the oldest undelivered readings are dropped"
          : "the buffer is full: undelivered waveforms are dropped",
      );
    });
  }

  /** After SQLITE_FULL: true if the failed write may be retried. See RoomMaker. */
  *makeRoom(
    oldestIncomingMs: number | null,
    isAwaited: () => boolean,
  ): Generator<void, boolean, void> {
    const { clock, logger } = this.#parts;
    if (clock.monotonic() - this.#exhaustedAt >= SEARCH_AGAIN_MS) this.#shedding.searchAgain();
    const hasRoom = yield* this.#room.make(oldestIncomingMs, isAwaited);
    const isWaiting = !hasRoom && this.#pending > 0;
    this.#pendingAtFailure = isWaiting ? this.#pending : null;
    if (isWaiting && this.#episode === null) {
      this.#episode = "waiting";
      logger.warn(
        { reason: this.reason, limitBytes: this.#parts.limitBytes },
        "the buffer is full of what is being delivered: reading pauses until there is space",
      );
    }
    return hasRoom;
  }

  /** What is currently not accepted; null while everything is. */
  shed(): Shed | null {
    return this.#shedding.current();
  }

  /** Inside the transaction in which they arrive and are not accepted. */
  addShed(tx: Tx, count: number): void {
    this.#count(tx, "pending", count);
    this.#shedding.keep();
  }
}
