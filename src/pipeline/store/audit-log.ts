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
  readonly entry: number;
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

  constructor(db: Database, queue: WriteQueue) {
    this.#db = db;
    this.#queue = queue;
  }

  async add(given: AuditEntry): Promise<void> {
    const { timeMs, who, address, what, outcome, person = null } = given;
    const detail = given.detail.slice(0, DETAIL_LENGTH_MAX);
    const refused = isRefused(outcome);
    const kind = JSON.stringify([who, person, address, what, detail, outcome]);
    const counting = refused ? this.#endRepeated(kind, timeMs) : null;
    if (refused && this.#repeats(kind, timeMs)) return void (await counting);
    await this.#queue.soon("write an entry of the audit log", (tx) => {
      const { lastInsertRowid } = this.#db
        .write(
          "INSERT INTO audit (time_ms, who, address, what, detail, outcome, refused, person) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .run(timeMs, who, address, what, detail, outcome, Number(refused), person);
      this.#db
        .write(
          "DELETE FROM audit WHERE refused = ? AND entry <= (SELECT entry FROM audit WHERE refused = ? ORDER BY entry DESC LIMIT 1 OFFSET ?)",
        )
        .run(Number(refused), Number(refused), refused ? REFUSALS_MAX : CHANGES_MAX);
      if (!refused) return;
      const entry = Number(lastInsertRowid);
      const first = { entry, firstMs: timeMs, times: 1, lastMs: timeMs };
      tx.onCommit(() => this.#repeated.set(kind, first));
    });
    await counting;
  }

  /** Writes the counts of those whose minute is over, and of the oldest where one more would be too many. */
  async #endRepeated(kind: string, timeMs: number): Promise<void> {
    const ended: Repeated[] = [];
    for (const [key, one] of this.#repeated) {
      // A clock that was set back starts a new entry, too.
      const isOver = Math.abs(timeMs - one.firstMs) >= REPEAT_MS;
      const isTooMany = this.#repeated.size >= REPEATED_MAX && !this.#repeated.has(kind);
      if (!isOver && !isTooMany) continue;
      ended.push(one);
      this.#repeated.delete(key);
    }
    await Promise.all(ended.map((one) => this.#write(one)));
  }

  /** True if the refusal was counted with an earlier one. */
  #repeats(kind: string, timeMs: number): boolean {
    const known = this.#repeated.get(kind);
    if (known === undefined) return false;
    known.times += 1;
    known.lastMs = timeMs;
    return true;
  }

  async #write({ entry, firstMs, times, lastMs }: Repeated): Promise<void> {
    if (times === 1) return;
    await this.#queue.soon("count a refusal in the audit log", () =>
      this.#db
        // A store that was recovered meanwhile may have given the number to another entry.
        .write("UPDATE audit SET times = ?, last_ms = ? WHERE entry = ? AND time_ms = ?")
        .run(times, lastMs, entry, firstMs),
    );
  }

  newest(limit: number, before: number | null): StoredAuditEntry[] {
    const counted = new Map([...this.#repeated.values()].map((one) => [one.entry, one]));
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
    for (const one of this.#repeated.values()) this.#write(one).catch(() => {});
    this.#repeated.clear();
  }
}
