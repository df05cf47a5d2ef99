import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import Sqlite from "better-sqlite3";
import type { Tx } from "../../../../src/core/tx.ts";
import type { WriteJob } from "../../../../src/pipeline/store/database/write-job.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
import { tempDirectory } from "../../../support/temp-database.ts";
import { openQueue } from "../../../support/write-queue.ts";

const PACE_MS = 4000;
const WINDOW_MS = 200;

function open(t: TestContext) {
  const clock = new ManualClock();
  const { queue, statistics } = openQueue(t, { clock, paceMs: PACE_MS });
  const written: string[] = [];
  const enqueue = (what: string, rows: number, canWait: boolean, waitMaxMs = Infinity) => {
    const job: WriteJob = {
      what,
      rows,
      canWait,
      waitMaxMs,
      run: soon((tx) => tx.onCommit(() => written.push(what))),
    };
    void queue.enqueue(job, WINDOW_MS);
  };
  const after = async (ms: number) => {
    await clock.advance(ms);
    for (let n = 0; n < 4; n++) await turn();
  };
  return { queue, statistics, written, enqueue, after };
}

test("write queue – after a commit, a few jobs that can wait share the next one, one interval later", async (t) => {
  const { statistics, written, enqueue, after } = open(t);
  enqueue("first", 1, true);
  await after(WINDOW_MS);
  assert.deepEqual(written, ["first"], "after a quiet time nothing waits longer than its window");

  await after(1000);
  enqueue("second", 1, true);
  await after(1000);
  enqueue("third", 1, true);
  await after(PACE_MS - 2000 - 1);
  assert.deepEqual(written, ["first"]);
  await after(1);
  assert.deepEqual(written, ["first", "second", "third"]);
  assert.equal(statistics.commits, 2);
});

test("write queue – a job that can wait for a while takes those that wait along when its time is over", async (t) => {
  const { statistics, written, enqueue, after } = open(t);
  enqueue("first", 1, true);
  await after(WINDOW_MS);
  enqueue("patient", 1, true);
  enqueue("soon", 1, true, 900);
  await after(899);
  assert.deepEqual(written, ["first"]);
  await after(1);
  assert.deepEqual(written, ["first", "patient", "soon"]);
  assert.equal(statistics.commits, 2);
});

test("write queue – a job that cannot wait takes the waiting ones with it", async (t) => {
  const { statistics, written, enqueue, after } = open(t);
  enqueue("first", 1, true);
  await after(WINDOW_MS);
  enqueue("patient", 1, true);
  enqueue("urgent", 1, false);
  await after(WINDOW_MS);
  assert.deepEqual(written, ["first", "patient", "urgent"]);
  assert.equal(statistics.commits, 2);
});

test("write queue – many rows do not wait", async (t) => {
  const { written, enqueue, after } = open(t);
  enqueue("first", 1, true);
  await after(WINDOW_MS);
  for (let n = 0; n < 25; n++) enqueue(`${n}`, 2, true);
  await after(WINDOW_MS);
  assert.equal(written.length, 26);
});

test("write queue – what comes while a transaction is written follows it at once only if it cannot wait", async (t) => {
  for (const canWait of [true, false]) {
    const { queue, written, enqueue, after } = open(t);
    const running = queue.enqueue(
      {
        what: "first",
        rows: 1,
        *run() {
          enqueue("second", 1, canWait);
          yield;
        },
      },
      0,
    );
    await running;
    await after(0);
    assert.deepEqual(written, canWait ? [] : ["second"]);
    await after(PACE_MS);
    assert.deepEqual(written, ["second"]);
  }
});

test("write queue – once the agent stops nothing waits for other jobs", async (t) => {
  const { queue, written, enqueue, after } = open(t);
  enqueue("first", 1, true);
  await after(WINDOW_MS);
  enqueue("waiting", 1, true);
  queue.commitAtOnce();
  await after(0);
  assert.deepEqual(written, ["first", "waiting"]);
  enqueue("late", 1, true);
  await after(WINDOW_MS);
  assert.deepEqual(written, ["first", "waiting", "late"]);
});

