import type { Logger } from "../../core/ports.ts";
import type { Database } from "../database/database.ts";
import type { BufferMonitor } from "./buffer-monitor.ts";
import { type Slice, startWalk, type Walk } from "./eviction.ts";
import type { Shedding } from "./shedding.ts";

/** What is deleted first, in this order. */
const PHASES = ["delivered", "waveforms", "owed"] as const;
export type Phase = (typeof PHASES)[number];

interface RoomMakerParts {
  readonly db: Database;
  readonly monitor: BufferMonitor;
  readonly shedding: Shedding;
  readonly logger: Logger;
  /** Removes one slice, inside the caller's transaction. */
  readonly evict: (phase: Phase, walk: Walk) => Slice;
  /** What a slice noted in memory is invalid because its transaction failed. */
  readonly undone: () => void;
  /** Reports what was dropped, after its commit. */
  readonly report: (phase: Phase, slice: Slice) => void;
}

/** Share of the file's pages that one call frees. */
const FREED_SHARE = 1 / 20;
/** Longest work while somebody waits for it, ms; the next call continues where this one ended. */
const HURRY_MS = 100;

/** Frees space after SQLITE_FULL, a slice at a time, so that the event loop runs between them. */
export class RoomMaker {
  readonly #parts: RoomMakerParts;
  /** Position of an interrupted call. */
  #place: { phase: number; walk: Walk } | null = null;

  constructor(parts: RoomMakerParts) {
    this.#parts = parts;
  }

  /**
   * Each `yield` is a possible pause. Returns whether the failed write may be retried. `oldestIncomingMs` is the time
   * of its oldest reading, null if it contains none.
   */
  *make(oldestIncomingMs: number | null, isHurried: () => boolean): Generator<void, boolean, void> {
    const { logger, monitor } = this.#parts;
    const hadBallast = monitor.dropBallast();
    try {
      return (yield* this.#free(oldestIncomingMs, isHurried)) || hadBallast;
    } catch (error) {
      this.#parts.undone();
      logger.debug({ err: error }, "could not free space");
      return hadBallast;
    }
  }

  *#free(
    oldestIncomingMs: number | null,
    isHurried: () => boolean,
  ): Generator<void, boolean, void> {
    const { db, evict, monitor, shedding, report } = this.#parts;
    // The -wal restarts from its beginning, whatever space the disk has.
    db.writer.pragma("wal_checkpoint(TRUNCATE)");
    const before = monitor.pages();
    db.capPages(monitor.pagesAllowed(before.all));
    // What was delivered meanwhile is deleted before anything pending.
    const isStale = this.#place !== null && this.#place.phase > 0 && !shedding.isExhausted;
    const place = this.#place === null || isStale ? { phase: 0, walk: startWalk() } : this.#place;
    this.#place = null;
    const wanted = before.all * FREED_SHARE;
    let freed = 0;
    let workedMs = 0;
    for (;;) {
      const phase = PHASES[place.phase];
      if (phase === undefined || freed >= wanted) return freed > 0;
      if (phase === "owed" && freed === 0 && shedding.refuse(oldestIncomingMs)) return true;
      const startedAt = performance.now();
      const slice = db.writer.transaction(() => evict(phase, place.walk)).immediate();
      slice.committed();
      report(phase, slice);
      freed = monitor.pages().free - before.free;
      if (place.walk.isOver) Object.assign(place, { phase: place.phase + 1, walk: startWalk() });
      workedMs += performance.now() - startedAt;
      if (isHurried() && workedMs >= HURRY_MS) {
        this.#place = place;
        return freed > 0;
      }
      yield;
    }
  }
}
