/** A sensor whose clock is ahead by decades: its readings go by when they were stored, and displace nobody's. */
import assert from "node:assert/strict";
import { mkdirSync, rmSync } from "node:fs";
import { type TestContext, test } from "node:test";
import Sqlite from "better-sqlite3";
import type { Store } from "../../../../src/pipeline/store/store.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
import {
  append,
  DAY_MS,
  keyOf,
  readingOf,
  START_MS,
  tempDirectory,
  tempStore,
  waveformOf,
} from "../../../support/temp-database.ts";

const FUTURE_MS = Date.parse("2106-02-07T00:00:00Z");
const MINUTE_MS = 60_000;

const future = (minute: number, padding = 0) =>
  readingOf("9", FUTURE_MS + minute * MINUTE_MS, {
    attributes: { flags: ["time_in_future"] },
    padding,
  });
const good = (minute: number, padding = 0) =>
  readingOf("1", START_MS + minute * MINUTE_MS, { padding });

function open(t: TestContext, historyDays: number) {
  const clock = new ManualClock(START_MS);
  const dataDir = tempDirectory(t);
  const options = { dataDir, historyDays, waveformDays: 1, bufferMaxMb: 8, clock };
  const store = tempStore(t, { ...options, gatewayNow: () => clock.now() });
  const counts = () => {
    const db = new Sqlite(`${dataDir}/gateside.db`, { readonly: true });
    const count = (sql: string) => Number(db.prepare(sql).pluck().get());
    const all = {
      good: count("SELECT count(*) FROM readings WHERE is_future = 0"),
      future: count("SELECT count(*) FROM readings WHERE is_future = 1"),
      samples: count("SELECT count(*) FROM waveforms"),
    };
    db.close();
    return all;
  };
  return { clock, store, counts, dataDir };
}

async function deliver(store: Store): Promise<void> {
  const { outbox } = store;
  for (;;) {
    const entries = [
      ...outbox.lease("json", "live", 1000),
      ...outbox.lease("json", "backlog", 1000),
    ];
    if (entries.length === 0) return;
    const outcomes = entries.map((entry) => ({ entry, outcome: "sent" as const }));
    await Promise.all([outbox.settle("json", outcomes), outbox.flush()]);
  }
}

test("future readings – they age by when they were stored, their samples too", async (t) => {
  const { clock, store, counts } = open(t, 2);
  await append(store, [future(0), future(1)], keyOf("9"));
  const record = readingOf("9", FUTURE_MS, {
    kind: "accel",
    waveform: waveformOf(256),
    attributes: { flags: ["time_in_future"] },
  });
  await append(store, [record], keyOf("9", "accel"));
  await append(store, [good(0)]);
  await deliver(store);
  await store.retain();
  assert.deepEqual(counts(), { good: 1, future: 3, samples: 3 });
  await clock.advance(1.5 * DAY_MS);
  await store.retain();
  assert.deepEqual(counts(), { good: 1, future: 3, samples: 0 });
  await clock.advance(DAY_MS);
  await store.retain();
  assert.deepEqual(counts(), { good: 0, future: 0, samples: 0 });
});

test("future readings – of a box whose clock said 1970 they age as others once it is right, their samples too", async (t) => {
  const { clock, store, counts } = open(t, 3);
  clock.set(0);
  const flagged = { attributes: { flags: ["time_in_future"] } };
  await append(store, [readingOf("1", START_MS, flagged)]);
  const record = readingOf("9", START_MS, {
    kind: "accel",
    waveform: waveformOf(256),
    ...flagged,
  });
  await append(store, [record], keyOf("9", "accel"));
  await deliver(store);
  await store.retain();
  // A gateway that sends no Date may be ahead a little.
  clock.set(START_MS - MINUTE_MS);
  await clock.advance(2 * MINUTE_MS);
  await store.retain();
  assert.deepEqual(counts(), { good: 0, future: 2, samples: 3 });
  await clock.advance(2.5 * DAY_MS);
  await store.retain();
  assert.deepEqual(counts(), { good: 0, future: 2, samples: 0 });
  await clock.advance(DAY_MS);
  await store.retain();
  assert.deepEqual(counts(), { good: 0, future: 0, samples: 0 });
});

test("future readings – a full buffer removes delivered ones before good ones", async (t) => {
  const { store, counts } = open(t, 30);
  for (let batch = 0; batch < 10; batch += 1) {
    const minutes = Array.from({ length: 50 }, (_, n) => batch * 50 + n);
    await append(
      store,
      minutes.map((minute) => future(minute, 6_000)),
      keyOf("9"),
    );
    await append(
      store,
      minutes.map((minute) => good(minute, 6_000)),
    );
    await deliver(store);
    await store.retain();
  }
  const { good: goodOnes, future: futureOnes } = counts();
  assert.equal(goodOnes, 500, "no good one had to go");
  assert.ok(futureOnes < 500);
});

test("a full buffer – a ballast that cannot be removed is no end: each write is answered", async (t) => {
  const { store, dataDir } = open(t, 30);
  let isFull = false;
  for (let batch = 0; batch < 40 && !isFull; batch += 1) {
    const minutes = Array.from({ length: 50 }, (_, n) => batch * 50 + n);
    // As on a disk that fails: rmSync throws.
    rmSync(`${dataDir}/gateside.ballast`, { force: true, recursive: true });
    mkdirSync(`${dataDir}/gateside.ballast/inside`, { recursive: true });
    const before = store.state().dropped["buffer_full"] ?? 0;
    await append(
      store,
      minutes.map((minute) => good(minute, 6_000)),
    ).catch(() => {});
    isFull = (store.state().dropped["buffer_full"] ?? 0) > before || store.writeFailure !== null;
  }
  assert.ok(isFull);
});
