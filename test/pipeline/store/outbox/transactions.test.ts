/** What publishers see of rows while a transaction runs, and after it was rolled back. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import Sqlite from "better-sqlite3";
import type { OutboxUplink } from "../../../../src/core/delivery/delivery.ts";
import type { Logger } from "../../../../src/core/ports.ts";
import type { Kind } from "../../../../src/core/sensor.ts";
import type { Tx } from "../../../../src/core/tx.ts";
import { silentLogger } from "../../../../src/lib/logger.ts";
import { Meta } from "../../../../src/pipeline/store/database/meta.ts";
import { EVENT_STREAM_KIND, Streams } from "../../../../src/pipeline/store/database/streams.ts";
import { Lanes } from "../../../../src/pipeline/store/outbox/lanes.ts";
import { SqliteOutbox } from "../../../../src/pipeline/store/outbox/outbox.ts";
import { Pending } from "../../../../src/pipeline/store/outbox/pending.ts";
import { StartProof } from "../../../../src/pipeline/store/outbox/start-proof.ts";
import { type PendingRow } from "../../../../src/pipeline/store/outbox/thinned-rows.ts";
import { Thinning } from "../../../../src/pipeline/store/outbox/thinning.ts";
import { hourOf } from "../../../../src/pipeline/store/readings/stored-reading.ts";
import { deadlineMs } from "../../../support/deadline.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
import { RecordingLogger } from "../../../support/recording-logger.ts";
import { mainOf, START_MS, timesOf, uplinkOf } from "../../../support/temp-database.ts";
import { openQueue } from "../../../support/write-queue.ts";

const MINUTE_MS = 60_000;
const SETTLE_MS = 50;
/** Longest wait before outcomes are tried to be stored again. */
const RETRY_MS = 30_000;
const READING_SQL = `INSERT INTO readings (stream, time_ms, id, is_future, stored_at_ms, unit_set, "values", quality,
  attributes, raw) VALUES (?, ?, ?, 0, 0, 1, '{"rpm":1}', '{}', '{}', '{}')`;

function open(
  t: TestContext,
  uplinks: readonly OutboxUplink[] = mainOf("json"),
  logger: Logger = silentLogger,
) {
  const clock = new ManualClock(START_MS);
  const { db, queue } = openQueue(t, { clock });
  const streams = new Streams(db);
  const stream = streams.intern("1", "rpm");
  queue.direct("streams", () => {
    streams.write(stream);
    streams.writeUnits(streams.internUnits("{}"));
  });
  const meta = new Meta(db, queue);
  const parts = { db, streams, queue, clock, age: { now: () => null }, logger };
  const lanes = new Lanes(parts, uplinks);
  const thinning = new Thinning({ db, meta, streams });
  const pending = new Pending({ ...parts, lanes, thinning, onNotSelected() {} });
  const outbox = new SqliteOutbox({
    ...parts,
    lanes,
    pending,
    settleWindowMs: SETTLE_MS,
    isSparing: () => false,
    proof: new StartProof(clock, streams, 0),
    gaps: { add: () => assert.fail("nothing is given up") },
    counts: {
      add: () => assert.fail("nothing is given up"),
      note: () => assert.fail("a row without its reading"),
    },
  });
  lanes.load();
  /** A reading of this minute, with its rows. */
  const insert = (tx: Tx, minute: number): PendingRow => {
    const timeMs = START_MS + minute * MINUTE_MS;
    const id = Buffer.alloc(16, minute);
    const { lastInsertRowid } = db.write(READING_SQL).run(stream.stream, timeMs, id);
    const row: PendingRow = {
      stream: stream.stream,
      hour: hourOf(timeMs),
      timeMs,
      seq: Number(lastInsertRowid),
      isFuture: false,
      content: { stream, values: '{"rpm":1}', quality: "{}", recordingReason: undefined },
    };
    pending.insert(tx, row);
    return row;
  };
  const store = (...minutes: number[]) =>
    queue.direct("store", (tx) => minutes.map((minute) => insert(tx, minute)));
  const minutesOf = (entries: Parameters<typeof timesOf>[0]) =>
    timesOf(entries).map((timeMs) => (timeMs - START_MS) / MINUTE_MS);
  const main = outbox.of("main");
  const backlog = (lane: "json" | "plain" = "json") => minutesOf(main.lease(lane, "backlog", 10));
  const live = (lane: "json" | "plain" = "json") => minutesOf(main.lease(lane, "live", 10));
  /** Writes in a transaction that fails at its end. */
  const fail = (write: (tx: Tx) => void) => {
    const failing = (tx: Tx) => {
      write(tx);
      throw new Sqlite.SqliteError("no", "SQLITE_CONSTRAINT");
    };
    assert.throws(() => queue.direct("fails", failing));
  };
  /** Time passes, and what became due is written. */
  const pass = async (ms: number) => {
    await clock.advance(ms);
    for (let n = 0; n < 4; n++) await turn();
  };
  return {
    db,
    queue,
    pass,
    lanes,
    pending,
    outbox,
    main,
    insert,
    store,
    backlog,
    live,
    fail,
    minutesOf,
  };
}

