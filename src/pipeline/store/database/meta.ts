import type { Database } from "./database.ts";
import type { WriteQueue } from "./write-queue.ts";

/** Small values that must survive the process: Sparkplug's bdSeq, horizons, counters. */
export class Meta {
  readonly #db: Database;
  readonly #queue: WriteQueue;
  /** What waits to be written: it is what stands. */
  readonly #waiting = new Map<string, { readonly value: string; readonly change: number }>();
  /** Number of the last change; and of the last one of a name that was written at once. */
  #change = 0;
  readonly #securedAt = new Map<string, number>();

  constructor(db: Database, queue: WriteQueue) {
    this.#db = db;
    this.#queue = queue;
  }

  get(name: string): string | null {
    const waiting = this.#waiting.get(name);
    if (waiting !== undefined) return waiting.value;
    const row = this.#db
      .write<{ value: string }>("SELECT value FROM meta WHERE name = ?")
      .get(name);
    return row?.value ?? null;
  }

  /** Those that begin with `folder/`. */
  names(folder: string): string[] {
    const stored = this.#db
      .write<{ name: string }>("SELECT name FROM meta WHERE name > ? || '/' AND name < ? || '0'")
      .all(folder, folder)
      .map(({ name }) => name);
    const waiting = [...this.#waiting.keys()].filter((name) => name.startsWith(`${folder}/`));
    return [...new Set([...stored, ...waiting])];
  }

  /**
   * Stands at once; durable when it returns or, while a long job is written, which keeps its pauses, after that. Throws
   * StoreFailure.
   */
  set(name: string, value: string): void {
    this.setAll([[name, value]]);
  }

  /** The same of many, together. */
  setAll(values: readonly (readonly [name: string, value: string])[]): void {
    const mustWait = this.#queue.isWriting || values.some(([name]) => this.#waiting.has(name));
    if (!mustWait) return this.#secure(values);
    // One that fails then is in the state of the store; what is read back is the former value.
    for (const [name, value] of values) this.keep(name, value).catch(() => {});
  }

  /** Durable when it returns: a job that is being written ends in this turn. Throws StoreFailure. */
  secure(name: string, value: string): void {
    this.#secure([[name, value]]);
  }

  #secure(values: readonly (readonly [name: string, value: string])[]): void {
    if (values.length === 0) return;
    const [[first] = [""]] = values;
    this.#queue.direct(`store ${first}`, () => {
      for (const [name, value] of values) this.put(name, value);
    });
    this.#change += 1;
    for (const [name] of values) {
      this.#securedAt.set(name, this.#change);
      this.#waiting.delete(name);
    }
  }

  /** `set`, once a lock of another program is free. Rejects with a StoreFailure. */
  keep(name: string, value: string): Promise<void> {
    const change = (this.#change += 1);
    this.#waiting.set(name, { value, change });
    return this.#queue
      .soon(`store ${name}`, () => {
        // What was secured while this waited is newer.
        if (change > (this.#securedAt.get(name) ?? 0)) this.put(name, value);
      })
      .finally(() => {
        if (this.#waiting.get(name)?.change === change) this.#waiting.delete(name);
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
