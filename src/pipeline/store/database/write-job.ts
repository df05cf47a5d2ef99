import type { Tx } from "../../../core/tx.ts";
import type { StoreFailure } from "./store-failure.ts";

/** Work for the write queue: all of it is in one transaction. */
export interface WriteJob<T = void> {
  readonly what: string;
  /** Approximate number of rows it writes: many at once do not wait. */
  readonly rows: number;
  /**
   * True: with few rows waiting it is written when its window has ended, and at least `paceMs` after the previous commit.
   */
  readonly canWait?: boolean;
  /** It waits no longer than this for the commit that it shares, ms. */
  readonly waitMaxMs?: number;
  /** Time of the oldest reading it contains, ms; null if it contains none. */
  readonly oldestMs?: number | null;
  /** Writes; each `yield` is a possible pause. Runs again, from the beginning, after a transaction that failed. */
  run(tx: Tx): Generator<void, T, void>;
}

/** With the answer that somebody waits for. */
export interface QueuedJob {
  readonly job: WriteJob<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (failure: StoreFailure) => void;
}

/** A job that is one piece of work. */
export function oneStep<T>(what: string, rows: number, work: (tx: Tx) => T): WriteJob<T> {
  return {
    what,
    rows,
    *run(tx) {
      const result = work(tx);
      yield;
      return result;
    },
  };
}
