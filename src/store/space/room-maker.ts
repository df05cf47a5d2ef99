import type { Logger } from "../../core/ports.ts";
import type { Database } from "../database/database.ts";
import type { BufferMonitor } from "./buffer-monitor.ts";
import { type Slice, startWalk, type Walk } from "./eviction.ts";
import type { Shedding } from "./shedding.ts";

/** What goes first, in this order. */
const PHASES = ["delivered", "waveforms", "owed"] as const;
export type Phase = (typeof PHASES)[number];

interface RoomMakerParts {
  readonly db: Database;
  readonly monitor: BufferMonitor;
  readonly shedding: Shedding;
  readonly logger: Logger;
  /** Removes one slice, inside the caller's transaction. */
  readonly evict: (phase: Phase, walk: Walk) => Slice;
  /** Memory of a slice whose transaction failed is void. */
  readonly undone: () => void;
  /** Says what was given up, after its commit. */
  readonly report: (phase: Phase, slice: Slice) => void;
}

/** Share of the file's pages that one call frees. */
const FREED_SHARE = 1 / 20;
/** Longest work where somebody waits for it, ms; the next call goes on where this one ended. */
const HURRY_MS = 100;

/** Makes room after SQLITE_FULL, a slice at a time, so that the event loop goes on between them. */
export class RoomMaker {
  readonly #parts: RoomMakerParts;
  /** Where a call that was hurried has come to. */
  #place: { phase: number; walk: Walk } | null = null;

  constructor(parts: RoomMakerParts) {
    this.#parts = parts;
  }

  /**
   * Each `yield` is a place to pause. Answers whether the failed write may be tried again. `oldestIncomingMs` is the time of
   * its oldest reading, null where it brings none.
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
    // The -wal is begun again from its start, whatever space the disk has.
    db.writer.pragma("wal_checkpoint(TRUNCATE)");
    const before = monitor.pages();
    db.capPages(monitor.pagesAllowed(before.all));
    // What was delivered meanwhile goes before anything that is owed.
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
