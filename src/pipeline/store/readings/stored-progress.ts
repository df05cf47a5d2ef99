import type { DayProgress } from "../../../core/day.ts";
import type { Tx } from "../../../core/tx.ts";
import type { Database } from "../database/database.ts";

const SELECT_SQL = "SELECT checkpoint, records FROM day_progress WHERE day = ? AND stream = ?";
const STREAMS_SQL = "SELECT stream FROM day_progress WHERE day = ?";
const UPSERT_SQL = `INSERT INTO day_progress (day, stream, checkpoint, records) VALUES (?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET checkpoint = excluded.checkpoint, records = excluded.records`;
const DELETE_SQL = "DELETE FROM day_progress WHERE day < ?";

/** Days kept in memory, about 300 bytes each: two open days of 2,000 sensors. */
const KEPT_MAX = 4096;

/**
 * How far each day was read. Every poll looks this up twice, so the committed progress of the days that are polled is
 * kept in memory.
 */
export class StoredProgress {
  readonly #db: Database;
  /** Committed, by stream and day; the oldest entries are dropped first. */
  readonly #kept = new Map<string, DayProgress>();

  constructor(db: Database) {
    this.#db = db;
  }

  /** Null if nothing of the day was stored. Throws while the disk cannot be read. */
  of(stream: number, day: string): DayProgress | null {
    const kept = this.#kept.get(`${stream} ${day}`);
    if (kept !== undefined) return kept;
    const stored = this.stored(stream, day);
    // Inside a transaction, the row may be rolled back.
    if (stored !== null && !this.#db.writer.inTransaction) this.#keep(stream, day, stored);
    return stored;
  }

  /** The streams of which something of the day was stored: a look-up for all of them. */
  streamsOf(day: string): ReadonlySet<number> {
    const rows = this.#db.write<{ stream: number }>(STREAMS_SQL).all(day);
    return new Set(rows.map(({ stream }) => stream));
  }

  /** The row itself, with what the running transaction has written. */
  stored(stream: number, day: string): DayProgress | null {
    return this.#db.write<DayProgress>(SELECT_SQL).get(day, stream) ?? null;
  }

  /** Inside the transaction that writes the readings. */
  write(tx: Tx, stream: number, day: string, progress: DayProgress): void {
    this.#db.write(UPSERT_SQL).run(day, stream, progress.checkpoint, progress.records);
    tx.onCommit(() => this.#keep(stream, day, progress));
  }

  #keep(stream: number, day: string, progress: DayProgress): void {
    const key = `${stream} ${day}`;
    this.#kept.delete(key);
    this.#kept.set(key, progress);
    if (this.#kept.size <= KEPT_MAX) return;
    for (const oldest of this.#kept.keys()) {
      this.#kept.delete(oldest);
      return;
    }
  }

  /** The row is gone from the file: the next read of the day starts from nothing. */
  lost(stream: number, day: string): void {
    this.#kept.delete(`${stream} ${day}`);
  }

  /** Removes all days before this one, inside a transaction. */
  deleteBefore(tx: Tx, day: string): void {
    this.#db.write(DELETE_SQL).run(day);
    tx.onCommit(() => this.#kept.clear());
  }

  /** The database was replaced. */
  clear(): void {
    this.#kept.clear();
  }
}