/** Whether whoever waits for something to send is woken. */
async function isWoken(waiting: Promise<void>): Promise<boolean> {
  return Promise.race([waiting.then(() => true), turn().then(() => false)]);
}

test("outbox – a row that is being dropped is handed out to nobody; if it stays after all, it is read once more", async (t) => {
  const { pending, main, store, backlog, live, fail } = open(t);
  const [first] = store(1, 2, 3);
  assert.ok(first);
  assert.deepEqual(live(), [3]);
  const waiting = () => main.changed("json", AbortSignal.timeout(deadlineMs(10_000)));
  let woken: Promise<void> | null = null;
  fail((tx) => {
    assert.deepEqual(
      pending.drop(tx, first).map(({ name }) => name),
      ["json"],
    );
    // A publisher reads past it while the transaction runs, and then has nothing more to do.
    assert.deepEqual(backlog(), [2]);
    assert.deepEqual(backlog(), []);
    woken = waiting();
  });
  assert.ok(woken);
  assert.equal(await isWoken(woken), true);
  assert.deepEqual(backlog(), [1]);
  assert.equal(main.depth("json").readings, 3);
});

test("outbox – a row that was dropped is no longer pending, and nothing older goes live after it", async (t) => {
  const { db, lanes, pending, main, queue, store, live } = open(t);
  const [oldest, other, newest] = store(1, 3, 2).sort((a, b) => a.timeMs - b.timeMs);
  assert.ok(oldest && other && newest);
  const marks = () => db.read("SELECT time_ms AS timeMs FROM live_marks").all();
  queue.direct("drop", (tx) => pending.drop(tx, other));
  assert.deepEqual(marks(), [], "the newest is still to come");
  const isTaken = () => lanes.all.map((lane) => lane.isTaken(newest.seq));
  queue.direct("drop", (tx) => {
    pending.drop(tx, newest);
    assert.deepEqual(isTaken(), [true]);
    assert.deepEqual(pending.drop(tx, newest), [], "it is gone already");
  });
  assert.deepEqual(marks(), [{ timeMs: newest.timeMs }]);
  assert.deepEqual(isTaken(), [false], "memory would grow with each that is dropped");
  assert.deepEqual(main.depth("json"), { readings: 1, oldestTimeMs: START_MS + MINUTE_MS });
  assert.deepEqual(live(), []);
  assert.equal(main.liveMark("json", "1", "rpm"), newest.timeMs);
  const [entry] = main.lease("json", "backlog", 10);
  assert.equal(entry?.reading.timeMs, oldest.timeMs);
  await main.settle("json", [{ entry, outcome: "oversize" }]);
  queue.direct("drop", (tx) => pending.drop(tx, oldest));
  const [lane] = lanes.all;
  assert.deepEqual([lane?.parked.size, lane?.streams.get(oldest.stream)?.leased], [0, 0]);
});

test("outbox – rows of a transaction that fails are nobody's; those of one that commits are seen afterwards", (t) => {
  const { main, queue, insert, store, live, fail } = open(t);
  store(1);
  fail((tx) => insert(tx, 2));
  assert.equal(main.depth("json").readings, 1);
  queue.direct("store", (tx) => {
    insert(tx, 3);
    assert.equal(main.depth("json").readings, 1);
    assert.deepEqual(live(), [1]);
  });
  assert.equal(main.depth("json").readings, 2);
  assert.deepEqual(live(), [3]);
});

test("outbox – a lane of the newest only keeps one row of a stream, whatever a transaction adds and takes back", (t) => {
  const { main, queue, insert, store, live, fail } = open(t, mainOf("plain"));
  store(1);
  fail((tx) => {
    insert(tx, 5);
    insert(tx, 6);
  });
  assert.equal(main.depth("plain").readings, 1);
  queue.direct("store", (tx) => {
    insert(tx, 3);
    insert(tx, 4);
    // Older than what this transaction has stored.
    insert(tx, 2);
  });
  assert.equal(main.depth("plain").readings, 1);
  assert.deepEqual(live("plain"), [4]);
});

