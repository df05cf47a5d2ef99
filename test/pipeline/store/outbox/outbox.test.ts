import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import Sqlite from "better-sqlite3";
import type { DeliveryOutcome, Lane, OutboxEntry } from "../../../../src/core/delivery/delivery.ts";
import { openStore } from "../../../../src/pipeline/store/sqlite-store.ts";
import type { Store } from "../../../../src/pipeline/store/store.ts";
import { heapInUse } from "../../../support/garbage.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
import {
  append,
  DAY_MS,
  idsOf,
  mainOf,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
  tempStore,
  timesOf,
  uplinkOf,
  waveformOf,
} from "../../../support/temp-database.ts";

const MINUTE = 60_000;
const minutes = (sensor: string, ...at: number[]) =>
  at.map((minute) => readingOf(sensor, START_MS + minute * MINUTE));
const times = (...at: number[]) => at.map((minute) => START_MS + minute * MINUTE);

async function settle(
  store: Store,
  entries: readonly OutboxEntry[],
  outcome: DeliveryOutcome,
  lane: Lane = "json",
) {
  const done = store.outbox.settle(
    lane,
    entries.map((entry) => ({ entry, outcome })),
  );
  await store.outbox.flush();
  await done;
}

test("outbox – a late record between sent ones is not deleted with them", async (t) => {
  const store = tempStore(t);
  await append(store, minutes("1", 0, 2, 4, 6, 30));
  const page = store.outbox.lease("json", "backlog", 4);
  await append(store, minutes("1", 3));
  await settle(store, page, "sent");
  assert.deepEqual(timesOf(store.outbox.lease("json", "backlog", 10)), times(3));
});

test("outbox – with paced commits, outcomes are written with the next readings, at a stop, or once they fill a page", async (t) => {
  const directory = tempDirectory(t);
  const open = () => openStore(storeOptions(directory, { commitPaceMs: 4000 }));
  const written = () => {
    const db = new Sqlite(join(directory, "gateside.db"), { readonly: true });
    try {
      return db.prepare<[], number>("SELECT count(*) FROM outbox").pluck().get();
    } finally {
      db.close();
    }
  };
  const sent = (store: Store) =>
    store.outbox.settle(
      "json",
      store.outbox
        .lease("json", "live", 1000)
        .map((entry) => ({ entry, outcome: "sent" as const })),
    );
  const sensors = (count: number, at: number) =>
    Promise.all(Array.from({ length: count }, (_, i) => append(store, minutes(`${i}`, at))));
  let store = open();
  t.after(() => store.close());
  await sensors(3, 0);
  const { commits } = store.statistics;
  const done = sent(store);
  assert.equal(store.outbox.depth("json").readings, 0, "nobody is owed them any more");
  await append(store, minutes("new", 1));
  await done;
  assert.equal(store.statistics.commits, commits + 1, "one commit for both");
  assert.equal(written(), 1);
  void sent(store);
  await store.close();
  assert.equal(written(), 0);
  store = open();
  await sensors(120, 2);
  await sent(store);
  assert.equal(written(), 0);
});

test("outbox – a hundred acknowledged readings wait a fifth of a second for others to share their commit, a thousand do not wait", async (t) => {
  const clock = new ManualClock(START_MS);
  const store = tempStore(t, { commitPaceMs: 4000, commitWindowMs: 0, clock });
  const sent = async (count: number) => {
    await append(
      store,
      Array.from({ length: count }, (_, n) =>
        readingOf("1", START_MS + n * 1000, { salt: `${count}` }),
      ),
    );
    const page = store.outbox.lease("json", "backlog", count);
    const { commits } = store.statistics;
    const done = store.outbox.settle(
      "json",
      page.map((entry) => ({ entry, outcome: "sent" as const })),
    );
    return { done, written: () => store.statistics.commits - commits };
  };
  const few = await sent(150);
  await clock.advance(199);
  assert.equal(few.written(), 0);
  await clock.advance(1);
  await few.done;
  assert.equal(few.written(), 1);
  const many = await sent(1100);
  await many.done;
  assert.equal(many.written(), 1);
});

