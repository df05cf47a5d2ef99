import type { Gap, OutboxUplink } from "../../../core/delivery/delivery.ts";
import type { GapLog, Logger } from "../../../core/ports.ts";
import { type Tx, TxMap } from "../../../core/tx.ts";
import type { Database } from "../database/database.ts";
import { StoreFailure } from "../database/store-failure.ts";
import type { Streams } from "../database/streams.ts";
import type { WriteQueue } from "../database/write-queue.ts";

interface GapLogParts {
  readonly db: Database;
  readonly streams: Streams;
  readonly queue: WriteQueue;
  readonly logger: Logger;
  /** Whether the store has, or had, a reading of the stream between two times, ms, neither included. */
  readonly hasBetween: (stream: number, afterMs: number, beforeMs: number) => boolean;
  /** An uplink has lost this many readings, once that is committed. */
  readonly onLost?: ((uplink: string, reason: string, count: number) => void) | undefined;
}

interface GrowingGap {
  readonly gap: number;
  /** Its newest reading, ms. */
  readonly toMs: number;
}

/** A row of the table `gaps`. */
interface StoredGap extends Pick<Gap, "gapId" | "fromMs" | "toMs" | "count" | "reason"> {
  readonly stream: number;
  readonly uplink: string;
}

const GAPS_SQL =
  "SELECT gap AS gapId, stream, from_ms AS fromMs, to_ms AS toMs, count, reason, uplink FROM gaps";
const PENDING_SQL = `${GAPS_SQL}
  WHERE ? IS NULL OR uplink = ? OR (? = 1 AND uplink NOT IN (SELECT value FROM json_each(?)))
  ORDER BY gap LIMIT ?`;

const NEWEST_SQL = `${GAPS_SQL} WHERE ? IS NULL OR stream IN (SELECT value FROM json_each(?)) ORDER BY gap DESC LIMIT ?`;

/**
 * Readings that were dropped, until that is published on agent/gap. A disk failure must not fail the publishers:
 * while the disk cannot be read no gap is known, and a gap that cannot be settled is published again.
 */
export class SqliteGapLog implements GapLog {
  readonly #parts: GapLogParts;
  /** Uplinks that can publish gaps; the first also publishes those of uplinks that cannot, or were removed. */
  #uplinks: readonly string[] = [];
  /** The uplink that needs no name because it is the only one. */
  #only: string | null = null;
  /** The gap that still grows, by uplink, stream and reason. Once handed out it no longer changes. */
  readonly #growing = new TxMap<string, GrowingGap>();
  /**
   * Counts as they were handed out, by gap. A transaction that pauses meanwhile may raise one unseen: the part that was
   * not published stays.
   */
  readonly #handedOut = new Map<number, number>();
  /** Published; while another program has the lock, they are on disk still. */
  readonly #settling = new Set<number>();
  /** Looked up once: every uplink asks for gaps every few seconds, and there hardly ever is one. */
  #isEmpty = false;

  constructor(parts: GapLogParts, uplinks: SqliteGapLog["uplinks"]) {
    this.#parts = parts;
    this.uplinks = uplinks;
  }

  /**
   * Gaps have a topic beside those of JSON and plain readings; the first uplink with such topics publishes for one that
   * has neither.
   */
  set uplinks(uplinks: readonly Pick<OutboxUplink, "name" | "lanes">[]) {
    this.#only = uplinks.length === 1 ? (uplinks[0]?.name ?? null) : null;
    this.#uplinks = uplinks
      .filter(({ lanes }) => lanes.some((lane) => lane === "json" || lane === "plain"))
      .map(({ name }) => name);
  }

  /** The file may be another one now. */
  load(): void {
    this.#isEmpty = false;
  }

  /** The part of the log that one uplink publishes. */
  of(uplink: string): GapLog {
    return {
      pendingGaps: (max) => {
        const pending = this.#pending(max, uplink);
        for (const { gapId, count } of pending) this.#handedOut.set(gapId, count);
        return pending;
      },
      settleGaps: (gapIds) => this.settleGaps(gapIds),
    };
  }

  /** Of all uplinks. */
  pendingGaps(max: number): Gap[] {
    return this.#pending(max, null);
  }