test("outbox – uplinks want a reading that would not be the newest only where backlog is kept, by what the transaction stored", (t) => {
  const { pending, queue, insert } = open(t, [...mainOf("plain"), uplinkOf("cloud", ["json"])]);
  const wanting = (tx: Tx, row: PendingRow) => [...pending.uplinksWanting(tx, row)];
  queue.direct("store", (tx) => {
    const row = insert(tx, 5);
    assert.deepEqual(wanting(tx, { ...row, timeMs: row.timeMs - 1 }), ["cloud"]);
    assert.deepEqual(wanting(tx, { ...row, timeMs: row.timeMs + 1 }), ["main", "cloud"]);
  });
});

test("outbox – what was sent stays leased until that is on disk, also if the transaction is rolled back and repeated", async (t) => {
  const { main, pass, queue, store, backlog, live } = open(t);
  store(2, 9);
  assert.deepEqual(live(), [9]);
  const entries = main.lease("json", "backlog", 10);
  const settling = main.settle(
    "json",
    entries.map((entry) => ({ entry, outcome: "sent" as const })),
  );
  // Arrives late, so that the backlog is read from its beginning again.
  store(1);
  const handedOut: number[][] = [];
  const job = {
    what: "fails",
    rows: 1,
    *run() {
      // After the outcomes, in their transaction.
      handedOut.push(backlog());
      yield;
      throw new Sqlite.SqliteError("no", "SQLITE_CONSTRAINT");
    },
  };
  const failing = queue.enqueue(job, SETTLE_MS);
  await assert.rejects(Promise.all([failing, pass(SETTLE_MS)]));
  await settling;
  assert.deepEqual(handedOut, [[1], []]);
  assert.equal(main.depth("json").readings, 2);
});

test("outbox – who has looked waits for news, and nothing is news that only another kind of lease has seen", async (t) => {
  const { main, store, backlog, live } = open(t);
  const waits = async () => {
    const waiting = new AbortController();
    const isAtOnce = await isWoken(main.changed("json", waiting.signal));
    waiting.abort();
    return !isAtOnce;
  };
  assert.equal(await waits(), false);
  backlog();
  assert.equal(await waits(), true);
  store(1, 2);
  assert.equal(await waits(), false);
  live();
  assert.equal(await waits(), true);
  // Who leases live must see it, although the backlog has been read since.
  store(3);
  backlog();
  assert.equal(await waits(), false);
});

test("outbox – while outcomes cannot be stored nothing is handed out; then the lanes are woken", async (t) => {
  const logger = new RecordingLogger();
  const said = () =>
    logger.lines.filter(({ message }) => /acknowledgements cannot/.test(message)).length;
  const { db, main, pass, store, backlog, live } = open(t, mainOf("json"), logger);
  store(1, 2, 3);
  assert.deepEqual(live(), [3]);
  const [entry] = main.lease("json", "backlog", 1);
  assert.ok(entry);
  const settling = main.settle("json", [{ entry, outcome: "sent" }]);
  db.writer.pragma("query_only = ON");
  await pass(SETTLE_MS);
  assert.deepEqual(backlog(), []);
  const woken = main.changed("json", AbortSignal.timeout(deadlineMs(10_000)));
  assert.equal(await isWoken(woken), false);
  assert.equal(said(), 1);
  await pass(RETRY_MS);
  assert.equal(said(), 1, "once, however often it is tried");
  db.writer.pragma("query_only = OFF");
  await pass(RETRY_MS);
  await settling;
  assert.equal(await isWoken(woken), true);
  assert.deepEqual(backlog(), [2]);
  assert.equal(main.depth("json").readings, 2);
});

test("outbox – what is stored between rows that are being sent stays pending when these are settled", async (t) => {
  const { main, pass, store, backlog, live } = open(t);
  store(1, 3, 9);
  assert.deepEqual(live(), [9]);
  const entries = main.lease("json", "backlog", 10);
  assert.equal(entries.length, 2);
  store(2);
  const outcomes = entries.map((entry) => ({ entry, outcome: "sent" as const }));
  await Promise.all([main.settle("json", outcomes), pass(SETTLE_MS)]);
  assert.equal(main.depth("json").readings, 2);
  assert.deepEqual(backlog(), [2]);
});

