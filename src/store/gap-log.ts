import type { Gap, GapLog, Logger } from "../core/ports.ts";
import type { Database } from "./database.ts";
import { StoreFailure } from "./store-failure.ts";
import type { Streams } from "./streams.ts";
import type { WriteQueue } from "./write-queue.ts";

interface GapLogParts {
  readonly db: Database;
  readonly streams: Streams;
  readonly queue: WriteQueue;
  readonly logger: Logger;
}

/**
 * Readings that were given up, until that is told on agent/gap. Who tells them is not to fail with the disk: while it
 * cannot be read no gap is known, and a gap that cannot be settled is told again.
 */
export class SqliteGapLog implements GapLog {
  readonly #parts: GapLogParts;
  /** The gap that still grows, by stream and reason. Once handed out it is left as it was told. */
  readonly #growing = new Map<string, number>();

  constructor(parts: GapLogParts) {
    this.#parts = parts;
  }

  pendingGaps(max: number): Gap[] {
    this.#growing.clear();
    return this.#try([], () => this.#parts.queue.read("read gap records", () => this.#read(max)));
  }

  #read(max: number): Gap[] {
    const { db, streams } = this.#parts;
    return db
      .read("SELECT gap, stream, from_ms, to_ms, count, reason FROM gaps ORDER BY gap LIMIT ?")
      .all(max)
      .map((row) => {
        const { sensor, kind } = streams.get(row[1] as number);
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
    const { db, queue } = this.#parts;
    this.#try(undefined, () =>
      queue.direct("settle gap records", () => {
        for (const gapId of gapIds) db.write("DELETE FROM gaps WHERE gap = ?").run(gapId);
      }),
    );
  }

  #try<T>(otherwise: T, act: () => T): T {
    try {
      return act();
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      this.#parts.logger.warn({ err: error }, "gap records wait for the disk");
      return otherwise;
    }
  }

  /** Adds one given-up reading, inside the transaction that drops it. Neighbours share a record. */
  add(stream: number, timeMs: number, reason: string): void {
    const { db } = this.#parts;
    const key = `${stream}/${reason}`;
    const growing = this.#growing.get(key);
    if (growing !== undefined) {
      const { changes } = db
        .write(
          "UPDATE gaps SET from_ms = min(from_ms, ?), to_ms = max(to_ms, ?), count = count + 1 WHERE gap = ?",
        )
        .run(timeMs, timeMs, growing);
      if (changes > 0) return;
    }
    const { lastInsertRowid } = db
      .write("INSERT INTO gaps (stream, from_ms, to_ms, count, reason) VALUES (?, ?, ?, 1, ?)")
      .run(stream, timeMs, timeMs, reason);
    this.#growing.set(key, Number(lastInsertRowid));
  }

  /** The next given-up reading begins a new record. */
  endEpisode(): void {
    this.#growing.clear();
  }
}
