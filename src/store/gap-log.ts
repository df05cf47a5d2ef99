import type { Gap, GapLog } from "../core/ports.ts";
import type { Database } from "./database.ts";
import type { Streams } from "./streams.ts";
import type { WriteQueue } from "./write-queue.ts";

/** Readings that were given up, until that is told on agent/gap. */
export class SqliteGapLog implements GapLog {
  readonly #db: Database;
  readonly #streams: Streams;
  readonly #queue: WriteQueue;
  /** The gap that still grows, by stream and reason. Once handed out it is left as it was told. */
  readonly #growing = new Map<string, number>();

  constructor(db: Database, streams: Streams, queue: WriteQueue) {
    this.#db = db;
    this.#streams = streams;
    this.#queue = queue;
  }

  pendingGaps(max: number): Gap[] {
    this.#growing.clear();
    return this.#db
      .read("SELECT gap, stream, from_ms, to_ms, count, reason FROM gaps ORDER BY gap LIMIT ?")
      .all(max)
      .map((row) => {
        const { sensor, kind } = this.#streams.get(row[1] as number);
        return {
          gapId: row[0] as number,
          sensor,
          kind,
          fromMs: row[2] as number,
          toMs: row[3] as number,
          count: row[4] as number,
          reason: row[5] as string,
        };
      });
  }

  settleGaps(gapIds: readonly number[]): void {
    if (gapIds.length === 0) return;
    this.#queue.direct("settle gap records", () => {
      for (const gapId of gapIds) this.#db.write("DELETE FROM gaps WHERE gap = ?").run(gapId);
    });
  }

  /** Adds one given-up reading, inside the transaction that drops it. Neighbours share a record. */
  add(stream: number, timeMs: number, reason: string): void {
    const key = `${stream}/${reason}`;
    const growing = this.#growing.get(key);
    if (growing !== undefined) {
      const { changes } = this.#db
        .write(
          "UPDATE gaps SET from_ms = min(from_ms, ?), to_ms = max(to_ms, ?), count = count + 1 WHERE gap = ?",
        )
        .run(timeMs, timeMs, growing);
      if (changes > 0) return;
    }
    const { lastInsertRowid } = this.#db
      .write("INSERT INTO gaps (stream, from_ms, to_ms, count, reason) VALUES (?, ?, ?, 1, ?)")
      .run(stream, timeMs, timeMs, reason);
    this.#growing.set(key, Number(lastInsertRowid));
  }

  /** The next given-up reading begins a new record. */
  endEpisode(): void {
    this.#growing.clear();
  }
}
