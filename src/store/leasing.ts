import type { Clock, OutboxEntry } from "../core/ports.ts";
import type { Database, Row } from "./database.ts";
import type { LaneQueue, Page, Place, Slot, StreamQueue } from "./lane-queue.ts";
import { READING_COLUMNS, toStoredReading } from "./stored-reading.ts";
import type { Streams } from "./streams.ts";

interface LeasingParts {
  readonly db: Database;
  readonly streams: Streams;
  readonly clock: Clock;
}

interface LeasingHooks {
  /** Newest row that is committed. */
  readonly seqMax: () => number;
  readonly taken: (entry: OutboxEntry, slot: Slot) => void;
  /** An outbox row without its reading. */
  readonly stray: (lane: LaneQueue, place: Place, page: Page) => void;
}

/** Most rows taken of one sensor and kind before the next one's turn. */
const PAGE_ROWS = 100;
const PAGE_SQL = `SELECT o.time_ms, o.seq, ${READING_COLUMNS}
  FROM outbox o LEFT JOIN readings r ON r.seq = o.seq
  WHERE o.lane = ? AND o.hour = ? AND o.stream = ? AND (o.time_ms, o.seq) > (?, ?)
  ORDER BY o.time_ms, o.seq LIMIT ?`;
const NEXT_HOUR_SQL = "SELECT hour FROM outbox WHERE lane = ? AND hour > ? ORDER BY hour LIMIT 1";
const ONE_SQL = `SELECT ${READING_COLUMNS} FROM readings r WHERE r.seq = ?`;
/** The reads, so that their plans can be asserted. */
export const OUTBOX_SQL = { page: PAGE_SQL, nextHour: NEXT_HOUR_SQL, one: ONE_SQL } as const;

/** Reads what a lane owes and may go out now. */
export class Leasing {
  readonly #parts: LeasingParts;
  readonly #hooks: LeasingHooks;

  constructor(parts: LeasingParts, hooks: LeasingHooks) {
    this.#parts = parts;
    this.#hooks = hooks;
  }

  /** One entry per sensor and kind at most. */
  live(lane: LaneQueue, max: number): OutboxEntry[] {
    const entries: OutboxEntry[] = [];
    const now = this.#parts.clock.monotonic();
    for (const stream of lane.order) {
      if (entries.length >= max) break;
      const place = stream.candidate;
      if (place === null || lane.isLeased(place.seq) || !stream.liveRefusal.isOver(now)) continue;
      const [row] = this.#parts.db.read(ONE_SQL).all(place.seq);
      const page = { stream: place.stream, hour: place.hour, seqMax: this.#hooks.seqMax() };
      if (row === undefined) this.#hooks.stray(lane, place, page);
      else entries.push(this.#take(lane, place, page, 0, row, true));
    }
    return entries;
  }

  /** Oldest first per sensor and kind, fair between them. */
  backlog(lane: LaneQueue, max: number): OutboxEntry[] {
    const entries: OutboxEntry[] = [];
    const { order } = lane;
    const now = this.#parts.clock.monotonic();
    // Round after round until every stream in turn has nothing more.
    for (let empty = 0; empty < order.length && entries.length < max; empty++) {
      const stream = order[lane.turn % order.length];
      lane.turn = (lane.turn + 1) % order.length;
      if (stream === undefined || stream.isExhausted || stream.isParked) continue;
      if (lane.isLiveOnly || !lane.hasBacklog(stream)) continue;
      if (!stream.historyRefusal.isOver(now)) continue;
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
    const newPage = (): Page => ({ stream: stream.stream, hour, seqMax: this.#hooks.seqMax() });
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
        lane.isLeased(place.seq) ||
        lane.parked.has(place.seq) ||
        stream.candidate?.seq === place.seq;
      if (isOut) {
        page = newPage();
        index = 0;
      } else if (row[2] === null) {
        this.#hooks.stray(lane, place, page);
      } else {
        entries.push(this.#take(lane, place, page, index, row, false));
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
    // Rows of the backlog begin with the outbox's own two columns.
    const reading = toStoredReading(row, this.#parts.streams, live ? 0 : 2);
    const entry = { reading, live };
    const slot = { place, page, index, live, entry, isSettled: false };
    lane.lease(slot);
    this.#hooks.taken(entry, slot);
    return entry;
  }
}
