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
import type { Database, Row } from "./database.ts";
import { LaneQueue, type Page, type Place, type Slot, type StreamQueue } from "./lane-queue.ts";
import { loadLanes, newestPending } from "./outbox-loader.ts";
import { Settlement } from "./settlement.ts";
import { StoreFailure } from "./store-failure.ts";
import { READING_COLUMNS, toStoredReading } from "./stored-reading.ts";
import type { Streams } from "./streams.ts";
import type { WriteQueue } from "./write-queue.ts";

interface OutboxParts {
  readonly db: Database;
  readonly streams: Streams;
  readonly queue: WriteQueue;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A row about to be written with its reading. */
export interface PendingRow extends Place {
  readonly isFuture: boolean;
  /** Its samples are wanted by the waveform lanes. */
  readonly hasWaveform: boolean;
}

/** Most rows taken of one sensor and kind before the next one's turn. */
const PAGE_ROWS = 100;
/** Oversize rows remembered one by one in a lane. */
const PARKED_MAX = 10_000;
/** How long outcomes wait for company. */
const SETTLE_WINDOW_MS = 50;
const SETTLE_ROWS = 100;

const PAGE_SQL = `SELECT o.time_ms, o.seq, ${READING_COLUMNS}
  FROM outbox o LEFT JOIN readings r ON r.seq = o.seq
  WHERE o.lane = ? AND o.hour = ? AND o.stream = ? AND (o.time_ms, o.seq) > (?, ?)
  ORDER BY o.time_ms, o.seq LIMIT ?`;
const NEXT_HOUR_SQL = "SELECT hour FROM outbox WHERE lane = ? AND hour > ? ORDER BY hour LIMIT 1";
const ONE_SQL = `SELECT ${READING_COLUMNS} FROM readings r WHERE r.seq = ?`;
/** The reads, so that their plans can be asserted. */
export const OUTBOX_SQL = { page: PAGE_SQL, nextHour: NEXT_HOUR_SQL, one: ONE_SQL } as const;
const INSERT_SQL =
  "INSERT INTO outbox (lane, hour, stream, time_ms, seq, is_future) VALUES (?, ?, ?, ?, ?, ?)";
const DELETE_SQL =
  "DELETE FROM outbox WHERE lane = ? AND hour = ? AND stream = ? AND time_ms = ? AND seq = ?";

export class SqliteOutbox implements Outbox {
  readonly #parts: OutboxParts;
  readonly #lanes = new Map<Lane, LaneQueue>();
  readonly #slots = new WeakMap<OutboxEntry, Slot>();
  readonly #depths = new Map<Lane, { readonly version: number; readonly depth: LaneDepth }>();
  readonly #closing = new AbortController();
  /** Newest row that is committed. */
  #seqMax = 0;
  #settlement: Settlement | null = null;
  /** Outcomes that could not be written wait for the disk; nothing more is handed out meanwhile. */
  #isBlocked = false;

  constructor(parts: OutboxParts, lanes: readonly Lane[]) {
    this.#parts = parts;
    // The place in LANES is stored: a new lane is added at its end.
    for (const lane of lanes) this.#lanes.set(lane, new LaneQueue(lane, LANES.indexOf(lane)));
  }

