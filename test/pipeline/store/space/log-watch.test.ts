import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { StoreFailure } from "../../../../src/pipeline/store/database/store-failure.ts";
import type { Store } from "../../../../src/pipeline/store/store.ts";
import { deadlineMs } from "../../../support/deadline.ts";
import { holdStore } from "../../../support/hold.ts";
import {
  append,
  readingOf,
  START_MS,
  tempDirectory,
  tempStore,
} from "../../../support/temp-database.ts";
import { waitUntil } from "../../../support/wait-until.ts";

const MIB = 1 << 20;

/** With its loops. */
function runningStore(t: TestContext, dataDir: string): Store {
  const store = tempStore(t, { dataDir, bufferMaxMb: 16 });
  const stop = new AbortController();
  const run = store.runRetention(stop.signal);
  t.after(async () => {
    stop.abort();
    await run;
  });
  return store;
}

/** Responses of a hundred large readings, as long as the store takes them. */
function filler(store: Store) {
  let from = 0;
  return async () => {
    const readings = Array.from({ length: 100 }, (_, n) =>
      readingOf("1", START_MS + (from + n) * 1000, { padding: 1000 }),
    );
    await append(store, readings);
    from += 100;
    return from;
  };
}
const logBytes = (dataDir: string) => statSync(join(dataDir, "gateside.db-wal")).size;

test("log watch – a reader that holds the store open is told with its pid; little is written from half of the log's limit on, nothing at it, and all once it has gone", async (t) => {
  const dataDir = tempDirectory(t);
  const store = runningStore(t, dataDir);
  const fill = filler(store);
  await fill();
  const holder = await holdStore(t, dataDir, "reader");
  const startedAt = Date.now();
  await fill();
  await waitUntil("the reader is told", () => store.watch.hold !== null, 15_000);
  const { alarm, held, isWritable } = store.state();
  assert.deepEqual({ by: held?.by, pids: held?.pids }, { by: "reader", pids: [holder.pid] });
  assert.match(
    alarm ?? "",
    new RegExp(`^another program holds the store open \\(pid ${holder.pid}\\), since 20.*Z$`),
  );
  assert.ok(Math.abs((held?.sinceMs ?? 0) - startedAt) < deadlineMs(5_000));
  assert.equal(isWritable, true);

  while (!store.watch.isSparing) await fill();
  assert.ok(logBytes(dataDir) >= 2 * MIB && logBytes(dataDir) < 4 * MIB, `${logBytes(dataDir)}`);
  assert.equal(store.state().isWritable, true);
  assert.match(store.state().alarm ?? "", /: reading pauses until it ends$/);

  await assert.rejects(
    async () => {
      for (;;) await fill();
    },
    (error) => error instanceof StoreFailure && error.code === "held" && error.isRetryable,
  );
  assert.ok(logBytes(dataDir) < 5.5 * MIB, `${logBytes(dataDir)}`);
  assert.equal(store.state().isWritable, false);
  assert.match(store.state().alarm ?? "", /: nothing is written until it ends$/);
  assert.equal(store.writeFailure, null);
  assert.throws(() => store.meta.set("a", "b"), { code: "held" });
  // What is stored goes on being sent; its acknowledgements wait.
  const depth = store.outbox.depth("json").readings;
  for (let sent = 0; sent < 1500; ) {
    const entries = store.outbox.lease("json", "backlog", 100);
    assert.notEqual(entries.length, 0, `after ${sent}`);
    sent += entries.length;
    void store.outbox.settle(
      "json",
      entries.map((entry) => ({ entry, outcome: "sent" as const })),
    );
  }
  assert.ok(store.outbox.depth("json").readings <= depth - 1500);
  assert.deepEqual(store.state().dropped, {});

  await holder.release();
  await waitUntil("it is written again", () => store.state().isWritable, 20_000);
  assert.equal(store.state().held, undefined);
  assert.equal(store.state().alarm, null);
  await fill();
  await store.outbox.flush();
  assert.ok(logBytes(dataDir) <= MIB, `${logBytes(dataDir)}`);
});

test("log watch – writes of others are waited for on a timer; one that holds its lock for ten seconds is told", async (t) => {
  const dataDir = tempDirectory(t);
  const store = runningStore(t, dataDir);
  const fill = filler(store);
  await fill();
  const short = await holdStore(t, dataDir, "writer");
  let longest = 0;
  let last = performance.now();
  const beat = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 5);
  t.after(() => clearInterval(beat));
  let isStored = false;
  const storing = fill().then(() => {
    isStored = true;
  });
  await pause(300);
  assert.equal(isStored, false);
  assert.equal(store.state().isWritable, true);
  await short.release();
  await storing;

  const holder = await holdStore(t, dataDir, "writer");
  last = performance.now();
  await assert.rejects(fill(), { code: "held" });
  await waitUntil("the writer is told", () => store.watch.hold !== null, 15_000);
  assert.deepEqual(store.state().held?.pids, [holder.pid]);
  assert.equal(store.state().held?.by, "writer");
  assert.match(store.state().alarm ?? "", /: nothing is written until it ends$/);
  assert.ok(longest < deadlineMs(1_000), `${longest} ms`);
  await holder.release();
  await waitUntil("it is written again", () => store.state().isWritable, 20_000);
  await fill();
  assert.equal(store.state().alarm, null);
});
