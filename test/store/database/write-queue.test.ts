import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { silentLogger } from "../../../src/lib/logger.ts";
import { Database } from "../../../src/store/database/database.ts";
import { type WriteJob, WriteQueue } from "../../../src/store/database/write-queue.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { tempDirectory } from "../../support/temp-database.ts";

const PACE_MS = 4000;
const WINDOW_MS = 200;

function open(t: TestContext) {
  const db = new Database({ dataDir: tempDirectory(t), checkpointBytes: 2 << 20 });
  db.open();
  t.after(() => db.close());
  const clock = new ManualClock();
  const statistics = { commits: 0, bytesWritten: 0, commitSeconds() {} };
  const queue = new WriteQueue({
    db,
    clock,
    logger: silentLogger,
    statistics,
    paceMs: PACE_MS,
  });
  queue.connect({
    *makeRoom() {
      yield;
      return false;
    },
    undone() {},
    committed() {},
    reopen() {},
  });
  const written: string[] = [];
  const job = (what: string, rows: number, canWait: boolean): WriteJob => ({
    what,
    rows,
    canWait,
    *run() {},
    committed: () => written.push(what),
    failed: (failure) => assert.fail(failure.message),
  });
  const after = async (ms: number) => {
    await clock.advance(ms);
    for (let n = 0; n < 4; n++) await turn();
  };
  return { queue, statistics, written, job, after };
}

test("write queue – after a commit, a few jobs that can wait share the next one, one interval later", async (t) => {
  const { queue, statistics, written, job, after } = open(t);
  queue.enqueue(job("first", 1, true), WINDOW_MS);
  await after(WINDOW_MS);
  assert.deepEqual(written, ["first"], "after a quiet time nothing waits longer than its window");

  await after(1000);
  queue.enqueue(job("second", 1, true), WINDOW_MS);
  await after(1000);
  queue.enqueue(job("third", 1, true), WINDOW_MS);
  await after(PACE_MS - 2000 - 1);
  assert.deepEqual(written, ["first"]);
  await after(1);
  assert.deepEqual(written, ["first", "second", "third"]);
  assert.equal(statistics.commits, 2);
});

test("write queue – a job that cannot wait takes the waiting ones with it", async (t) => {
  const { queue, statistics, written, job, after } = open(t);
  queue.enqueue(job("first", 1, true), WINDOW_MS);
  await after(WINDOW_MS);
  queue.enqueue(job("patient", 1, true), WINDOW_MS);
  queue.enqueue(job("urgent", 1, false), WINDOW_MS);
  await after(WINDOW_MS);
  assert.deepEqual(written, ["first", "patient", "urgent"]);
  assert.equal(statistics.commits, 2);
});

test("write queue – many rows do not wait", async (t) => {
  const { queue, written, job, after } = open(t);
  queue.enqueue(job("first", 1, true), WINDOW_MS);
  await after(WINDOW_MS);
  for (let n = 0; n < 25; n++) queue.enqueue(job(`${n}`, 2, true), WINDOW_MS);
  await after(WINDOW_MS);
  assert.equal(written.length, 26);
});

test("write queue – once the agent stops nothing waits for other jobs", async (t) => {
  const { queue, written, job, after } = open(t);
  queue.enqueue(job("first", 1, true), WINDOW_MS);
  await after(WINDOW_MS);
  queue.enqueue(job("waiting", 1, true), WINDOW_MS);
  queue.hurry();
  await after(0);
  assert.deepEqual(written, ["first", "waiting"]);
  queue.enqueue(job("late", 1, true), WINDOW_MS);
  await after(WINDOW_MS);
  assert.deepEqual(written, ["first", "waiting", "late"]);
});
