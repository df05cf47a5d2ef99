import type { OutboxEntry } from "../../../core/delivery/delivery.ts";
import { isEvent } from "../../../core/delivery/event-kind.ts";
import type { Clock } from "../../../core/ports.ts";
import type { GatewayTime } from "../../../core/time/gateway-time.ts";
import { ARE_JSON_SQL } from "../database/damaged-rows.ts";
import type { Database } from "../database/database.ts";
import type { Streams } from "../database/streams.ts";
import {
  hourOf,
  READING_COLUMNS,
  type StoredReadingRow,
  toStoredReading,
} from "../readings/stored-reading.ts";
import type { LaneQueue, Slot } from "./lane-queue.ts";
import { NEXT_HOUR_SQL } from "./lane-rows.ts";
import type { StartProof } from "./start-proof.ts";
import type { Place, StreamQueue } from "./stream-queue.ts";

interface LeasingParts {
  readonly db: Database;
  readonly streams: Streams;
  readonly clock: Clock;
  readonly age: Pick<GatewayTime, "now">;
  readonly proof: StartProof;
}

/** What is done with an outbox row that is not sent. */
interface Unsent {
  /** Its reading is gone. */
  stray(lane: LaneQueue, place: Place): void;
  /** It might turn its live topic back, and its lane has no other. */
  unproven(lane: LaneQueue, place: Place): void;
}

/** Most rows taken of one sensor and kind before the next one's turn. */
const PAGE_ROWS = 100;
const PAGE_SQL = `SELECT ${READING_COLUMNS}, ${ARE_JSON_SQL}, o.time_ms, o.seq
  FROM outbox o LEFT JOIN readings r ON r.seq = o.seq
  WHERE o.lane = ? AND o.hour = ? AND o.stream = ? AND (o.time_ms, o.seq) > (?, ?)
  ORDER BY o.time_ms, o.seq LIMIT ?`;
type Nulls<R extends readonly unknown[]> = { readonly [C in keyof R]: null };
type LeasedRow = readonly [...StoredReadingRow, areJson: number];
/** A pending row after the columns of its reading, which are null if that is gone. */
type PageRow = readonly [...(LeasedRow | Nulls<LeasedRow>), timeMs: number, seq: number];

const ONE_SQL = `SELECT ${READING_COLUMNS}, ${ARE_JSON_SQL} FROM readings r WHERE r.seq = ?`;
/** The read statements, so that their query plans can be asserted. */
export const OUTBOX_SQL = { page: PAGE_SQL, nextHour: NEXT_HOUR_SQL, one: ONE_SQL } as const;

/** Reads the pending entries of a lane that may be sent now. */
export class Leasing {
  readonly #parts: LeasingParts;
  readonly #unsent: Unsent;
  readonly #slots = new WeakMap<OutboxEntry, Slot>();

  constructor(parts: LeasingParts, unsent: Unsent) {
    this.#parts = parts;
    this.#unsent = unsent;
  }

  /** Also of an entry whose lease has ended; undefined if it was not handed out here. */
  slotOf(entry: OutboxEntry): Slot | undefined {
    return this.#slots.get(entry);
  }

