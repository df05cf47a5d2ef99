/**
 * What is owed to each destination: a row per reading and lane, deleted when its delivery is settled.
 *
 * - Disk is the truth; memory holds a few numbers per sensor and kind, whatever the length of the backlog.
 * - Rows are keyed by hour first, so that a round's inserts of all sensors share pages.
 * - A lease is memory only: after a crash everything not settled on disk is pending again (at least once).
 */
import {
  type Clock,
  type DeliveryOutcome,
  LANES,
  type Lane,
  type LaneDepth,
  type Logger,
  type Outbox,
  type OutboxEntry,
} from "../core/ports.ts";
import type { Database } from "./database.ts";
import { LaneQueue, type Page, type Place, type Slot, type StreamQueue } from "./lane-queue.ts";
import { Leasing } from "./leasing.ts";
import { loadLanes, newestPending } from "./outbox-loader.ts";
import { OutboxRows } from "./outbox-rows.ts";
import { Settlement } from "./settlement.ts";
import { StoreFailure } from "./store-failure.ts";
import type { Streams } from "./streams.ts";
import type { WriteQueue } from "./write-queue.ts";

interface OutboxParts {
  readonly db: Database;
  readonly streams: Streams;
  readonly queue: WriteQueue;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A delivery that damage made impossible. */
  readonly onLost: () => void;
}

/** Oversize rows remembered one by one in a lane. */
const PARKED_MAX = 10_000;
/** How long outcomes wait for company. */
const SETTLE_WINDOW_MS = 50;
const SETTLE_ROWS = 100;

export class SqliteOutbox implements Outbox {
  readonly #parts: OutboxParts;
  readonly #lanes = new Map<Lane, LaneQueue>();
  readonly #slots = new WeakMap<OutboxEntry, Slot>();
  readonly #depths = new Map<Lane, { readonly version: number; readonly depth: LaneDepth }>();
  readonly #closing = new AbortController();
  readonly #leasing: Leasing;
  /** For those who write and remove readings. */
  readonly rows: OutboxRows;
  #settlement: Settlement | null = null;
  /** Outcomes that could not be written wait for the disk; nothing more is handed out meanwhile. */
  #isBlocked = false;

