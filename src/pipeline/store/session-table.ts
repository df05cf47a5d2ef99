import type { SessionStore, StoredSession } from "../../core/session-store.ts";
import type { Database } from "./database/database.ts";
import type { WriteQueue } from "./database/write-queue.ts";

/** Sessions that outlive the process. */
export class SessionTable implements SessionStore {
  readonly #db: Database;
  readonly #queue: WriteQueue;

  constructor(db: Database, queue: WriteQueue) {
    this.#db = db;
    this.#queue = queue;
  }

  all(): StoredSession[] {
    return this.#db
      .read<StoredSession>(
        "SELECT name, token, last_used_ms AS lastUsedMs FROM sessions ORDER BY last_used_ms",
      )
      .all();
  }

  put({ name, token, lastUsedMs }: StoredSession): void {
    this.#queue.direct("keep a session", () =>
      this.#db
        .write("INSERT OR REPLACE INTO sessions (name, token, last_used_ms) VALUES (?, ?, ?)")
        .run(name, token, lastUsedMs),
    );
  }

  remove(names: readonly string[]): void {
    if (names.length === 0) return;
    this.#queue.direct("end sessions", () => {
      for (const name of names) this.#db.write("DELETE FROM sessions WHERE name = ?").run(name);
    });
  }
}
