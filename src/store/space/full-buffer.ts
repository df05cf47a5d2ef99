import type { Clock, Logger } from "../../core/ports.ts";
import type { Meta } from "../database/meta.ts";
import type { BufferMonitor } from "./buffer-monitor.ts";
import type { DroppedCounts } from "./dropped-counts.ts";
import { Eviction, type EvictionParts, type Slice, type Walk } from "./eviction.ts";
import { type Phase, RoomMaker } from "./room-maker.ts";
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
const WAVEFORM_SLICE_ROWS = 20;
/** While a write waits for space: as much as a slow card accepts without blocking the loop. */
const ROOM_SLICE_ROWS = 100;
/** Pending readings dropped in one slice, at least. */
const OWED_ROWS_MIN = 10;

/** What a full buffer drops, in which order, and what it accepts meanwhile. */
export class FullBuffer {
  readonly #parts: FullBufferParts;
  readonly #eviction: Eviction;
  readonly #shedding: Shedding;
  readonly #room: RoomMaker;
  /** Set while pending readings are being dropped, so that it is logged once. */
  #episode: string | null = null;
  /** When a search last found nothing delivered, ms of the monotonic clock. */
  #exhaustedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: FullBufferParts) {
    this.#parts = parts;
    this.#eviction = new Eviction(parts);
    this.#shedding = new Shedding(parts);
    this.#room = new RoomMaker({
      ...parts,
      shedding: this.#shedding,
      evict: (phase, walk) => this.evict(phase, walk, ROOM_SLICE_ROWS),
      report: (phase, slice) => this.report(phase, slice),
      undone: () => this.undone(),
    });
  }

  /** At start. */
  load(): void {
    this.#parts.counts.load();
    this.#shedding.load();
  }

  get reason(): "disk_full" | "buffer_full" {
    return this.#parts.monitor.isDiskShort() ? "disk_full" : "buffer_full";
  }

  /** True while the uplinks whose backlog fills the buffer deliver it. */
  get isDelivering(): boolean {
    return this.#shedding.isDelivering(this.#parts.clock.monotonic());
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

  /** Removes one slice, inside the caller's transaction. */
  evict(phase: Phase, walk: Walk, rowsMax: number): Slice {
    const forever = Number.MAX_SAFE_INTEGER;
    switch (phase) {
      case "delivered":
        return this.#evictDelivered(walk, rowsMax);
      case "waveforms": {
        const slice = this.#eviction.waveforms(walk, forever, WAVEFORM_SLICE_ROWS, true);
        if (slice.givenUp > 0) {
          this.#parts.counts.put(`waveform_${this.reason}`, slice.givenUp);
          // Their readings may now be pending for nobody.
          this.#shedding.searchAgain();
        }
        return slice;
      }
      case "owed": {
        // At most a hundredth: deleting beyond the mark would lose readings for nothing.
        const share = Math.ceil(this.#parts.readings.count / 100);
        const most = Math.min(rowsMax, Math.max(OWED_ROWS_MIN, share));
        const { committed, ...slice } = this.#eviction.oldest(walk, most, this.reason);
        if (slice.givenUp > 0) this.#parts.counts.put(this.reason, slice.givenUp);
        if (slice.newestMs !== null) this.#shedding.stage(slice.newestMs);
        return {
          ...slice,
          committed: () => {
            committed();
            this.#shedding.committed();
          },
        };
      }
    }
  }

  #evictDelivered(walk: Walk, rowsMax: number): Slice {
    if (this.#shedding.isExhausted) walk.isOver = true;
    if (walk.isOver) return { removed: 0, givenUp: 0, newestMs: null, committed() {} };
    const slice = this.#eviction.readings(walk, Number.MAX_SAFE_INTEGER, rowsMax);
    if (walk.isOver && slice.removed === 0) {
      this.#shedding.searched();
      this.#exhaustedAt = this.#parts.clock.monotonic();
    } else this.#shedding.searchAgain();
    return slice;
  }

  /** What was given up, after its commit; logged once until there is space again. */
  report(phase: Phase, slice: Slice): void {
    if (slice.givenUp === 0) return;
    const reason = this.reason;
    this.#parts.counts.dropped(
      phase === "waveforms" ? `waveform_${reason}` : reason,
      slice.givenUp,
    );
    if (this.#episode === phase) return;
    this.#episode = phase;
    this.#parts.logger.error(
      { reason, what: phase, limitBytes: this.#parts.limitBytes },
      phase === "owed"
        ? "the buffer is full: the oldest undelivered readings are dropped"
        : "the buffer is full: undelivered waveforms are dropped",
    );
  }

  /** After SQLITE_FULL: true if the failed write may be retried. See RoomMaker. */
  makeRoom(
    oldestIncomingMs: number | null,
    isHurried: () => boolean,
  ): Generator<void, boolean, void> {
    const { clock } = this.#parts;
    if (clock.monotonic() - this.#exhaustedAt >= SEARCH_AGAIN_MS) this.#shedding.searchAgain();
    return this.#room.make(oldestIncomingMs, isHurried);
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
    this.report("owed", { removed: 0, givenUp: count, newestMs: null, committed() {} });
  }

  /** A transaction was rolled back. */
  undone(): void {
    this.#parts.outbox.rows.undone();
    this.#parts.gaps.undone();
    this.#shedding.undone();
    this.#parts.counts.undone();
  }
}
