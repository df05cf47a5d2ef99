/** Writes while another program has the lock for a moment, and a stop while it has it for long. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as pause, setImmediate as turn } from "node:timers/promises";
import { Meta } from "../../../src/pipeline/store/database/meta.ts";
import { holdStore } from "../../support/hold.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import {
  append,
  readingOf,
  START_MS,
  tempDirectory,
  tempStore,
} from "../../support/temp-database.ts";
import { openQueue } from "../../support/write-queue.ts";

const ENTRY = { timeMs: START_MS, who: "loopback", address: "", what: "reload", detail: "" };

test("busy store – entries of the audit log, sessions, outcomes of commands and small values wait for the lock, in order", async (t) => {
  const dataDir = tempDirectory(t);
  const store = tempStore(t, { dataDir });
  const entry = {
    receivedAtMs: START_MS,
    key: "a",
    sensor: "1",
    source: "mqtt",
    payload: "{}",
  } as const;
  const command = store.commands.begin(entry);
  const holder = await holdStore(t, dataDir, "writer");
  assert.throws(() => store.meta.set("a", "b"), { code: "held" });
  const session = { name: "wall", token: 1, lastUsedMs: START_MS };
  const result = { outcome: "queued", statusNumber: 0, description: "" } as const;
  const writes = Promise.all([
    store.audit.add({ ...ENTRY, outcome: "applied" }),
    store.audit.add({ ...ENTRY, outcome: "403" }),
    store.commands.finish(command, result, START_MS + 1),
    store.meta.keep("a", "c"),
    store.sessions.put(session),
    store.sessions.put({ ...session, name: "desk" }),
  ]);
  await pause(50);
  await holder.release();
  // The lock is free, and those before it are not written yet.
  await store.sessions.remove(["wall"]);
  await writes;
  assert.deepEqual(
    store.audit.newest(10, null).map(({ outcome }) => outcome),
    ["403", "applied"],
  );
  assert.equal(store.commands.findByKey("a", 0)?.outcome, "queued");
  assert.equal(store.meta.get("a"), "c");
  assert.deepEqual(
    store.sessions.all().map(({ name }) => name),
    ["desk"],
  );
});

test("busy store – a small value that waits for the lock is what stands", async (t) => {
  const dataDir = tempDirectory(t);
  const store = tempStore(t, { dataDir });
  await store.meta.keep("places", "one");
  const holder = await holdStore(t, dataDir, "writer");
  const kept = [store.meta.keep("places", "two")];
  // As who compares before he writes does: to go back must be seen as a change.
  assert.equal(store.meta.get("places"), "two");
  kept.push(store.meta.keep("places", "one"));
  assert.equal(store.meta.get("places"), "one");
  await holder.release();
  await Promise.all(kept);
  assert.equal(store.meta.get("places"), "one");
});

test("busy store – a stop while another program has the lock tells in one line how many deliveries are not recorded", async (t) => {
  const dataDir = tempDirectory(t);
  const logger = new RecordingLogger();
  const store = tempStore(t, { dataDir, logger });
  await append(
    store,
    [1, 2, 3].map((n) => readingOf("1", START_MS + n)),
  );
  await holdStore(t, dataDir, "writer");
  const entries = [
    ...store.outbox.lease("json", "live", 1),
    ...store.outbox.lease("json", "backlog", 9),
  ];
  assert.equal(entries.length, 3);
  const settled = entries.map((entry) => {
    const done = store.outbox.settle("json", [{ entry, outcome: "sent" }]);
    void store.outbox.flush();
    return done.then(
      () => "written",
      ({ code }) => code,
    );
  });
  await pause(50);
  await store.close();
  assert.deepEqual(await Promise.all(settled), ["closed", "closed", "closed"]);
  const told = logger.lines.filter(({ message }) =>
    /could not be recorded before the stop/.test(message),
  );
  assert.equal(told.length, 1);
  assert.match(logger.text, /"deliveries":3/);
});

/** A queue with a job of many steps that has begun; `stepsDone` says how many it has done. */
async function withLongJob(t: TestContext) {
  const { db, queue } = openQueue(t);
  const written: string[] = [];
  let steps = 0;
  const job = queue.enqueue(
    {
      what: "a job",
      rows: 300,
      *run(tx) {
        tx.onCommit(() => written.push("job"));
        for (steps = 0; steps < 300; steps += 1) {
          // Longer than what is done in one turn.
          for (const until = performance.now() + 0.2; performance.now() < until; );
          yield;
        }
      },
    },
    0,
  );
  while (steps === 0) await turn();
  return { meta: new Meta(db, queue), queue, written, job, stepsDone: () => steps };
}

test("busy store – a small write waits for a job of many steps, which keeps its pauses", async (t) => {
  const { meta, queue, written, job, stepsDone } = await withLongJob(t);
  const before = stepsDone();
  const small = queue.soon("a write", (tx) => tx.onCommit(() => written.push("small")));
  meta.set("marks/1", "one");
  meta.set("marks/1", "two");
  assert.ok(stepsDone() === before && before < 300, `${before} steps, then ${stepsDone()}`);
  assert.deepEqual(meta.names("marks"), ["marks/1"]);
  assert.equal(meta.get("marks/1"), "two");
  await Promise.all([job, small]);
  assert.deepEqual(written, ["job", "small"]);
  assert.equal(meta.get("marks/1"), "two");
});

test("busy store – a small value that must be on disk at once stands over what still waited", async (t) => {
  const { meta, written, job } = await withLongJob(t);
  const older = meta.keep("mark", "one");
  meta.secure("mark", "two");
  assert.deepEqual(written, ["job"]);
  assert.equal(meta.get("mark"), "two");
  await Promise.all([job, older]);
  assert.equal(meta.get("mark"), "two");
});

test("busy store – a small value that waited for the lock does not come back over one that was set since", async (t) => {
  const dataDir = tempDirectory(t);
  const store = tempStore(t, { dataDir });
  const holder = await holdStore(t, dataDir, "writer");
  const older = store.meta.keep("places", "one");
  await holder.release();
  // The lock is free, and the first is not written yet.
  store.meta.set("places", "two");
  assert.equal(store.meta.get("places"), "two");
  await older;
  await store.meta.keep("others", "three");
  assert.equal(store.meta.get("places"), "two");
});