  constructor(parts: OutboxParts, lanes: readonly Lane[]) {
    this.#parts = parts;
    // The place in LANES is stored: a new lane is added at its end.
    for (const lane of lanes) this.#lanes.set(lane, new LaneQueue(lane, LANES.indexOf(lane)));
    this.rows = new OutboxRows(parts.db, this.#lanes);
    this.#leasing = new Leasing(parts, {
      seqMax: () => this.rows.seqMax,
      taken: (entry, slot) => this.#slots.set(entry, slot),
      stray: (lane, place, page) => this.#strayRow(lane, place, page),
    });
  }

  /** Reads the state of all lanes from disk; leases end. */
  load(): void {
    const { db } = this.#parts;
    const [row] = db.read("SELECT max(seq) FROM readings").all();
    this.rows.seqMax = Number(row?.[0] ?? 0);
    for (const lane of this.#lanes.values()) lane.forgetLeases();
    loadLanes(db, [...this.#lanes.values()]);
    for (const lane of this.#lanes.values()) lane.wake();
  }

  get lanes(): readonly LaneQueue[] {
    return [...this.#lanes.values()];
  }

  lease(lane: Lane, which: "live" | "backlog", max: number): OutboxEntry[] {
    const queue = this.#lanes.get(lane);
    if (queue === undefined) return [];
    if (which === "live") queue.hasLeasedLive = true;
    if (which === "live" || !queue.hasLeasedLive) queue.seenVersion = queue.version;
    if (this.#isBlocked) return [];
    try {
      return this.#parts.queue.read(`read what ${lane} owes`, () =>
        which === "live" ? this.#leasing.live(queue, max) : this.#leasing.backlog(queue, max),
      );
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      this.#parts.logger.error({ err: error, lane }, "outbox cannot be read");
      return [];
    }
  }

  /** A row whose reading is gone can only come from a damaged file; it would be pending for ever. */
  #strayRow(lane: LaneQueue, place: Place, page: Page): void {
    this.#parts.logger.error(
      { lane: lane.lane, seq: place.seq },
      "reading of an outbox row is gone",
    );
    this.#parts.onLost();
    const reading = { seq: place.seq } as OutboxEntry["reading"];
    const entry: OutboxEntry = { reading, live: false };
    const slot: Slot = { place, page, index: -1, live: false, entry, isSettled: true };
    lane.lease(slot);
    const stream = lane.stream(place.stream);
    if (stream.candidate?.seq === place.seq) stream.candidate = null;
    this.#openSettlement().add(lane, slot);
  }

  settle(
    lane: Lane,
    outcomes: readonly { readonly entry: OutboxEntry; readonly outcome: DeliveryOutcome }[],
  ): Promise<void> {
    const queue = this.#lanes.get(lane);
    if (queue === undefined) return Promise.resolve();
    let settlement: Settlement | null = null;
    let hasNews = false;
    for (const { entry, outcome } of outcomes) {
      const slot = this.#slots.get(entry);
      if (slot === undefined || slot.isSettled) continue;
      // A live-only lane has nothing that could go later in an oversize one's place.
      const isOver = outcome === "oversize" && queue.isLiveOnly;
      if (outcome === "sent" || outcome === "skipped" || isOver) {
        settlement ??= this.#openSettlement();
        this.#leave(queue, slot, outcome === "sent");
        settlement.add(queue, slot);
      } else if (queue.endLease(slot)) {
        this.#return(queue, slot, outcome);
        hasNews = true;
      }
    }
    if (hasNews) queue.wake();
    if (settlement === null) return Promise.resolve();
    if (settlement.size >= SETTLE_ROWS) this.#closeSettlement();
    return settlement.done;
  }

  #leave(lane: LaneQueue, slot: Slot, wasSent: boolean): void {
    const stream = lane.stream(slot.place.stream);
    slot.isSettled = true;
    if (stream.candidate?.seq === slot.place.seq) stream.candidate = null;
    if (!wasSent) return;
    if (slot.live) {
      // At once, not when it is on disk: the broker has it, and its topic must not go back.
      stream.mark = Math.max(stream.mark, slot.place.timeMs);
      stream.liveRefusal.clear();
    } else stream.historyRefusal.clear();
  }

  #return(lane: LaneQueue, slot: Slot, outcome: "kept" | "refused" | "oversize"): void {
    const stream = lane.stream(slot.place.stream);
    if (outcome === "oversize") this.#park(lane, stream, slot);
    else stream.rewind(slot.place);
    if (outcome !== "refused") return;
    const refusal = slot.live ? stream.liveRefusal : stream.historyRefusal;
    const { clock } = this.#parts;
    const waitMs = refusal.add(clock.monotonic());
    if (waitMs > 0) void clock.sleep(waitMs, this.#closing.signal).then(() => lane.wake());
  }

  #park(lane: LaneQueue, stream: StreamQueue, slot: Slot): void {
    if (stream.candidate?.seq === slot.place.seq) stream.candidate = null;
    if (lane.parked.size < PARKED_MAX) {
      lane.parked.set(slot.place.seq, { place: slot.place, live: slot.live });
    } else {
      stream.isParked = true;
      stream.rewind(slot.place);
    }
  }

  release(lane: Lane): void {
    const queue = this.#lanes.get(lane);
    if (queue === undefined) return;
    for (const slot of queue.leases) {
      if (slot.isSettled || !queue.endLease(slot)) continue;
      queue.stream(slot.place.stream).rewind(slot.place);
    }
    queue.wake();
  }

  unpark(lane: Lane): void {
    const queue = this.#lanes.get(lane);
    if (queue === undefined) return;
    const parked = [...queue.parked.values()];
    queue.parked.clear();
    for (const { place } of parked) queue.stream(place.stream).rewind(place);
    for (const stream of queue.order) {
      stream.isParked = false;
      stream.liveRefusal.clear();
      stream.historyRefusal.clear();
    }
    for (const number of new Set(parked.map(({ place }) => place.stream))) {
      const stream = queue.stream(number);
      stream.candidate = newestPending(this.#parts.db, queue, stream, (seq) => queue.isLeased(seq));
    }
    queue.wake();
  }

  changed(lane: Lane, signal: AbortSignal): Promise<void> {
    const queue = this.#lanes.get(lane) ?? new LaneQueue(lane, -1);
    if (!this.#lanes.has(lane)) queue.seenVersion = queue.version;
    return queue.waitForNews(signal);
  }

  depth(lane: Lane): LaneDepth {
    const queue = this.#lanes.get(lane);
    if (queue === undefined) return { readings: 0, oldestTimeMs: null };
    const known = this.#depths.get(lane);
    if (known?.version === queue.rowsVersion) return known.depth;
    // While the disk is gone the counts are still right, the oldest is as last seen.
    if (!this.#parts.db.isOpen) {
      return { readings: queue.pending, oldestTimeMs: known?.depth.oldestTimeMs ?? null };
    }
    try {
      const oldestTimeMs = this.#parts.queue.read(`look how far ${lane} is behind`, () =>
        this.#oldest(queue),
      );
      const depth = { readings: queue.pending, oldestTimeMs };
      this.#depths.set(lane, { version: queue.rowsVersion, depth });
      return depth;
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      return { readings: queue.pending, oldestTimeMs: known?.depth.oldestTimeMs ?? null };
    }
  }

  #oldest(queue: LaneQueue): number | null {
    const [row] = this.#parts.db
      .read(
        `SELECT min(time_ms) FROM outbox WHERE lane = ?
         AND hour = (SELECT hour FROM outbox WHERE lane = ? ORDER BY hour LIMIT 1)`,
      )
      .all(queue.number, queue.number);
    return (row?.[0] ?? null) as number | null;
  }

  /** Writes the outcomes that wait. */
  flush(): Promise<void> {
    this.#closeSettlement();
    return this.#parts.queue.flush();
  }

  close(): void {
    this.#closing.abort();
    this.#closeSettlement();
  }

  #openSettlement(): Settlement {
    if (this.#settlement !== null) return this.#settlement;
    const settlement = new Settlement(this.#parts, {
      isBlocked: (isBlocked) => {
        this.#isBlocked = isBlocked;
        if (!isBlocked) for (const lane of this.#lanes.values()) lane.wake();
      },
      closing: this.#closing.signal,
      started: () => {
        if (this.#settlement === settlement) this.#settlement = null;
      },
    });
    this.#settlement = settlement;
    this.#parts.queue.enqueue(settlement, SETTLE_WINDOW_MS);
    return settlement;
  }

  #closeSettlement(): void {
    if (this.#settlement === null) return;
    this.#settlement = null;
    void this.#parts.queue.flush();
  }
}
