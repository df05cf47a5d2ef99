import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeliveryOutcome, Lane, OutboxEntry } from "../../src/core/ports.ts";
import { openStore, type Store } from "../../src/store/store.ts";
import { ManualClock } from "../support/manual-clock.ts";
import {
  append,
  DAY_MS,
  idsOf,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
  tempStore,
  timesOf,
  waveformOf,
} from "../support/temp-database.ts";

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

test("outbox – keeps the unsent half of a page and gives it out again in order", async (t) => {
  const store = tempStore(t);
  await append(store, minutes("1", ...Array(20).keys()));
  const page = store.outbox.lease("json", "backlog", 10);
  assert.deepEqual(timesOf(page), times(...Array(10).keys()));
  await settle(
    store,
    page.filter((_, n) => n % 3 === 0),
    "sent",
  );
  await settle(
    store,
    page.filter((_, n) => n % 3 !== 0),
    "kept",
  );
  assert.deepEqual(
    timesOf(store.outbox.lease("json", "backlog", 100)),
    times(1, 2, 4, 5, 7, 8, ...[...Array(19).keys()].slice(10)),
  );
  assert.equal(store.outbox.depth("json").readings, 16);
});

test("outbox – a late record that falls between sent ones is not taken with them", async (t) => {
  const store = tempStore(t);
  await append(store, minutes("1", 0, 2, 4, 6, 30));
  const page = store.outbox.lease("json", "backlog", 4);
  await append(store, minutes("1", 3));
  await settle(store, page, "sent");
  assert.deepEqual(timesOf(store.outbox.lease("json", "backlog", 10)), times(3));
});

test("outbox – a leased reading is not leased again until it is settled or released", async (t) => {
  const store = tempStore(t);
  await append(store, minutes("1", 0, 1, 2));
  const first = store.outbox.lease("json", "backlog", 10);
  const live = store.outbox.lease("json", "live", 10);
  assert.equal(first.length + live.length, 3);
  assert.deepEqual(store.outbox.lease("json", "backlog", 10), []);
  store.outbox.release("json");
  assert.deepEqual(idsOf(store.outbox.lease("json", "backlog", 10)), idsOf(first));
  assert.deepEqual(idsOf(store.outbox.lease("json", "live", 10)), idsOf(live));
});

test("outbox – an acknowledgement that comes after the release still counts", async (t) => {
  const store = tempStore(t);
  await append(store, minutes("1", 0, 1));
  const late = store.outbox.lease("json", "live", 1);
  store.outbox.release("json");
  await settle(store, late, "sent");
  assert.equal(store.outbox.depth("json").readings, 1);
  assert.deepEqual(store.outbox.lease("json", "live", 1), []);
});

test("outbox – live only moves forward, over restarts too", async (t) => {
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
});

