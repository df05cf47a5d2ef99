import type { LaneDepth } from "../../../core/delivery/delivery.ts";
import { isEvent } from "../../../core/delivery/event-kind.ts";
import { isWaveform } from "../../../core/delivery/lane-plan.ts";
import type { Tx } from "../../../core/tx.ts";
import type { Database } from "../database/database.ts";
import type { WriteQueue } from "../database/write-queue.ts";
import type { LaneQueue } from "./lane-queue.ts";
import { LaneDepths } from "./lane-rows.ts";
import type { LaneUplink } from "./lane-uplink.ts";
import type { Lanes } from "./lanes.ts";
import type { Place, StreamQueue } from "./stream-queue.ts";
import type { PendingRow } from "./thinned-rows.ts";
import type { CausingReading, Selected, Thinning } from "./thinning.ts";

/** What one transaction has inserted. */
interface Inserted {
  readonly rows: { readonly lane: LaneQueue; readonly row: PendingRow }[];
  /** The newest row of streams in live-only lanes: it replaced the one before it. */
  readonly newest: Map<StreamQueue, PendingRow>;
  /** Readings that an uplink leaves out. */
  readonly leftOut: Map<string, number>;
  /** Row number of the first reading that it stores. */
  firstSeq: number;
}

interface PendingParts {
  readonly db: Database;
  readonly queue: WriteQueue;
  readonly lanes: Lanes;
  readonly thinning: Thinning;
  /** Readings that an uplink leaves out. */
  readonly onNotSelected: (uplink: string, count: number) => void;
}

const INSERT_SQL =
  "INSERT OR IGNORE INTO outbox (lane, hour, stream, time_ms, seq, is_future) VALUES (?, ?, ?, ?, ?, ?)";
export const DELETE_ROW_SQL =
  "DELETE FROM outbox WHERE lane = ? AND hour = ? AND stream = ? AND time_ms = ? AND seq = ?";
const HAS_SQL =
  "SELECT 1 FROM outbox WHERE lane = ? AND hour = ? AND stream = ? AND time_ms = ? AND seq = ?";

/** Live topics only move forward: what went live, or may have, is remembered. */
export const MARK_SQL = `INSERT INTO live_marks (lane, stream, time_ms) VALUES (?, ?, ?)
  ON CONFLICT DO UPDATE SET time_ms = max(time_ms, excluded.time_ms)`;

/** Selects lanes; all unless given. */
export type LaneFilter = (lane: LaneQueue) => boolean;
export const carriesSamples: LaneFilter = (lane) => isWaveform(lane.lane);
const everyLane: LaneFilter = () => true;

/**
 * Events always go; so does what is dated in the future, which no later reading would follow. Samples have a policy of
 * their own.
 */
const isThinned = ({ uplink, lane }: LaneQueue, { content, isFuture }: PendingRow): boolean =>
  uplink.isThinned && !isFuture && !isEvent(content.stream) && !isWaveform(lane);

/** What is pending: the rows of the lanes, as changed by writers of readings and by retention. */
export class Pending {
  readonly #parts: PendingParts;
  readonly #db: Database;
  readonly #thinning: Thinning;
  readonly #depths: LaneDepths;

  constructor(parts: PendingParts) {
    this.#parts = parts;
    this.#db = parts.db;
    this.#thinning = parts.thinning;
    this.#depths = new LaneDepths(parts);
  }