test("outbox – after the disk was read again, a row that was leased twice counts once, and later ones are still read", async (t) => {
  const { lanes, main, pass, store, live, backlog } = open(t);
  store(1, 9);
  assert.deepEqual(live(), [9]);
  const [entry] = main.lease("json", "backlog", 10);
  assert.ok(entry);
  const settling = main.settle("json", [{ entry, outcome: "sent" }]);
  lanes.load();
  assert.deepEqual([live(), backlog()], [[9], [1]]);
  await Promise.all([settling, pass(SETTLE_MS)]);
  store(2);
  assert.deepEqual(backlog(), [2]);
});

test("outbox – nothing is handed out before the outcomes of every commit that failed are on disk", async (t) => {
  const { db, lanes, main, pass, store, live, backlog } = open(t);
  store(1, 2, 9);
  live();
  const [one, other] = main.lease("json", "backlog", 10);
  assert.ok(one && other);
  let isFailing = true;
  const { writer } = db;
  const exec = writer.exec.bind(writer);
  writer.exec = (sql) => {
    if (isFailing && sql === "COMMIT") throw new Sqlite.SqliteError("no", "SQLITE_IOERR_WRITE");
    return exec(sql);
  };
  const waiting = main.settle("json", [{ entry: one, outcome: "sent" }]);
  for (let n = 0; n < 4; n++) await pass(RETRY_MS);
  // Tried again soon, while the one before waits for most of half a minute.
  const first = main.settle("json", [{ entry: other, outcome: "sent" }]);
  await pass(SETTLE_MS);
  isFailing = false;
  lanes.load();
  const handedOut = Promise.race([first, waiting]).then(() => [...live(), ...backlog()]);
  while (main.depth("json").readings > 2) await pass(SETTLE_MS);
  await pass(RETRY_MS);
  await Promise.all([first, waiting]);
  assert.deepEqual([await handedOut, live(), backlog()], [[], [9], []]);
});

test("outbox – a reading that got the number of one the disk has lost stays pending between rows that were sent", async (t) => {
  const { db, lanes, main, pass, queue, store, backlog } = open(t);
  store(1, 3);
  const [lost] = store(9);
  assert.ok(lost);
  main.lease("json", "live", 1);
  const entries = main.lease("json", "backlog", 10);
  const outcomes = entries.map((entry) => ({ entry, outcome: "sent" as const }));
  const settling = main.settle("json", outcomes);
  queue.direct("lose", () => {
    db.write("DELETE FROM outbox WHERE seq = ?").run(lost.seq);
    db.write("DELETE FROM readings WHERE seq = ?").run(lost.seq);
    db.write("UPDATE sqlite_sequence SET seq = ? WHERE name = 'readings'").run(lost.seq - 1);
  });
  const [late] = store(2);
  assert.equal(late?.seq, lost.seq);
  lanes.load();
  await Promise.all([settling, pass(SETTLE_MS)]);
  assert.equal(main.depth("json").readings, 1);
  assert.deepEqual(backlog(), [2]);
});

test("outbox – a broker that takes as history what it refused as live is soon offered what is live now", async (t) => {
  const { main, pass, store, live, backlog } = open(t);
  store(1);
  for (let n = 0; n < 8; n++) {
    const [entry] = main.lease("json", "live", 1);
    assert.ok(entry, "a wait of five minutes at most");
    await main.settle("json", [{ entry, outcome: "refused" }]);
    if (n < 7) await pass(5 * MINUTE_MS);
  }
  store(2, 3);
  await pass(5_000);
  assert.deepEqual(live(), []);
  const woken = main.changed("json", AbortSignal.timeout(deadlineMs(10_000)));
  const [first] = main.lease("json", "backlog", 1);
  assert.ok(first);
  await Promise.all([main.settle("json", [{ entry: first, outcome: "sent" }]), pass(SETTLE_MS)]);
  assert.equal(await isWoken(woken), true);
  assert.deepEqual([live(), backlog()], [[3], [2]]);
});

