import {
  type AuditEntry,
  type AuditLog,
  isRefused,
  type StoredAuditEntry,
} from "../../core/audit.ts";
import type { Database } from "./database/database.ts";
import type { WriteQueue } from "./database/write-queue.ts";

/** Changes kept; the oldest are deleted. At most about 2 MB. */
const CHANGES_MAX = 10_000;
/** Refusals kept separately: however many there are, they never displace a change. */
const REFUSALS_MAX = 1_000;
/** Refusals of one kind, from one client, within this time are one entry. */
const REPEAT_MS = 60_000;
/** Kinds of refusal counted at once; a further one ends the count of the oldest. */
const REPEATED_MAX = 200;
const DETAIL_LENGTH_MAX = 500;

const NEWEST_SQL = `SELECT entry, time_ms AS timeMs, who, person, address, what, detail, outcome, times,
  coalesce(last_ms, time_ms) AS lastTimeMs FROM audit WHERE entry < ? ORDER BY entry DESC LIMIT ?`;

/** A refusal that may be repeated. */
interface Repeated {
  /** Null until it is written. */
  entry: number | null;
  /** Once it is. Rejects as `add` does. */
  written: Promise<void>;
  readonly firstMs: number;
  times: number;
  lastMs: number;
}

/** Who changed what, for GET /api/v1/audit. */
export class SqliteAuditLog implements AuditLog {
  readonly #db: Database;
  readonly #queue: WriteQueue;
  /** By the key of their kind, oldest first. */
  readonly #repeated = new Map<string, Repeated>();
  /** Their minute is over, and their counts are not on disk. */
  readonly #ended = new Set<Repeated>();
  #isCounting = false;

  constructor(db: Database, queue: WriteQueue) {
    this.#db = db;
    this.#queue = queue;
  }

  async add(given: AuditEntry): Promise<void> {
    if (!isRefused(given.outcome)) return await this.#insert(given, () => {});
    const { timeMs, who, address, what, outcome, person = null } = given;
    const kind = JSON.stringify([who, person, address, what, detailOf(given), outcome]);
    this.#endRepeated(kind, timeMs);
    const known = this.#repeated.get(kind);
    if (known !== undefined) {
      known.times += 1;
      known.lastMs = timeMs;
      return await known.written;
    }
    // Counted from now on: until it is written, another program may have the lock.
    const first: Repeated = {
      entry: null,
      written: Promise.resolve(),
      firstMs: timeMs,
      times: 1,
      lastMs: timeMs,
    };
    this.#repeated.set(kind, first);
    first.written = this.#insert(given, (entry) => {
      first.entry = entry;
    });
    try {
      await first.written;
    } catch (error) {
      if (this.#repeated.get(kind) === first) this.#repeated.delete(kind);
      throw error;
    }
  }

  /** @param done told the number of the entry once it is on disk */
  async #insert(given: AuditEntry, done: (entry: number) => void): Promise<void> {
    const { timeMs, who, address, what, outcome, person = null } = given;
    const refused = isRefused(outcome);
    await this.#queue.soon("write an entry of the audit log", (tx) => {
      const { lastInsertRowid } = this.#db
        .write(
          "INSERT INTO audit (time_ms, who, address, what, detail, outcome, refused, person) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .run(timeMs, who, address, what, detailOf(given), outcome, Number(refused), person);
      this.#db
        .write(
          "DELETE FROM audit WHERE refused = ? AND entry <= (SELECT entry FROM audit WHERE refused = ? ORDER BY entry DESC LIMIT 1 OFFSET ?)",
        )
        .run(Number(refused), Number(refused), refused ? REFUSALS_MAX : CHANGES_MAX);
      tx.onCommit(() => done(Number(lastInsertRowid)));
    });
  }

  /** Ends the counts whose minute is over, and the oldest where one more would be too many. */
  #endRepeated(kind: string, timeMs: number): void {
    for (const [key, one] of this.#repeated) {
      // A clock that was set back starts a new entry, too.
      const isOver = Math.abs(timeMs - one.firstMs) >= REPEAT_MS;
      const isTooMany = this.#repeated.size >= REPEATED_MAX && !this.#repeated.has(kind);
      if (one.entry === null || (!isOver && !isTooMany)) continue;
      this.#ended.add(one);
      this.#repeated.delete(key);
    }
    this.#writeCounts();
  }

  /** What the disk does not take now is tried with the next refusal. */
  #writeCounts(): void {
    for (const one of this.#ended) if (one.times === 1) this.#ended.delete(one);
    if (this.#ended.size === 0 || this.#isCounting) return;
    this.#isCounting = true;
    const counts = [...this.#ended];
    this.#queue
      .soon("count refusals in the audit log", (tx) => {
        for (const { entry, firstMs, times, lastMs } of counts)
          this.#db
            // A store that was recovered meanwhile may have given the number to another entry.
            .write("UPDATE audit SET times = ?, last_ms = ? WHERE entry = ? AND time_ms = ?")
            .run(times, lastMs, entry, firstMs);
        tx.onCommit(() => {
          for (const one of counts) this.#ended.delete(one);
        });
      })
      .catch(() => {})
      .finally(() => {
        this.#isCounting = false;
      });
  }

  newest(limit: number, before: number | null): StoredAuditEntry[] {
    const counted = new Map(
      [...this.#ended, ...this.#repeated.values()].map((one) => [one.entry, one]),
    );
    return this.#db
      .read<StoredAuditEntry>(NEWEST_SQL)
      .all(before ?? Number.MAX_SAFE_INTEGER, limit)
      .map((stored) => {
        const now = counted.get(stored.entry);
        return now === undefined ? stored : { ...stored, times: now.times, lastTimeMs: now.lastMs };
      });
  }

  /** Writes the counts that wait for the end of their minute; a disk that accepts no more keeps them from the entries. */
  close(): void {
    for (const one of this.#repeated.values()) if (one.entry !== null) this.#ended.add(one);
    this.#repeated.clear();
    this.#isCounting = false;
    this.#writeCounts();
  }
}

const detailOf = ({ detail }: AuditEntry) => detail.slice(0, DETAIL_LENGTH_MAX);
