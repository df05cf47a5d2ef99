import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
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

test("write queue – an error after a commit ends the process; it reaches nobody who waits for another write", (t) => {
  const script = `
    const { Database } = await import("./src/store/database/database.ts");
    const { WriteQueue } = await import("./src/store/database/write-queue.ts");
    const { systemClock } = await import("./src/lib/clock.ts");
    const { silentLogger } = await import("./src/lib/logger.ts");
    const db = new Database({ dataDir: process.argv[1], checkpointBytes: 2 << 20 });
    db.open();
    const statistics = { commits: 0, bytesWritten: 0, commitSeconds() {} };
    const queue = new WriteQueue({ db, clock: systemClock, logger: silentLogger, statistics, paceMs: 0 });
    queue.connect({ *makeRoom() { return false; }, undone() {}, committed() {}, reopen() {} });
    const job = { what: "one", rows: 1, *run() { yield; }, failed() {},
      committed() { throw new Error("memory does not match"); } };
    queue.enqueue(job, 1000);
    const flushing = queue.flush();
    await new Promise((resolve) => setImmediate(resolve));
    console.log("direct", queue.direct("another", () => "is written"));
    setTimeout(() => { console.log("the process runs on"); process.exit(0); }, 2000);
    await flushing;`;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--import", "tsx", "--input-type=module", "-e", script, tempDirectory(t)],
    { encoding: "utf8" },
  );
  assert.notEqual(status, 0, stdout);
  assert.match(stderr, /memory does not match/);
  assert.doesNotMatch(stdout, /runs on/);
  assert.doesNotMatch(stderr, /could not another/);
});