test("outbox – a delivery that waits for its commit does not count as the oldest pending reading", async (t) => {
  const store = tempStore(t, { commitPaceMs: 4000 });
  await append(store, minutes("1", 0, 1, 200, 201));
  const oldest = () => store.outbox.depth("json").oldestTimeMs;
  const page = store.outbox.lease("json", "backlog", 2);
  assert.equal(oldest(), START_MS);
  for (const [n, left] of [1, 200].entries()) {
    void store.outbox.settle("json", [{ entry: page[n] as OutboxEntry, outcome: "sent" }]);
    assert.equal(oldest(), START_MS + left * MINUTE);
  }
});

test("outbox – live only moves forward, also across restarts", async (t) => {
  const directory = tempDirectory(t);
  let store = openStore(storeOptions(directory));
  await append(store, minutes("1", 10));
  await settle(store, store.outbox.lease("json", "live", 1), "sent");
  await append(store, minutes("1", 5));
  await append(store, [readingOf("1", START_MS + 10 * MINUTE, { salt: "twin" })]);
  assert.deepEqual(store.outbox.lease("json", "live", 10), []);
  await store.close();
  store = openStore(storeOptions(directory));
  t.after(() => store.close());
  assert.deepEqual(store.outbox.lease("json", "live", 10), []);
  assert.deepEqual(timesOf(store.outbox.lease("json", "backlog", 10)), times(5, 10));
  await append(store, minutes("1", 11));
  assert.deepEqual(timesOf(store.outbox.lease("json", "live", 10)), times(11));
  // Behind an hour that has only rows of another sensor.
  await append(store, minutes("2", 70));
  await store.close();
  store = openStore(storeOptions(directory));
  const newest = store.outbox.lease("json", "live", 10);
  assert.deepEqual(timesOf(newest).sort(), times(11, 70));
  await settle(store, newest, "oversize");
  store.outbox.unpark("json");
  assert.deepEqual(timesOf(store.outbox.lease("json", "live", 10)).sort(), times(11, 70));
});

test("outbox – after an outage the newest of each sensor is live, the rest is backlog in order of time", async (t) => {
  const directory = tempDirectory(t);
  let store = openStore(storeOptions(directory));
  for (const sensor of ["1", "2"]) await append(store, minutes(sensor, 3000, 1, 2, 70, 0));
  await store.close();
  store = openStore(storeOptions(directory));
  t.after(() => store.close());
  const live = store.outbox.lease("json", "live", 10);
  assert.deepEqual(timesOf(live), times(3000, 3000));
  assert.ok(live.every((entry) => entry.live));
  const backlog = store.outbox.lease("json", "backlog", 100);
  for (const sensor of ["1", "2"]) {
    const own = backlog.filter(({ reading }) => reading.sensor === sensor);
    assert.deepEqual(timesOf(own), times(0, 1, 2, 70));
  }
});

test("outbox – of two readings of one time the first stored goes live and is the latest, whenever it is sent", async (t) => {
  const directory = tempDirectory(t);
  let store = openStore(storeOptions(directory));
  const [first, second] = ["first", "second"].map((salt) => readingOf("1", START_MS, { salt }));
  assert.ok(first && second);
  await append(store, [first, second]);
  await store.close();
  store = openStore(storeOptions(directory));
  t.after(() => store.close());
  assert.equal(store.history.latest("1", "rpm")?.id, first.id);
  assert.deepEqual(idsOf(store.outbox.lease("json", "live", 9)), [first.id]);
  assert.deepEqual(idsOf(store.outbox.lease("json", "backlog", 9)), [second.id]);
});