  /** Reads the state of all lanes from disk; leases end. */
  load(): void {
    const { db } = this.#parts;
    const [row] = db.read("SELECT max(seq) FROM readings").all();
    this.#seqMax = Number(row?.[0] ?? 0);
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
        which === "live" ? this.#leaseLive(queue, max) : this.#leaseBacklog(queue, max),
      );
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      this.#parts.logger.error({ err: error, lane }, "outbox cannot be read");
      return [];
    }
  }

  #leaseLive(lane: LaneQueue, max: number): OutboxEntry[] {
    const entries: OutboxEntry[] = [];
    const now = this.#parts.clock.monotonic();
    for (const stream of lane.order) {
      if (entries.length >= max) break;
      const place = stream.candidate;
      if (place === null || lane.leased.has(place.seq) || !stream.liveRefusal.isOver(now)) continue;
      const [row] = this.#parts.db.read(ONE_SQL).all(place.seq);
      const page = { stream: place.stream, hour: place.hour, seqMax: this.#seqMax };
      if (row === undefined) this.#strayRow(lane, place, page);
      else entries.push(this.#take(lane, place, page, 0, row, true));
    }
    return entries;
  }

  #leaseBacklog(lane: LaneQueue, max: number): OutboxEntry[] {
    const entries: OutboxEntry[] = [];
    const { order } = lane;
    const now = this.#parts.clock.monotonic();
    // Round after round until every stream in turn has nothing more.
    for (let empty = 0; empty < order.length && entries.length < max; empty++) {
      const stream = order[lane.turn % order.length];
      lane.turn = (lane.turn + 1) % order.length;
      if (stream === undefined || stream.isExhausted || stream.isParked) continue;
      if (lane.isLiveOnly || !stream.historyRefusal.isOver(now)) continue;
      const before = entries.length;
      this.#readBacklog(lane, stream, Math.min(PAGE_ROWS, max - before), entries);
      if (entries.length > before) empty = -1;
    }
    return entries;
  }

  /** Takes the stream's next rows in order of time, leaving out what is leased, parked or about to go live. */
  #readBacklog(lane: LaneQueue, stream: StreamQueue, max: number, entries: OutboxEntry[]): void {
    const { db } = this.#parts;
    const end = entries.length + max;
    while (entries.length < end) {
      const { hour, timeMs, seq } = stream.cursor;
      const limit = end - entries.length;
      const rows = db.read(PAGE_SQL).all(lane.number, hour, stream.stream, timeMs, seq, limit);
      this.#takeRows(lane, stream, rows, entries);
      if (rows.length === limit) continue;
      const [next] = db.read(NEXT_HOUR_SQL).all(lane.number, hour);
      if (next === undefined) {
        stream.isExhausted = true;
        return;
      }
      stream.cursor = {
        stream: stream.stream,
        hour: next[0] as number,
        timeMs: Number.MIN_SAFE_INTEGER,
        seq: -1,
      };
    }
  }

  #takeRows(
    lane: LaneQueue,
    stream: StreamQueue,
    rows: readonly Row[],
    entries: OutboxEntry[],
  ): void {
    const { hour } = stream.cursor;
    const newPage = (): Page => ({ stream: stream.stream, hour, seqMax: this.#seqMax });
    let page = newPage();
    let index = 0;
    for (const row of rows) {
      const place = {
        stream: stream.stream,
        hour,
        timeMs: row[0] as number,
        seq: row[1] as number,
      };
      stream.cursor = place;
      const isOut =
        lane.leased.has(place.seq) ||
        lane.parked.has(place.seq) ||
        stream.candidate?.seq === place.seq;
      if (isOut) {
        page = newPage();
        index = 0;
      } else if (row[2] === null) {
        this.#strayRow(lane, place, page);
      } else {
        entries.push(this.#take(lane, place, page, index, row.slice(2), false));
        index += 1;
      }
    }
  }

  #take(
    lane: LaneQueue,
    place: Place,
    page: Page,
    index: number,
    row: Row,
    live: boolean,
  ): OutboxEntry {
    const entry = { reading: toStoredReading(row, this.#parts.streams), live };
    const slot = { place, page, index, live, entry, isSettled: false };
    lane.leased.set(place.seq, slot);
    this.#slots.set(entry, slot);
    return entry;
  }

  /** A row whose reading is gone can only come from a damaged file; it would be pending for ever. */
  #strayRow(lane: LaneQueue, place: Place, page: Page): void {
    this.#parts.logger.error(
      { lane: lane.lane, seq: place.seq },
      "reading of an outbox row is gone",
    );
    const reading = { seq: place.seq } as OutboxEntry["reading"];
    const entry: OutboxEntry = { reading, live: false };
    const slot: Slot = { place, page, index: -1, live: false, entry, isSettled: true };
    lane.leased.set(place.seq, slot);
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
      } else if (queue.leased.get(slot.place.seq) === slot) {
        queue.leased.delete(slot.place.seq);
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
    for (const [seq, slot] of queue.leased) {
      if (slot.isSettled) continue;
      queue.leased.delete(seq);
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
      stream.candidate = newestPending(this.#parts.db, queue, stream, (seq) =>
        queue.leased.has(seq),
      );
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
    const [row] = this.#parts.db
      .read(
        `SELECT min(time_ms) FROM outbox WHERE lane = ?
         AND hour = (SELECT hour FROM outbox WHERE lane = ? ORDER BY hour LIMIT 1)`,
      )
      .all(queue.number, queue.number);
    const depth = { readings: queue.pending, oldestTimeMs: (row?.[0] ?? null) as number | null };
    this.#depths.set(lane, { version: queue.rowsVersion, depth });
    return depth;
  }

  /* ---------- for the room's own parts ---------- */

  /** Writes a reading's rows, inside the transaction that writes the reading. */
  insert(row: PendingRow): void {
    for (const lane of this.#lanes.values()) {
      if ((lane.lane === "waveform" || lane.lane === "sparkplugWaveform") && !row.hasWaveform) {
        continue;
      }
      if (lane.isLiveOnly && !this.#supersede(lane, row)) continue;
      this.#parts.db
        .write(INSERT_SQL)
        .run(lane.number, row.hour, row.stream, row.timeMs, row.seq, row.isFuture ? 1 : 0);
    }
  }

  /** A live-only lane keeps one row of a stream: the newest. False when this one is not it. */
  #supersede(lane: LaneQueue, row: PendingRow): boolean {
    const stream = lane.stream(row.stream);
    const rival = stream.staged ?? stream.candidate;
    const isNewest = row.timeMs > stream.mark && row.timeMs > (rival?.timeMs ?? -Infinity);
    if (row.isFuture || !isNewest) return false;
    if (rival !== null) {
      this.#parts.db
        .write(DELETE_SQL)
        .run(lane.number, rival.hour, rival.stream, rival.timeMs, rival.seq);
    }
    stream.staged = row;
    return true;
  }

  /** The transaction that held these rows is committed. */
  inserted(rows: readonly PendingRow[]): void {
    for (const row of rows) this.#seqMax = Math.max(this.#seqMax, row.seq);
    for (const lane of this.#lanes.values()) {
      for (const row of rows) this.#remember(lane, row);
      if (rows.length === 0) continue;
      lane.rowsVersion += 1;
      lane.wake();
    }
  }

  #remember(lane: LaneQueue, row: PendingRow): void {
    const isWaveformLane = lane.lane === "waveform" || lane.lane === "sparkplugWaveform";
    if (isWaveformLane && !row.hasWaveform) return;
    const stream = lane.stream(row.stream);
    if (lane.isLiveOnly) {
      if (stream.staged?.seq !== row.seq) return;
      if (stream.candidate === null || stream.pending === 0) stream.pending += 1;
      stream.candidate = row;
      stream.staged = null;
      return;
    }
    stream.pending += 1;
    if (!row.isFuture && stream.isNewer(row.timeMs)) {
      const former = stream.candidate;
      stream.candidate = row;
      stream.isExhausted = false;
      if (former !== null) stream.rewind(former);
    } else stream.rewind(row);
  }

  /** The transaction is undone. */
  insertFailed(): void {
    for (const lane of this.#lanes.values()) {
      for (const stream of lane.order) stream.staged = null;
    }
  }

  /** True while any lane still owes this reading. */
  isOwed(place: Place, lanes: readonly Lane[] = LANES): boolean {
    for (const lane of this.#lanes.values()) {
      if (!lanes.includes(lane.lane)) continue;
      if ((lane.streams.get(place.stream)?.pending ?? 0) === 0) continue;
      // On the writing connection: a settlement of the same transaction counts.
      const row = this.#parts.db
        .write(
          "SELECT 1 FROM outbox WHERE lane = ? AND hour = ? AND stream = ? AND time_ms = ? AND seq = ?",
        )
        .get(lane.number, place.hour, place.stream, place.timeMs, place.seq);
      if (row !== undefined) return true;
    }
    return false;
  }

  /** Deletes what is owed of a reading that is given up, inside a transaction; lanes whose row it was. */
  drop(place: Place, lanes: readonly Lane[] = LANES): Lane[] {
    const dropped: Lane[] = [];
    for (const lane of this.#lanes.values()) {
      if (!lanes.includes(lane.lane)) continue;
      const { changes } = this.#parts.db
        .write(DELETE_SQL)
        .run(lane.number, place.hour, place.stream, place.timeMs, place.seq);
      if (changes > 0) dropped.push(lane.lane);
    }
    return dropped;
  }

  /** Memory follows a committed `drop`. */
  dropped(place: Place, lanes: readonly Lane[]): void {
    for (const name of lanes) {
      const lane = this.#lanes.get(name);
      if (lane === undefined) continue;
      const stream = lane.stream(place.stream);
      stream.pending = Math.max(0, stream.pending - 1);
      lane.parked.delete(place.seq);
      lane.rowsVersion += 1;
      if (stream.candidate?.seq === place.seq) stream.candidate = null;
    }
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
