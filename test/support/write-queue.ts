import type { TestContext } from "node:test";
import type { Clock } from "../../src/core/ports.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { Database } from "../../src/pipeline/store/database/database.ts";
import type { WriteQueueHooks } from "../../src/pipeline/store/database/transactions.ts";
import { WriteQueue } from "../../src/pipeline/store/database/write-queue.ts";
import { tempDirectory } from "./temp-database.ts";

interface QueueOptions {
  /** Of an existing store; by default a new one without tables. */
  readonly dataDir?: string;
  readonly clock?: Clock;
  readonly paceMs?: number;
  readonly hooks?: Partial<WriteQueueHooks>;
}

/** A write queue over its own database. By default no space can be freed. */
export function openQueue(t: TestContext, { dataDir, clock, paceMs, hooks }: QueueOptions = {}) {
  const db = new Database({ dataDir: dataDir ?? tempDirectory(t), checkpointBytes: 2 << 20 });
  db.open();
  t.after(() => db.close());
  const queue = new WriteQueue({
    db,
    clock: clock ?? systemClock,
    logger: silentLogger,
    paceMs: paceMs ?? 0,
  });
  queue.connect({
    *makeRoom() {
      yield;
      return false;
    },
    reopen() {},
    quotaRefused() {},
    guard: { refusal: () => null, isSparing: false, committed() {} },
    ...hooks,
  });
  return { db, queue, statistics: queue.statistics };
}
