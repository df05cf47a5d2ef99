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

  async put({ name, token, lastUsedMs }: StoredSession): Promise<void> {
    await this.#queue.soon("keep a session", () =>
      this.#db
        .write("INSERT OR REPLACE INTO sessions (name, token, last_used_ms) VALUES (?, ?, ?)")
        .run(name, token, lastUsedMs),
    );
  }

  async remove(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    await this.#queue.soon("end sessions", () => {
      for (const name of names) this.#db.write("DELETE FROM sessions WHERE name = ?").run(name);
    });
  }
}