  newestGaps(max: number, sensor: string | null): Gap[] {
    const { db, queue, streams } = this.#parts;
    const own = sensor === null ? null : JSON.stringify(streams.ofSensor(sensor));
    const read = () => db.read<StoredGap>(NEWEST_SQL).all(own, own, max + this.#settling.size);
    return this.#try([], () => this.#shown(queue.read("read gap records", read))).slice(0, max);
  }

  #pending(max: number, uplink: string | null): Gap[] {
    this.#growing.clear();
    return this.#try([], () =>
      this.#parts.queue.read("read gap records", () => this.#read(max, uplink)),
    );
  }

  #read(max: number, uplink: string | null): Gap[] {
    const { db } = this.#parts;
    this.#isEmpty ||= db.read("SELECT 1 FROM gaps LIMIT 1").get() === undefined;
    if (this.#isEmpty) return [];
    const uplinksText = JSON.stringify(this.#uplinks);
    const isFirst = uplink === null || this.#uplinks[0] === uplink ? 1 : 0;
    const rows = db.read<StoredGap>(PENDING_SQL);
    return this.#shown(rows.all(uplink, uplink, isFirst, uplinksText, max));
  }

  #shown(rows: readonly StoredGap[]): Gap[] {
    return rows
      .filter(({ gapId }) => !this.#settling.has(gapId))
      .map(({ stream, uplink: lostBy, ...gap }) => {
        const { sensor, kind } = this.#parts.streams.get(stream);
        return { ...gap, sensor, kind, ...(lostBy === this.#only ? {} : { uplink: lostBy }) };
      });
  }

  settleGaps(gapIds: readonly number[]): void {
    if (gapIds.length === 0) return;
    const { db, logger, queue } = this.#parts;
    const reported = gapIds.map(
      (gapId) => [gapId, this.#handedOut.get(gapId) ?? Number.MAX_SAFE_INTEGER] as const,
    );
    for (const gapId of gapIds) {
      this.#handedOut.delete(gapId);
      this.#settling.add(gapId);
    }
    const forget = () => {
      for (const gapId of gapIds) this.#settling.delete(gapId);
    };
    const settled = queue.soon("settle gap records", (tx) => {
      for (const [gapId, count] of reported) {
        const removed = db.write("DELETE FROM gaps WHERE gap = ? AND count <= ?").run(gapId, count);
        if (removed.changes === 0)
          db.write("UPDATE gaps SET count = count - ? WHERE gap = ?").run(count, gapId);
      }
      tx.onCommit(forget);
    });
    settled.catch((error: unknown) => {
      forget();
      logger.warn({ err: error }, "gap records cannot be settled now; they are published again");
    });
  }

  #try<T>(otherwise: T, act: () => T): T {
    try {
      return act();
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      this.#parts.logger.warn(
        { err: error },
        "gap records cannot be read or stored now; trying again",
      );
      return otherwise;
    }
  }

  /**
   * Adds one given-up reading, inside the transaction that drops it. Adjacent ones share a record: a span that contains a
   * reading that was delivered would say that it was lost.
   */
  add(tx: Tx, stream: number, timeMs: number, reason: string, uplink: string): void {
    const { db } = this.#parts;
    this.#count(tx, uplink, reason);
    const key = `${uplink}/${stream}/${reason}`;
    const growing = this.#growing.get(key);
    if (growing !== undefined && this.#isAdjacent(stream, timeMs, growing)) {
      const { changes } = db
        .write("UPDATE gaps SET to_ms = ?, count = count + 1 WHERE gap = ?")
        .run(timeMs, growing.gap);
      if (changes > 0) return this.#growing.change(tx, key, { ...growing, toMs: timeMs });
    }
    const { lastInsertRowid } = db
      .write(
        "INSERT INTO gaps (stream, from_ms, to_ms, count, reason, uplink) VALUES (?, ?, ?, 1, ?, ?)",
      )
      .run(stream, timeMs, timeMs, reason, uplink);
    this.#growing.change(tx, key, { gap: Number(lastInsertRowid), toMs: timeMs });
  }

  #isAdjacent(stream: number, timeMs: number, { toMs }: GrowingGap): boolean {
    return timeMs >= toMs && !this.#parts.hasBetween(stream, toMs, timeMs);
  }

  #count(tx: Tx, uplink: string, reason: string): void {
    const lost = tx.draft(this, () => {
      const made: { readonly uplink: string; readonly reason: string; count: number }[] = [];
      tx.onCommit(() => {
        // Not before: whoever asked meanwhile did not see them.
        this.#isEmpty = false;
        for (const one of made) this.#parts.onLost?.(one.uplink, one.reason, one.count);
      });
      return made;
    });
    const known = lost.find((one) => one.uplink === uplink && one.reason === reason);
    if (known === undefined) lost.push({ uplink, reason, count: 1 });
    else known.count += 1;
  }

  /** The next given-up reading starts a new record. */
  endEpisode(): void {
    this.#growing.clear();
  }
}