test("outbox – a reading from the future never goes live and never delays current ones", async (t) => {
  const directory = tempDirectory(t);
  const attributes = { flags: ["time_in_future"] };
  let store = openStore(storeOptions(directory, { uplinks: mainOf("json", "plain") }));
  await append(store, [
    readingOf("1", START_MS + 80 * 365 * DAY_MS, { attributes }),
    ...minutes("1", 1),
  ]);
  await store.close();
  store = openStore(storeOptions(directory, { uplinks: mainOf("json", "plain") }));
  t.after(() => store.close());
  assert.deepEqual(timesOf(store.outbox.lease("json", "live", 9)), times(1));
  assert.deepEqual(timesOf(store.outbox.lease("plain", "live", 9)), times(1));
  assert.equal(store.outbox.lease("json", "backlog", 9).length, 1);
});

test("outbox – the backlog is fair between sensors", async (t) => {
  const store = tempStore(t);
  await append(store, minutes("1", ...Array(2000).keys()));
  await append(store, minutes("2", ...Array(50).keys()));
  const seen = new Set<string>();
  for (let n = 0; n < 3; n++) {
    const page = store.outbox.lease("json", "backlog", 100);
    for (const { reading } of page) seen.add(reading.sensor);
    await settle(store, page, "sent");
  }
  assert.deepEqual([...seen].sort(), ["1", "2"]);
});

test("outbox – in the plain lane only the newest reading of a sensor is pending", async (t) => {
  const store = tempStore(t, { uplinks: mainOf("plain") });
  await append(store, minutes("1", 0, 1, 2));
  await append(store, minutes("1", 3));
  assert.equal(store.outbox.depth("plain").readings, 1);
  assert.deepEqual(store.outbox.lease("plain", "backlog", 9), []);
  const [entry] = store.outbox.lease("plain", "live", 9);
  assert.ok(entry);
  await append(store, minutes("1", 4));
  await settle(store, [entry], "sent", "plain");
  assert.deepEqual(timesOf(store.outbox.lease("plain", "live", 9)), times(4));
  assert.equal(store.outbox.depth("plain").readings, 1);
});

test("outbox – in waveform lanes what the policy allows is pending", async (t) => {
  const main = uplinkOf("main", ["json", "waveform"], { waveforms: "alarm" });
  const store = tempStore(t, { uplinks: [main] });
  const waveform = waveformOf(64);
  await append(store, [
    readingOf("1", START_MS, { kind: "accel", waveform, attributes: { recording_reason: 3 } }),
    readingOf("1", START_MS + 1, { kind: "accel", waveform: { ...waveform, recordingReason: 0 } }),
    readingOf("1", START_MS + 2, { kind: "accel" }),
  ]);
  assert.deepEqual(timesOf(store.outbox.lease("waveform", "live", 9)), [START_MS]);
  // Of what is stored, too, for an uplink that comes later.
  store.setUplinks([main, uplinkOf("cloud", ["waveform"], { waveforms: "alarm" })]);
  await store.retain();
  assert.deepEqual(timesOf(store.outboxOf("cloud").lease("waveform", "live", 9)), [START_MS]);
  assert.equal(store.outbox.depth("json").readings, 3);
});

test("outbox – lanes deliver independently; one enabled later begins with new readings", async (t) => {
  const directory = tempDirectory(t);
  let store = openStore(storeOptions(directory, { uplinks: mainOf("json") }));
  await append(store, minutes("1", 0, 1));
  await store.close();
  store = openStore(storeOptions(directory, { uplinks: mainOf("json", "sparkplug") }));
  assert.equal(store.outbox.depth("sparkplug").readings, 0);
  await append(store, minutes("1", 2));
  await settle(store, store.outbox.lease("json", "live", 9), "sent");
  assert.deepEqual(timesOf(store.outbox.lease("sparkplug", "live", 9)), times(2));
  await store.close();
  store = openStore(storeOptions(directory, { uplinks: mainOf("sparkplug") }));
  assert.equal(store.outbox.depth("json").readings, 0);
  await store.retain();
  assert.equal(store.state().dropped["format_off"], 2);
  assert.deepEqual(
    store.gaps.pendingGaps(9).map(({ count, reason }) => [count, reason]),
    [[2, "format_off"]],
  );
  await store.close();
});

