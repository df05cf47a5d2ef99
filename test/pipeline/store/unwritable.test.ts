/** A store that could not be written for a while is written again by itself. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setImmediate as immediate } from "node:timers/promises";
import { Watchdog } from "../../../src/lib/watchdog.ts";
import { StoreFailure } from "../../../src/pipeline/store/database/store-failure.ts";
import { oneStep } from "../../../src/pipeline/store/database/write-job.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import {
  append,
  ON_DISK,
  readingOf,
  START_MS,
  tempDirectory,
  tempStore,
} from "../../support/temp-database.ts";
import { openQueue } from "../../support/write-queue.ts";

/** Nobody may write the file from now on; false where this is not permitted. */
function freeze(t: TestContext, path: string): boolean {
  const isDone = spawnSync("chattr", ["+i", path]).status === 0;
  if (isDone) t.after(() => void spawnSync("chattr", ["-i", path]));
  return isDone;
}
const thaw = (path: string) => assert.equal(spawnSync("chattr", ["-i", path]).status, 0);

test("a store that was made read-only under the agent is written again by itself; meanwhile /healthz fails, and a line a minute is logged", async (t) => {
  const dataDir = tempDirectory(t, ON_DISK);
  const clock = new ManualClock(START_MS);
  const logger = new RecordingLogger();
  const store = tempStore(t, { dataDir, clock, logger });
  const watchdog = new Watchdog({ clock, store, notifier: null });
  const isWell = () => watchdog.health().every((part) => part.isWell);
  await append(store, [readingOf("1", START_MS)]);
  assert.equal(isWell(), true);
  const path = join(dataDir, "gateside.db");
  const log = `${path}-wal`;
  if (!freeze(t, path) || !freeze(t, log)) return t.skip("needs the right to use chattr +i");
  const later = [readingOf("1", START_MS + 1000)];
  const stop = new AbortController();
  const ended = store.runRetention(stop.signal);
  void watchdog.run(stop.signal);
  for (let n = 0; n < 4; n++) {
    await assert.rejects(append(store, later), (error) => error instanceof StoreFailure);
    await clock.advance(10_000);
  }
  assert.equal(store.state().isWritable, false);
  assert.equal(logger.lines.filter(({ message }) => message === "retention failed").length, 1);
  assert.equal(isWell(), false);
  assert.match(watchdog.health()[1]?.detail ?? "", /cannot be written/);
  thaw(path);
  thaw(log);
  // Nobody else writes: the store finds out by itself.
  for (let n = 0; n < 5 && !store.state().isWritable; n++) {
    await clock.advance(10_000);
    // A pass takes a few turns of the loop.
    for (let turn = 0; turn < 100; turn++) await immediate();
  }
  assert.equal(store.state().isWritable, true);
  assert.equal(isWell(), true);
  assert.equal(await append(store, later), 1);
  stop.abort();
  await ended;
  assert.equal(store.state().readings, 2);
});

test("a transaction that writes nothing succeeds on a store that cannot be written, ends no process, and does not make it well", async (t) => {
  const { db, queue } = openQueue(t, { dataDir: tempDirectory(t, ON_DISK) });
  const write = () =>
    queue.enqueue(
      oneStep("note", 1, () =>
        db.writer.exec("INSERT OR REPLACE INTO meta VALUES ('x', random())"),
      ),
      0,
    );
  const look = () =>
    queue.enqueue(
      oneStep("look", 0, () => 7),
      0,
    );
  await write();
  const log = `${db.path}-wal`;
  if (!freeze(t, db.path) || !freeze(t, log)) return t.skip("needs the right to use chattr +i");
  await assert.rejects(write(), StoreFailure);
  assert.equal(await look(), 7);
  assert.notEqual(queue.failure, null);
  thaw(db.path);
  thaw(log);
});