  /**
   * Entries that precede any backlog and ignore its rate: alarm events, all of them in order, then the newest reading
   * of each sensor and kind.
   */
  live(lane: LaneQueue, max: number): OutboxEntry[] {
    const entries = this.#events(lane, max);
    const now = this.#parts.clock.monotonic();
    const oldestMs = lane.uplink.oldestMs(this.#parts.age.now()) ?? Number.NEGATIVE_INFINITY;
    for (const stream of lane.order) {
      if (entries.length >= max) break;
      const place = stream.candidate;
      // Older ones wait to be dropped.
      if (place === null || place.timeMs < oldestMs) continue;
      if (lane.isTaken(place.seq) || !stream.liveRefusal.isOver(now)) continue;
      const proof = this.#parts.proof.judge(lane, stream);
      if (proof === "too late") this.#unsent.unproven(lane, place);
      if (proof !== "live") continue;
      const [row] = this.#parts.db.readArrays<LeasedRow>(ONE_SQL).all(place.seq);
      if (row === undefined) this.#unsent.stray(lane, place);
      else entries.push(this.#take(lane, place, row, true));
    }
    return entries;
  }

  /**
   * An alarm is for somebody who must act: it does not wait behind history, although its row is part of the backlog.
   */
  #events(lane: LaneQueue, max: number): OutboxEntry[] {
    const entries: OutboxEntry[] = [];
    const now = this.#parts.clock.monotonic();
    for (const stream of lane.order) {
      if (entries.length >= max) break;
      this.#comeBack(lane, stream);
      if (!lane.isReadable(stream, now)) continue;
      if (!isEvent(this.#parts.streams.get(stream.stream))) continue;
      this.#readBacklog(lane, stream, max - entries.length, entries);
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
      if (stream !== undefined) this.#comeBack(lane, stream);
      if (stream === undefined || !lane.isReadable(stream, now)) continue;
      const before = entries.length;
      this.#readBacklog(lane, stream, Math.min(PAGE_ROWS, max - before), entries);
      if (entries.length > before) empty = -1;
    }
    return entries;
  }

  /** What was passed as too old is read again once it is not: the limit or the gateway's clock was set back. */
  #comeBack(lane: LaneQueue, stream: StreamQueue): void {
    const { passed } = stream;
    if (passed === null) return;
    const oldestMs = lane.uplink.oldestMs(this.#parts.age.now());
    if (oldestMs !== null && oldestMs >= passed.oldestMs) return;
    stream.passed = null;
    stream.rewind(passed.from);
  }

  /** Takes the stream's next rows in order of time, except leased, parked and nearly live ones. */
  #readBacklog(lane: LaneQueue, stream: StreamQueue, max: number, entries: OutboxEntry[]): void {
    const { db } = this.#parts;
    const end = entries.length + max;
    skipOlder(stream, lane.uplink.oldestMs(this.#parts.age.now()));
    // Counted, to avoid searching other streams' hours after the last row of this one.
    while (entries.length < end && lane.hasBacklog(stream)) {
      const { hour, timeMs, seq } = stream.cursor;
      const limit = end - entries.length;
      const page = db.readArrays<PageRow>(PAGE_SQL);
      const rows = page.all(lane.number, hour, stream.stream, timeMs, seq, limit);
      this.#takeRows(lane, stream, rows, entries);
      if (rows.length === limit) continue;
      const next = db.read<{ hour: number }>(NEXT_HOUR_SQL).get(lane.number, hour);
      if (next === undefined) {
        stream.isExhausted = true;
        return;
      }
      stream.cursor = {
        stream: stream.stream,
        hour: next.hour,
        timeMs: Number.MIN_SAFE_INTEGER,
        seq: -1,
      };
    }
  }

  #takeRows(
    lane: LaneQueue,
    stream: StreamQueue,
    rows: readonly PageRow[],
    entries: OutboxEntry[],
  ): void {
    const { hour } = stream.cursor;
    for (const row of rows) {
      const place = { stream: stream.stream, hour, timeMs: row[13], seq: row[14] };
      stream.cursor = place;
      const isOut =
        lane.isTaken(place.seq) ||
        lane.parked.has(place.seq) ||
        stream.candidate?.seq === place.seq;
      if (isOut) continue;
      if (row[0] === null) this.#unsent.stray(lane, place);
      else entries.push(this.#take(lane, place, row, false));
    }
  }

  #take(
    lane: LaneQueue,
    place: Place,
    row: readonly [...LeasedRow, ...unknown[]],
    live: boolean,
  ): OutboxEntry {
    const reading = lane.uplink.chosenOf(
      this.#parts.db.damaged.readable(toStoredReading(row, this.#parts.streams), row[12] === 1),
    );
    const entry = { reading, live };
    const slot = { place, live, isSettled: false };
    lane.lease(slot);
    this.#slots.set(entry, slot);
    return entry;
  }
}

/** The backlog is read from the first row that is not too old. */
function skipOlder(stream: StreamQueue, oldestMs: number | null): void {
  if (oldestMs === null || stream.cursor.timeMs >= oldestMs) return;
  const hour = hourOf(oldestMs);
  if (stream.cursor.hour > hour) return;
  stream.passed = { from: stream.passed?.from ?? stream.cursor, oldestMs };
  stream.cursor = { stream: stream.stream, hour, timeMs: oldestMs, seq: -1 };
}