test("write queue – an error after a commit ends the process; it reaches nobody who waits for another write", (t) => {
  const script = `
    const { Database } = await import("./src/pipeline/store/database/database.ts");
    const { WriteQueue } = await import("./src/pipeline/store/database/write-queue.ts");
    const { systemClock } = await import("./src/lib/clock.ts");
    const { silentLogger } = await import("./src/lib/logger.ts");
    const db = new Database({ dataDir: process.argv[1], checkpointBytes: 2 << 20 });
    db.open();
    const queue = new WriteQueue({ db, clock: systemClock, logger: silentLogger, paceMs: 0 });
    queue.connect({ *makeRoom() { return false; }, reopen() {}, quotaRefused() {}, guard: { refusal: () => null, isSparing: false, committed() {} } });
    const job = { what: "one", rows: 1, *run(tx) {
      tx.onCommit(() => { throw new Error("memory does not match"); });
      yield;
    } };
    queue.enqueue(job, 1000).then(() => console.log("the writer runs on"));
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

const INSERT_SQL = "INSERT INTO meta (name, value) VALUES (?, '')";

test("write queue – jobs written together share a Tx; the result of each is its own", async (t) => {
  const { db, queue, statistics } = openQueue(t);
  const owner = {};
  const seen: (readonly string[])[] = [];
  const job = (name: string): WriteJob<string> => ({
    what: name,
    rows: 1,
    *run(tx) {
      const names = tx.draft(owner, () => {
        const made: string[] = [];
        tx.onCommit(() => seen.push(made));
        return made;
      });
      names.push(name);
      db.write(INSERT_SQL).run(name);
      yield;
      return `${name} is stored`;
    },
  });
  const results = await Promise.all(["one", "two"].map((name) => queue.enqueue(job(name), 0)));
  assert.deepEqual(results, ["one is stored", "two is stored"]);
  assert.deepEqual(seen, [["one", "two"]]);
  assert.equal(statistics.commits, 1);
});

test("write queue – a job that fails rolls back its group; then each is tried with its own Tx", async (t) => {
  const { db, queue } = openQueue(t);
  const log: string[] = [];
  const job = (name: string, fails: boolean): WriteJob<void> => ({
    what: name,
    rows: 1,
    *run(tx) {
      db.write(INSERT_SQL).run(name);
      log.push(`change ${name}`);
      tx.onRollback(() => log.push(`undo ${name}`));
      tx.onCommit(() => log.push(`commit ${name}`));
      yield;
      if (fails) throw new Error("a bug");
    },
  });
  const jobs = [job("one", false), job("two", true), job("three", false)];
  const results = await Promise.allSettled(jobs.map((one) => queue.enqueue(one, 0)));
  assert.deepEqual(
    results.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
  assert.deepEqual(log, [
    "change one",
    "change two",
    "undo two",
    "undo one",
    "change one",
    "commit one",
    "change two",
    "undo two",
    "change three",
    "commit three",
  ]);
  const names = db.read("SELECT name FROM meta WHERE value = '' ORDER BY name").all();
  assert.deepEqual(names, [{ name: "one" }, { name: "three" }]);
});

test("write queue – memory is as before when the store is opened again after a failure, or space is freed", async (t) => {
  const log: string[] = [];
  const { db, queue } = openQueue(t, {
    hooks: {
      reopen: () => {
        assert.equal(db.writer.inTransaction, false);
        log.push("reopen");
      },
      *makeRoom() {
        log.push("make room");
        yield;
        return true;
      },
    },
  });
  const codes = ["SQLITE_IOERR_WRITE", "SQLITE_FULL"];
  const fail = (tx: Tx) => {
    const code = codes.shift();
    if (code === undefined) return "written";
    tx.onRollback(() => log.push(`undo ${code}`));
    throw new Sqlite.SqliteError("no", code);
  };
  await assert.rejects(queue.enqueue({ what: "a job", rows: 1, run: soon(fail) }, 0), {
    code: "io",
  });
  assert.equal(await queue.enqueue({ what: "a job", rows: 1, run: soon(fail) }, 0), "written");
  assert.deepEqual(log, ["undo SQLITE_IOERR_WRITE", "reopen", "undo SQLITE_FULL", "make room"]);
});

test("write queue – a disk that fails every write costs a few new connections, not one for each job", async (t) => {
  let reopened = 0;
  const { queue } = openQueue(t, { hooks: { reopen: () => void (reopened += 1) } });
  const jobs = (what: (n: number) => string, fails: (n: number) => boolean) =>
    Array.from({ length: 40 }, (_, n) => ({
      what: what(n),
      rows: 1,
      run: soon(() => {
        if (fails(n)) throw new Sqlite.SqliteError("no", "SQLITE_IOERR_WRITE");
        return n;
      }),
    }));
  const results = async (all: WriteJob<number>[]) => {
    reopened = 0;
    const settled = await Promise.allSettled(all.map((job) => queue.enqueue(job, 0)));
    return settled.filter(({ status }) => status === "fulfilled").length;
  };
  assert.equal(
    await results(
      jobs(
        (n) => `subject ${n % 2}`,
        () => true,
      ),
    ),
    0,
  );
  assert.equal(reopened, 3, "the group, and one job of each subject");
  assert.equal(
    await results(
      jobs(
        (n) => `subject ${n}`,
        () => true,
      ),
    ),
    0,
  );
  assert.equal(reopened, 9, "the group, and eight jobs in a row");
  // A place that cannot be read: it must not fail the neighbours.
  const isBad = (n: number) => n < 6 || n === 20;
  assert.equal(await results(jobs((n) => `subject ${n}`, isBad)), 40 - 7);
});

test("write queue – a direct write that fails is undone, also its second attempt", async (t) => {
  const log: string[] = [];
  const { db, queue } = openQueue(t, {
    hooks: {
      *makeRoom() {
        log.push("make room");
        yield;
        return true;
      },
    },
  });
  const codes = ["SQLITE_FULL", "SQLITE_CONSTRAINT"];
  const write = (tx: Tx) => {
    db.write(INSERT_SQL).run("direct");
    tx.onCommit(() => log.push("commit"));
    const code = codes.shift();
    if (code === undefined) return "written";
    tx.onRollback(() => log.push(`undo ${code}`));
    throw new Sqlite.SqliteError("no", code);
  };
  assert.throws(() => queue.direct("a write", write));
  assert.deepEqual(log, ["undo SQLITE_FULL", "make room", "undo SQLITE_CONSTRAINT"]);
  assert.equal(queue.direct("a write", write), "written");
  assert.equal(log.at(-1), "commit");
});

test("write queue – a transaction begins with what the one before changed in memory, whoever waits for that", async (t) => {
  const { queue } = openQueue(t);
  const log: string[] = [];
  const job: WriteJob = {
    what: "a job",
    rows: 1,
    *run(tx) {
      tx.onCommit(() => log.push("job"));
      for (const startedAt = performance.now(); performance.now() - startedAt < 20; );
      log.push("job pauses");
      yield;
    },
  };
  const waiting = queue.enqueue(job, 0).then(() => log.push("awaited job"));
  await turn();
  queue.direct("a write", (tx) => {
    log.push("write begins");
    tx.onCommit(() => log.push("write"));
  });
  await waiting;
  assert.deepEqual(log, ["job pauses", "job", "write begins", "write", "awaited job"]);
});

test("write queue – a closed store rejects jobs and writes", async (t) => {
  const { queue } = openQueue(t);
  const waiting = queue.enqueue({ what: "waits", rows: 1, run: soon(() => "written") }, 60_000);
  queue.close();
  assert.equal(await waiting, "written");
  await assert.rejects(queue.enqueue({ what: "late", rows: 1, run: soon(() => 0) }, 0), {
    code: "closed",
  });
  assert.throws(() => queue.direct("late", () => 0), { code: "closed" });
});

/** A job that pauses once. */
function soon<T>(work: (tx: Tx) => T): WriteJob<T>["run"] {
  return function* (tx) {
    const result = work(tx);
    yield;
    return result;
  };
}
