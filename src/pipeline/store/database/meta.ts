import type { Database } from "./database.ts";
import type { WriteQueue } from "./write-queue.ts";

/** Small values that must survive the process: Sparkplug's bdSeq, horizons, counters. */
export class Meta {
  readonly #db: Database;
  readonly #queue: WriteQueue;
  /** What `keep` has not written yet: it is what stands. */
  readonly #kept = new Map<string, string>();

  constructor(db: Database, queue: WriteQueue) {
    this.#db = db;
    this.#queue = queue;
  }

  get(name: string): string | null {
    const kept = this.#kept.get(name);
    if (kept !== undefined) return kept;
    const row = this.#db
      .write<{ value: string }>("SELECT value FROM meta WHERE name = ?")
      .get(name);
    return row?.value ?? null;
  }

  /** Those that begin with `folder/`. */
  names(folder: string): string[] {
    return this.#db
      .write<{ name: string }>("SELECT name FROM meta WHERE name > ? || '/' AND name < ? || '0'")
      .all(folder, folder)
      .map(({ name }) => name);
  }

  /** Durable when it returns. Throws StoreFailure. */
  set(name: string, value: string): void {
    this.#queue.direct(`store ${name}`, () => this.put(name, value));
  }

  /** The same once a lock of another program is free. Rejects with a StoreFailure. */
  keep(name: string, value: string): Promise<void> {
    this.#kept.set(name, value);
    return this.#queue
      .soon(`store ${name}`, () => this.put(name, value))
      .finally(() => {
        if (this.#kept.get(name) === value) this.#kept.delete(name);
      });
  }

  /** As part of a running transaction. */
  put(name: string, value: string): void {
    this.#db
      .write(
        "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
      )
      .run(name, value);
  }
}