test("outbox – after an outage the newest of each sensor is live, the rest backlog by time", async (t) => {
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

test("outbox – a newer reading takes the live place of one that was kept; that one goes as history", async (t) => {
  const store = tempStore(t);
  await append(store, minutes("1", 1));
  const old = store.outbox.lease("json", "live", 1);
  await append(store, minutes("1", 2));
  await settle(store, old, "kept");
  assert.deepEqual(timesOf(store.outbox.lease("json", "live", 9)), times(2));
  assert.deepEqual(timesOf(store.outbox.lease("json", "backlog", 9)), times(1));
});

test("outbox – a reading from the future never goes live and never holds up the present", async (t) => {
  const directory = tempDirectory(t);
  const attributes = { flags: ["time_in_future"] };
  let store = openStore(storeOptions(directory, { lanes: ["json", "plain"] }));
  await append(store, [
    readingOf("1", START_MS + 80 * 365 * DAY_MS, { attributes }),
    ...minutes("1", 1),
  ]);
  await store.close();
  store = openStore(storeOptions(directory, { lanes: ["json", "plain"] }));
  t.after(() => store.close());
  assert.deepEqual(timesOf(store.outbox.lease("json", "live", 9)), times(1));
  assert.deepEqual(timesOf(store.outbox.lease("plain", "live", 9)), times(1));
  assert.equal(store.outbox.lease("json", "backlog", 9).length, 1);
});

test("outbox – a refused sensor backs off alone and is tried again in time", async (t) => {
  const clock = new ManualClock();
  const store = tempStore(t, { clock, commitWindowMs: 0 });
  await append(store, minutes("1", 0, 1, 2, 3));
  await append(store, minutes("2", 0, 1, 2, 3));
  const backlog = store.outbox.lease("json", "backlog", 100);
  await settle(
    store,
    backlog.filter(({ reading }) => reading.sensor === "1"),
    "refused",
  );
  await settle(
    store,
    backlog.filter(({ reading }) => reading.sensor === "2"),
    "sent",
  );
  assert.deepEqual(store.outbox.lease("json", "backlog", 100), []);
  assert.equal(store.outbox.lease("json", "live", 100).length, 2, "its live topic may be allowed");
  const news = store.outbox.changed("json", new AbortController().signal);
  await clock.advance(5000);
  await news;
  assert.deepEqual(timesOf(store.outbox.lease("json", "backlog", 100)), times(0, 1, 2));
});

test("outbox – an oversize reading is parked until the limit changes and blocks nobody", async (t) => {
  const store = tempStore(t);
  await append(store, minutes("1", 0, 1, 2));
  await settle(store, store.outbox.lease("json", "backlog", 1), "oversize");
  await settle(store, store.outbox.lease("json", "live", 1), "oversize");
  assert.deepEqual(timesOf(store.outbox.lease("json", "backlog", 9)), times(1));
  assert.deepEqual(store.outbox.lease("json", "live", 9), []);
  store.outbox.unpark("json");
  assert.deepEqual(timesOf(store.outbox.lease("json", "live", 9)), times(2));
  assert.deepEqual(timesOf(store.outbox.lease("json", "backlog", 9)), times(0));
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

test("outbox – plain owes the newest reading of a sensor alone", async (t) => {
  const store = tempStore(t, { lanes: ["plain"] });
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

test("outbox – waveform lanes owe what the policy lets out", async (t) => {
  const store = tempStore(t, {
    lanes: ["json", "waveform"],
    waveformPolicy: ({ waveform }) => waveform?.recordingReason === 3,
  });
  const waveform = waveformOf(64);
  await append(store, [
    readingOf("1", START_MS, { kind: "accel", waveform }),
    readingOf("1", START_MS + 1, { kind: "accel", waveform: { ...waveform, recordingReason: 0 } }),
    readingOf("1", START_MS + 2, { kind: "accel" }),
  ]);
  assert.deepEqual(timesOf(store.outbox.lease("waveform", "live", 9)), [START_MS]);
  assert.equal(store.outbox.depth("json").readings, 3);
});

test("outbox – lanes deliver for themselves; one switched on later begins with what comes then", async (t) => {
  const directory = tempDirectory(t);
  let store = openStore(storeOptions(directory, { lanes: ["json"] }));
  await append(store, minutes("1", 0, 1));
  await store.close();
  store = openStore(storeOptions(directory, { lanes: ["json", "sparkplug"] }));
  assert.equal(store.outbox.depth("sparkplug").readings, 0);
  await append(store, minutes("1", 2));
  await settle(store, store.outbox.lease("json", "live", 9), "sent");
  assert.deepEqual(timesOf(store.outbox.lease("sparkplug", "live", 9)), times(2));
  await store.close();
  store = openStore(storeOptions(directory, { lanes: ["sparkplug"] }));
  assert.equal(store.outbox.depth("json").readings, 0);
  assert.equal(store.state().dropped["format_off"], 2);
  await store.close();
});

test("outbox – changed waits for news and hears of it", async (t) => {
  const store = tempStore(t);
  assert.deepEqual(store.outbox.lease("json", "live", 1), []);
  let isDone = false;
  const aborting = new AbortController();
  const news = store.outbox.changed("json", aborting.signal).then(() => (isDone = true));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isDone, false);
  await append(store, minutes("1", 0));
  await news;
  store.outbox.lease("json", "live", 1);
  const ended = store.outbox.changed("json", aborting.signal);
  aborting.abort();
  await ended;
});

test("outbox – a long backlog costs memory by the sensor, not by the row, and drains whole", async (t) => {
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
  const heap = () => {
    globalThis.gc?.();
    return process.memoryUsage().heapUsed;
  };
  const before = heap();
  store = openStore(options);
  t.after(() => store.close());
  assert.equal(store.outbox.depth("json").readings, rows);
  assert.ok(heap() - before < 8e6, `opening took ${heap() - before} bytes of heap`);
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

test("outbox – days that are read after later ones go out, whatever hours other sensors have", async (t) => {
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