  get #lanes(): readonly LaneQueue[] {
    return this.#parts.lanes.all;
  }

  /** Writes a reading's rows, inside the transaction that writes the reading; none for excluded uplinks. */
  insert(tx: Tx, row: PendingRow, leftOut: ReadonlySet<string> | null = null): void {
    const thinned = new Set<LaneUplink>();
    const inserted = this.#inserted(tx);
    inserted.firstSeq = Math.min(inserted.firstSeq, row.seq);
    for (const lane of this.#lanes) {
      const { uplink } = lane;
      if (leftOut?.has(uplink.name)) continue;
      if (!isThinned(lane, row)) this.#insertInto(tx, lane, row);
      else if (uplink.wants(lane.lane, row.content)) thinned.add(uplink);
    }
    for (const uplink of thinned) this.#select(tx, uplink, this.#thinning.take(uplink, row));
  }

  /** The reading that an alarm was raised or cleared with goes to every uplink. */
  insertAlways(tx: Tx, reading: CausingReading): void {
    const inserted = this.#inserted(tx);
    for (const uplink of this.#uplinks().filter(({ isThinned }) => isThinned)) {
      const { going, leftOut } = this.#thinning.always(uplink, reading);
      // One that was counted in an earlier transaction stays so: counters do not fall.
      const isCountedNow = going.every(({ seq }) => seq >= inserted.firstSeq);
      this.#select(tx, uplink, { going, leftOut: isCountedNow ? leftOut : 0 });
    }
  }

  /**
   * Whether an uplink holds the newest reading of a period that is over, by the gateway's time (null: not known), or
   * anything though it holds no longer.
   */
  hasDue(nowMs: number | null): boolean {
    return this.#uplinks().some((uplink) => this.#thinning.hasDue(uplink, nowMs));
  }

  insertDue(tx: Tx, nowMs: number | null): void {
    for (const uplink of this.#uplinks())
      this.#select(tx, uplink, this.#thinning.due(uplink, nowMs));
    tx.onCommit(() => this.#thinning.follow());
  }

  /** The uplinks are others now. Throws StoreFailure: retention does it later, then. */
  follow(): void {
    const { queue } = this.#parts;
    this.#thinning.follow();
    if (queue.read("check periods", () => this.hasDue(null)))
      queue.direct("queue what is held no longer", (tx) => this.insertDue(tx, null));
  }

  #uplinks(): LaneUplink[] {
    return [...new Set(this.#lanes.map(({ uplink }) => uplink))];
  }

  #select(tx: Tx, uplink: LaneUplink, { going, leftOut }: Selected): void {
    for (const lane of this.#lanes)
      if (lane.uplink === uplink && !isWaveform(lane.lane))
        for (const row of going) this.#insertInto(tx, lane, row);
    const counts = this.#inserted(tx).leftOut;
    if (leftOut !== 0) counts.set(uplink.name, (counts.get(uplink.name) ?? 0) + leftOut);
  }

  #inserted(tx: Tx): Inserted {
    return tx.draft(this, () => {
      const made: Inserted = {
        rows: [],
        newest: new Map(),
        leftOut: new Map(),
        firstSeq: Number.POSITIVE_INFINITY,
      };
      tx.onCommit(() => this.#remember(made));
      return made;
    });
  }

  /** Uplinks for which a reading that is not stored yet would be pending. */
  uplinksWanting(
    tx: Tx,
    { content, stream, timeMs }: Omit<PendingRow, "seq">,
  ): ReadonlySet<string> {
    const uplinks = new Set<string>();
    for (const lane of this.#lanes) {
      if (!lane.uplink.wants(lane.lane, content)) continue;
      const queue = lane.stream(stream);
      const newestMs = Math.max(queue.mark, this.#newest(tx, queue)?.timeMs ?? -Infinity);
      if (!lane.isLiveOnly || timeMs > newestMs) uplinks.add(lane.uplink.name);
    }
    return uplinks;
  }

  /** As the running transaction leaves it. */
  #newest(tx: Tx, stream: StreamQueue): Place | null {
    return this.#inserted(tx).newest.get(stream) ?? stream.candidate;
  }

  /** A reading that was stored before the lane was added. */
  fill(tx: Tx, lane: LaneQueue, row: PendingRow): void {
    const goes =
      !isThinned(lane, row) ||
      !lane.uplink.wants(lane.lane, row.content) ||
      this.#thinning.isFilled(lane.number, lane.uplink, row);
    if (goes) this.#insertInto(tx, lane, row);
  }

  /** The row of one lane, if that should carry the reading. */
  #insertInto(tx: Tx, lane: LaneQueue, row: PendingRow): void {
    if (!lane.uplink.wants(lane.lane, row.content)) return;
    // Events are not readings: none replaces another.
    const isNewestOnly = lane.isLiveOnly && !isEvent(row.content.stream);
    if (isNewestOnly && !this.#supersede(tx, lane, row)) return;
    const { changes } = this.#db
      .write(INSERT_SQL)
      .run(lane.number, row.hour, row.stream, row.timeMs, row.seq, row.isFuture ? 1 : 0);
    if (changes > 0) this.#inserted(tx).rows.push({ lane, row });
  }

  /** A live-only lane keeps one row of a stream: the newest. False if this is not the newest. */
  #supersede(tx: Tx, lane: LaneQueue, row: PendingRow): boolean {
    const stream = lane.stream(row.stream);
    const rival = this.#newest(tx, stream);
    const isNewest = row.timeMs > stream.mark && row.timeMs > (rival?.timeMs ?? -Infinity);
    if (row.isFuture || !isNewest) return false;
    if (rival !== null) {
      this.#db
        .write(DELETE_ROW_SQL)
        .run(lane.number, rival.hour, rival.stream, rival.timeMs, rival.seq);
    }
    this.#inserted(tx).newest.set(stream, row);
    return true;
  }

  /** They are on disk. */
  #remember({ rows, leftOut }: Inserted): void {
    for (const [uplink, count] of leftOut) this.#parts.onNotSelected(uplink, count);
    const touched = new Set<LaneQueue>();
    for (const { lane, row } of rows) {
      const stream = lane.stream(row.stream);
      const isNewestOnly = lane.isLiveOnly && !isEvent(row.content.stream);
      if (!isNewestOnly) addRow(stream, row);
      else replaceRow(lane, stream, row);
      touched.add(lane);
    }
    for (const lane of touched) {
      lane.rowsVersion += 1;
      lane.wake();
    }
  }

  depth(lane: LaneQueue): LaneDepth {
    return this.#depths.of(lane);
  }

  /** True while this reading is pending in any of these lanes, or held for one of them until its period is over. */
  isPending(tx: Tx, place: Place, isSelected: LaneFilter = everyLane): boolean {
    // Memory follows with the commit: it lacks what this transaction has stored.
    const isCounted = this.#inserted(tx).rows.length === 0;
    for (const lane of this.#lanes) {
      if (!isSelected(lane)) continue;
      if (!isWaveform(lane.lane) && this.#thinning.isHeld(lane.uplink, place)) return true;
      if (isCounted && (lane.streams.get(place.stream)?.pending ?? 0) === 0) continue;
      // On the writing connection: a settlement of the same transaction counts.
      const { hour, stream, timeMs, seq } = place;
      if (this.#db.write(HAS_SQL).get(lane.number, hour, stream, timeMs, seq) !== undefined)
        return true;
    }
    return false;
  }

  /** True while every reading waits in one of the lanes. @param readings how many are stored */
  isAllPending(readings: number): boolean {
    return this.#lanes.some((lane) => lane.pending >= readings);
  }

  /** True while any of these lanes has leased it: it may have arrived. */
  isUnderWay({ seq }: Place, isSelected: LaneFilter = everyLane): boolean {
    return this.#lanes.some((lane) => isSelected(lane) && lane.isLeased(seq));
  }

  /**
   * Deletes the pending rows of a reading that is dropped, inside a transaction; returns their lanes. Nothing leases
   * the rows from now on.
   */
  drop(tx: Tx, place: Place, isSelected: LaneFilter = everyLane): readonly LaneQueue[] {
    return this.#lanes.filter((lane) => isSelected(lane) && this.#dropFrom(tx, lane, place));
  }

  #dropFrom(tx: Tx, lane: LaneQueue, place: Place): boolean {
    if (!isWaveform(lane.lane) && this.#thinning.drop(lane.uplink, place)) return true;
    const { changes } = this.#db
      .write(DELETE_ROW_SQL)
      .run(lane.number, place.hour, place.stream, place.timeMs, place.seq);
    if (changes === 0) return false;
    lane.withdraw(tx, place);
    // It may be in flight, or have arrived unproven: nothing older may go live after it.
    if (lane.streams.get(place.stream)?.candidate?.seq === place.seq) {
      this.#db.write(MARK_SQL).run(lane.number, place.stream, place.timeMs);
    }
    tx.onCommit(() => {
      const stream = lane.stream(place.stream);
      stream.pending = Math.max(0, stream.pending - 1);
      lane.parked.delete(place.seq);
      lane.rowsVersion += 1;
      if (stream.candidate?.seq !== place.seq) return;
      stream.candidate = null;
      stream.mark = Math.max(stream.mark, place.timeMs);
    });
    return true;
  }
}

function addRow(stream: StreamQueue, row: PendingRow): void {
  stream.pending += 1;
  if (!row.isFuture && stream.isNewer(row.timeMs)) {
    const former = stream.candidate;
    stream.candidate = row;
    stream.isExhausted = false;
    if (former !== null) stream.rewind(former);
  } else stream.rewind(row);
}

/** In a live-only lane. */
function replaceRow(lane: LaneQueue, stream: StreamQueue, row: PendingRow): void {
  if (stream.candidate !== null) lane.replaced(stream.candidate);
  if (stream.candidate === null || stream.pending === 0) stream.pending += 1;
  stream.candidate = row;
}
