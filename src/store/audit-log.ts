import type { AuditEntry, AuditLog, StoredAuditEntry } from "../core/audit.ts";
import type { Database } from "./database/database.ts";
import type { WriteQueue } from "./database/write-queue.ts";

/** Kept; the oldest go. About 2 MB at most. */
const ENTRIES_MAX = 10_000;
const DETAIL_LENGTH_MAX = 500;

const COLUMNS = "entry, time_ms, who, address, what, detail, outcome";

/** Who changed what, for GET /api/v1/audit. */
export class SqliteAuditLog implements AuditLog {
  readonly #db: Database;
  readonly #queue: WriteQueue;

  constructor(db: Database, queue: WriteQueue) {
    this.#db = db;
    this.#queue = queue;
  }

  add({ timeMs, who, address, what, detail, outcome }: AuditEntry): void {
    this.#queue.direct("keep an entry of the audit log", () => {
      const { lastInsertRowid } = this.#db
        .write(
          "INSERT INTO audit (time_ms, who, address, what, detail, outcome) VALUES (?, ?, ?, ?, ?, ?)",
        )
        .run(timeMs, who, address, what, detail.slice(0, DETAIL_LENGTH_MAX), outcome);
      this.#db
        .write("DELETE FROM audit WHERE entry <= ?")
        .run(Number(lastInsertRowid) - ENTRIES_MAX);
    });
  }

  newest(limit: number, before: number | null): StoredAuditEntry[] {
    return this.#db
      .read(`SELECT ${COLUMNS} FROM audit WHERE entry < ? ORDER BY entry DESC LIMIT ?`)
      .all(before ?? Number.MAX_SAFE_INTEGER, limit)
      .map(([entry, timeMs, who, address, what, detail, outcome]) => ({
        entry: Number(entry),
        timeMs: Number(timeMs),
        who: String(who),
        address: String(address),
        what: String(what),
        detail: String(detail),
        outcome: String(outcome),
      }));
  }
}