test("outbox – a long backlog uses memory per sensor, not per row, and drains completely", async (t) => {
  const directory = tempDirectory(t);
  const options = storeOptions(directory, { bufferMaxMb: 512 });
  let store = openStore(options);
  const rows = 60_000;
  for (let sensor = 0; sensor < 10; sensor++) {
    const own = Array.from({ length: rows / 10 }, (_, n) =>
      readingOf(String(sensor), START_MS + n * 10_000),
    );
    await append(store, own);
  }
  await store.close();
  const before = heapInUse();
  store = openStore(options);
  t.after(() => store.close());
  assert.equal(store.outbox.depth("json").readings, rows);
  const took = heapInUse() - before;
  assert.ok(took < 1e6, `opening took ${took} bytes of heap for ${rows} rows`);
  const last = new Map<string, number>();
  let sent = 0;
  for (;;) {
    const page = store.outbox.lease("json", "backlog", 1000);
    if (page.length === 0) break;
    for (const { reading } of page) {
      assert.ok(reading.timeMs > (last.get(reading.sensor) ?? 0), "oldest first");
      last.set(reading.sensor, reading.timeMs);
    }
    sent += page.length;
    await settle(store, page, "sent");
  }
  assert.equal(sent, rows - 10);
  assert.equal(store.outbox.depth("json").readings, 10);
});

test("outbox – days that are read after later ones are sent, whatever hours other sensors have", async (t) => {
  const store = tempStore(t);
  const drain = async () => {
    for (const which of ["live", "backlog"] as const) {
      await settle(store, store.outbox.lease("json", which, 100), "sent");
    }
  };
  const hour = 60;
  await append(store, minutes("1", 24 * hour, 24 * hour + 1));
  // Another sensor's later hours: looking through them for the first one leaves its place behind its own next rows.
  await append(store, minutes("2", 30 * hour, 31 * hour, 32 * hour));
  await drain();
  await append(store, minutes("1", 0, 1, 2));
  assert.deepEqual(timesOf(store.outbox.lease("json", "backlog", 100)), times(0, 1, 2));
});

test("outbox – a live topic that was refused for an hour is tried again within 15 s; once the broker takes one, the others follow", async (t) => {
  const clock = new ManualClock(START_MS);
  const store = tempStore(t, { clock });
  const codes = Array.from({ length: 100 }, (_, n) => String(n + 1));
  await append(store, minutes("1", 0));
  const refuse = async (untilMs: number) => {
    for (let atMs = 0; atMs < untilMs; atMs += 1000) {
      await settle(store, store.outbox.lease("json", "live", 1000), "refused");
      await clock.advance(1000);
    }
  };
  await refuse(60 * MINUTE);
  let waitedMs = 0;
  let entries = store.outbox.lease("json", "live", 1000);
  for (; entries.length === 0; entries = store.outbox.lease("json", "live", 1000)) {
    await clock.advance(1000);
    waitedMs += 1000;
  }
  assert.ok(waitedMs <= 15_000, `${waitedMs} ms`);
  await settle(store, entries, "sent");

  // Of many each waits longer, so that a broker is not asked for all of them again and again.
  for (const code of codes) await append(store, minutes(code, 1));
  await refuse(60 * MINUTE);
  const taken = new Set<string>();
  for (let atMs = 0; atMs < 45_000; atMs += 1000) {
    const some = store.outbox.lease("json", "live", 1000);
    for (const { reading } of some) taken.add(reading.sensor);
    await settle(store, some, "sent");
    if (taken.size === codes.length) break;
    await clock.advance(1000);
  }
  assert.equal(taken.size, codes.length);
});