for (const which of ["live", "backlog"] as const)
  test(`outbox – a refused ${which} reading is offered again within five seconds, and as soon once another was taken`, async (t) => {
    const { main, pass, store, live, backlog } = open(t);
    const lease = () => {
      const [entry] = main.lease("json", which, 1);
      assert.ok(entry);
      return entry;
    };
    const refuse = async () => {
      await main.settle("json", [{ entry: lease(), outcome: "refused" }]);
      assert.deepEqual([live(), backlog()], [[], []]);
      const woken = main.changed("json", AbortSignal.timeout(deadlineMs(10_000)));
      assert.equal(await isWoken(woken), false);
      await pass(5_000);
      assert.equal(await isWoken(woken), true);
    };
    if (which === "live") store(1);
    else {
      store(1, 2, 9);
      assert.deepEqual(live(), [9]);
    }
    await refuse();
    await Promise.all([
      main.settle("json", [{ entry: lease(), outcome: "sent" }]),
      pass(SETTLE_MS),
    ]);
    if (which === "live") store(2);
    await refuse();
  });

test("outbox – the thousandth outcome that waits is written at once, with the others", async (t) => {
  const { db, main, pass, store } = open(t);
  store(...Array(1001).keys());
  const rows = () => db.read<{ n: number }>("SELECT count(*) AS n FROM outbox").get()?.n;
  const settle = (max: number) =>
    main.settle(
      "json",
      main.lease("json", "backlog", max).map((entry) => ({ entry, outcome: "sent" as const })),
    );
  const done = settle(999);
  await pass(SETTLE_MS - 1);
  assert.equal(rows(), 1001);
  await Promise.all([done, settle(1), pass(0)]);
  assert.equal(rows(), 1);
});

test("outbox – who waits for an uplink that is added, or that is removed, is woken; of one that is not configured, once aborted", async (t) => {
  const { lanes, store, main, backlog, outbox } = open(t);
  const waiting = new AbortController();
  const later = outbox.of("later").changed("json", waiting.signal);
  assert.equal(await isWoken(later), false);
  lanes.configure([...mainOf("json"), uplinkOf("later", ["json"])]);
  assert.equal(await isWoken(later), true);
  store(1);
  backlog();
  const removed = main.changed("json", waiting.signal);
  assert.equal(await isWoken(removed), false);
  lanes.configure([uplinkOf("later", ["json"])]);
  assert.equal(await isWoken(removed), true);
  const never = main.changed("json", waiting.signal);
  assert.equal(await isWoken(never), false);
  waiting.abort();
  assert.equal(await isWoken(never), true);
});

test("outbox – a lane of the newest only takes no other reading of the time that went live", async (t) => {
  const { db, main, pass, store } = open(t, mainOf("plain"));
  store(1);
  const [entry] = main.lease("plain", "live", 1);
  assert.ok(entry);
  await Promise.all([main.settle("plain", [{ entry, outcome: "sent" }]), pass(SETTLE_MS)]);
  store(1);
  assert.equal(db.read<{ n: number }>("SELECT count(*) AS n FROM outbox").get()?.n, 0);
  assert.equal(main.depth("plain").readings, 0);
});

test("outbox – of a damaged store an uplink wants again what it selects, and events as JSON only", (t) => {
  const select = { values: ["rpm"] };
  const { lanes } = open(t, [uplinkOf("main", ["json", "sparkplug"], { select })]);
  const wants = (format: "json" | "sparkplug", kind: Kind, values: string) =>
    lanes
      .uplinkOf({ lane: 1, uplink: "main", format })
      ?.selects(format, { stream: 1, sensor: "1", kind }, values);
  assert.equal(wants("json", EVENT_STREAM_KIND, "{}"), true);
  assert.equal(wants("sparkplug", EVENT_STREAM_KIND, "{}"), false);
  assert.equal(wants("sparkplug", "rpm", '{"rpm":1}'), true);
  assert.equal(wants("json", "rpm", '{"current":1}'), false);
});

test("outbox – of uplinks that deliver nothing the one that most is pending for comes first, wherever it stands", async (t) => {
  for (const names of [
    ["few", "many"],
    ["many", "few"],
  ]) {
    const uplinks = names.map((name) => uplinkOf(name, ["json"]));
    const { lanes, outbox, pass, store } = open(t, uplinks);
    store(1, 2);
    const few = outbox.of("few");
    const [entry] = few.lease("json", "live", 1);
    assert.ok(entry);
    await Promise.all([few.settle("json", [{ entry, outcome: "sent" }]), pass(SETTLE_MS)]);
    assert.deepEqual(lanes.notDelivering(), ["many"]);
    await pass(30_000);
    assert.deepEqual(lanes.notDelivering(), ["many", "few"]);
  }
});
