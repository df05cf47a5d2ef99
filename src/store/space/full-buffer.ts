import type { Clock, Logger } from "../../core/ports.ts";
import type { Meta } from "../database/meta.ts";
import type { BufferMonitor } from "./buffer-monitor.ts";
import type { DroppedCounts } from "./dropped-counts.ts";
import { Eviction, type EvictionParts, type Slice, type Walk } from "./eviction.ts";
import { RoomMaker } from "./room-maker.ts";
import { type FreedSlice, moveOn, type Phase, phaseOf, type Run } from "./run.ts";
import { type Shed, Shedding } from "./shedding.ts";

export interface FullBufferParts extends EvictionParts {
  readonly meta: Meta;
  readonly monitor: BufferMonitor;
  readonly counts: DroppedCounts;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limitBytes: number;
}

/** A search that found nothing delivered is repeated after this time, ms. */
const SEARCH_AGAIN_MS = 10_000;
/** Reading goes on once less than this share of what was owed then is owed. */
const OWED_SHARE = 0.9;
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
  /** What delivering uplinks were owed when a write last found no space; null if it did. */
  #owedAtFailure: number | null = null;

  constructor(parts: FullBufferParts) {
    this.#parts = parts;
    this.#eviction = new Eviction(parts);
    this.#shedding = new Shedding(parts);
    this.#room = new RoomMaker({ ...parts, shedding: this.#shedding, full: this });
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
    if (this.#owedAtFailure === null) return false;
    const enough = OWED_SHARE * this.#owedAtFailure;
    if (this.#parts.outbox.delivering().size === 0 || this.#owed <= enough)
      this.#owedAtFailure = null;
    return this.#owedAtFailure !== null;
  }

  /** The most readings that a delivering uplink is owed. */
  get #owed(): number {
    const { outbox } = this.#parts;
    const delivering = outbox.delivering();
    const owed = outbox.lanes.filter(({ uplink }) => delivering.has(uplink.name));
    return Math.max(0, ...owed.map(({ pending }) => pending));
  }

  /** At a check that found space: true if the floor was removed, which `forgetFloor` writes. */
  relieved(): boolean {
    if (this.#episode !== null) this.#parts.gaps.endEpisode();
    this.#episode = null;
    return this.#shedding.settle();
  }

  /** Inside a transaction after `relieved`. */
  forgetFloor(): void {
    this.#shedding.forget();
  }

  /** Frees one slice, inside the caller's transaction. Null once nothing is left. The run moves on with its commit. */
  free(run: Run, rowsMax: number): FreedSlice | null {
    const phase = phaseOf(run);
    if (phase === undefined) return null;
    const walk = { ...run.walk };
    const { committed, ...slice } = this.#freeOf(phase, walk, rowsMax);
    return {
      ...slice,
      phase,
      committed: () => {
        moveOn(run, walk);
        committed();
        this.#report(phase, slice.givenUp);
      },
    };
  }

  #freeOf(phase: Phase, walk: Walk, rowsMax: number): Slice {
    switch (phase) {
      case "delivered":
        return this.#freeDelivered(walk, rowsMax);
      case "waveforms": {
        const forever = Number.MAX_SAFE_INTEGER;
        const slice = this.#eviction.waveforms(walk, forever, WAVEFORM_SLICE_ROWS, true);
        if (slice.givenUp > 0) {
          this.#parts.counts.put(`waveform_${this.reason}`, slice.givenUp);
          // Their readings may now be pending for nobody.
          this.#shedding.searchAgain();
        }
        return slice;
      }
      case "pending":
        return this.#freePending(walk, rowsMax);
    }
  }

  #freeDelivered(walk: Walk, rowsMax: number): Slice {
    if (this.#shedding.isExhausted) walk.isOver = true;
    if (walk.isOver) return { removed: 0, givenUp: 0, newestMs: null, committed() {} };
    const slice = this.#eviction.readings(walk, Number.MAX_SAFE_INTEGER, rowsMax);
    if (walk.isOver && slice.removed === 0) {
      this.#shedding.searched();
      this.#exhaustedAt = this.#parts.clock.monotonic();
    } else this.#shedding.searchAgain();
    return slice;
  }

  /** Where an uplink delivers, only the others lose, first what the one with the largest backlog alone waits for. */
  #freePending(walk: Walk, rowsMax: number): Slice {
    const { counts, outbox, readings } = this.#parts;
    const others = outbox.notDelivering();
    const tiers =
      outbox.delivering().size === 0
        ? [null]
        : others.map((_, index) => new Set(others.slice(0, index + 1)));
    // At most a hundredth: deleting beyond the mark would lose readings for nothing.
    const most = Math.min(rowsMax, Math.max(PENDING_ROWS_MIN, Math.ceil(readings.count / 100)));
    const { committed, ...slice } = this.#eviction.oldest(walk, most, this.reason, tiers);
    if (slice.givenUp > 0) counts.put(this.reason, slice.givenUp);
    if (slice.newestMs !== null) this.#shedding.stage(slice.newestMs);
    return {
      ...slice,
      committed: () => {
        committed();
        this.#shedding.committed();
      },
    };
  }

  /** What was given up, after its commit; logged once until there is space again. */
  #report(phase: Phase, givenUp: number): void {
    if (givenUp === 0) return;
    const reason = this.reason;
    this.#parts.counts.dropped(phase === "waveforms" ? `waveform_${reason}` : reason, givenUp);
    if (this.#episode === phase) return;
    this.#episode = phase;
    this.#parts.logger.error(
      { reason, what: phase, limitBytes: this.#parts.limitBytes },
      phase === "pending"
        ? "the buffer is full: the oldest undelivered readings are dropped"
        : "the buffer is full: undelivered waveforms are dropped",
    );
  }

  /** After SQLITE_FULL: true if the failed write may be retried. See RoomMaker. */
  *makeRoom(
    oldestIncomingMs: number | null,
    isHurried: () => boolean,
  ): Generator<void, boolean, void> {
    const { clock, logger } = this.#parts;
    if (clock.monotonic() - this.#exhaustedAt >= SEARCH_AGAIN_MS) this.#shedding.searchAgain();
    const hasRoom = yield* this.#room.make(oldestIncomingMs, isHurried);
    const isWaiting = !hasRoom && this.#owed > 0;
    this.#owedAtFailure = isWaiting ? this.#owed : null;
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
  putShed(count: number): void {
    this.#parts.counts.put(this.reason, count);
    this.#shedding.keep();
  }

  /** After its commit. */
  reportShed(count: number): void {
    this.#report("pending", count);
  }

  /** A transaction is on disk. */
  committed(): void {
    this.#parts.gaps.committed();
    this.#parts.identities.committed();
  }

  /** A transaction was rolled back. */
  undone(): void {
    this.#parts.outbox.rows.undone();
    this.#parts.gaps.undone();
    this.#parts.identities.undone();
    this.#shedding.undone();
    this.#parts.counts.undone();
  }
}
