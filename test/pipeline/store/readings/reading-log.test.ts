import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import Sqlite from "better-sqlite3";
import { countReadings } from "../../../../src/core/query/walk.ts";
import { StoreFailure } from "../../../../src/pipeline/store/database/store-failure.ts";
import { openStore } from "../../../../src/pipeline/store/sqlite-store.ts";
import { countTurns } from "../../../support/count-turns.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
import {
  append,
  DAY_MS,
  keyOf,
  mainOf,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
  tempStore,
  waveformOf,
} from "../../../support/temp-database.ts";

test("reading log – a discarded response leaves nothing, not even its spilled samples", async (t) => {
  const store = tempStore(t, { uplinks: mainOf("json", "waveform") });
  const writer = store.readings.begin(keyOf("1", "accel"));
  const noise = Int16Array.from({ length: 200_000 }, () => Math.random() * 65536 - 32768);
  const waveform = {
    ...waveformOf(1),
    channels: [{ channel: 1, axis: "H" as const, samples: noise }],
  };
  for (let n = 0; n < 30; n++) {
    await writer.add(readingOf("1", START_MS + n, { kind: "accel", waveform }));
  }
  assert.notEqual(store.waveforms.read(1), null, "samples were spilled");
  writer.discard();
  await store.readings.flush();
  assert.equal(store.waveforms.read(1), null);
  assert.equal(store.state().readings, 0);
  assert.equal(store.readings.progress(keyOf("1", "accel")), null);
});

test("reading log – each channel of a long waveform is packed in a separate turn, and all arrive", async (t) => {
  const store = tempStore(t, { uplinks: mainOf("json", "waveform") });
  const writer = store.readings.begin(keyOf("1", "accel"));
  const short = writer.add(
    readingOf("1", START_MS, { kind: "accel", waveform: waveformOf(4_096) }),
  );
  assert.equal(short, undefined, "a usual one costs no turn");
  const turns = countTurns(t);
  await writer.add(readingOf("1", START_MS + 1, { kind: "accel", waveform: waveformOf(40_000) }));
  assert.ok(turns() >= 3, `${turns()} turns`);
  const { stored } = await writer.commit({ checkpoint: "c", records: 2 });
  assert.equal(stored, 2);
  assert.equal(store.waveforms.read(6)?.samples.length, 40_000);
});

test("reading log – samples spilled during the read belong to the reading once it is committed", async (t) => {
  const directory = tempDirectory(t);
  const options = storeOptions(directory, { uplinks: mainOf("json") });
  const store = openStore(options);
  const noise = Int16Array.from({ length: 100_000 }, () => Math.random() * 65536 - 32768);
  const readings = Array.from({ length: 60 }, (_, n) =>
    readingOf("1", START_MS + n, {
      kind: "accel",
      waveform: {
        ...waveformOf(1),
        channels: [{ channel: 1, axis: "H" as const, samples: noise }],
      },
    }),
  );
  assert.equal(await append(store, readings), 60);
  await store.close();
  const again = openStore(options);
  t.after(() => again.close());
  for (const reading of again.history.range({ fromMs: START_MS, toMs: START_MS + DAY_MS })) {
    const stored = again.waveforms.read(reading.waveforms[0]?.fileId ?? 0);
    assert.deepEqual(stored?.samples, noise);
    assert.equal(stored.readingId, reading.id);
  }
});

test("reading log – the same records again are stored once, across restarts and responses for other days", async (t) => {
  const directory = tempDirectory(t);
  const readings = [0, 1, 2].map((n) => readingOf("1", START_MS + n * 1000));
  const first = openStore(storeOptions(directory));
  assert.equal(await append(first, readings), 3);
  assert.equal(await append(first, readings, keyOf("1", "rpm", "2026-11-21")), 0);
  await first.close();
  const second = openStore(storeOptions(directory));
  t.after(() => second.close());
  assert.equal(await append(second, readings), 0);
  assert.equal(second.state().readings, 3);
});

test("reading log – two responses with one record in the same commit store it once", async (t) => {
  const store = tempStore(t, { commitWindowMs: 50 });
  const reading = readingOf("1", START_MS);
  const writers = ["2026-11-19", "2026-11-20"].map((day) =>
    store.readings.begin(keyOf("1", "rpm", day)),
  );
  for (const writer of writers) {
    assert.equal(writer.isKnown(reading.timeMs, reading.id), false);
    void writer.add(reading);
  }
  const results = await Promise.all(writers.map((w) => w.commit({ checkpoint: "c", records: 1 })));
  assert.deepEqual(
    results.map(({ stored }) => stored),
    [1, 0],
  );
  assert.equal(store.state().readings, 1);
});

test("reading log – two records of one time with different content are two readings", async (t) => {
  const store = tempStore(t);
  const twins = ["a", "b"].map((salt) => readingOf("1", START_MS, { salt }));
  assert.equal(await append(store, twins), 2);
});

test("reading log – a pending response is known to the next one before it is on disk", async (t) => {
  const store = tempStore(t, { commitWindowMs: 1000 });
  const reading = readingOf("1", START_MS);
  const writer = store.readings.begin(keyOf("1"));
  void writer.add(reading);
  const done = writer.commit({ checkpoint: null, records: 1 });
  assert.equal(store.readings.begin(keyOf("1")).isKnown(reading.timeMs, reading.id), true);
  await store.readings.flush();
  assert.deepEqual(await done, { stored: 1, duplicates: 0 });
});

test("reading log – an unchanged day writes nothing", async (t) => {
  const store = tempStore(t);
  const readings = [readingOf("1", START_MS)];
  await append(store, readings, undefined, "checkpoint");
  const { commits } = store.statistics;
  await append(store, readings, undefined, "checkpoint");
  assert.equal(store.statistics.commits, commits);
  assert.deepEqual(store.readings.progress(keyOf("1")), { checkpoint: "checkpoint", records: 1 });
});

test("reading log – responses of one round share a commit", async (t) => {
  const clock = new ManualClock();
  const store = tempStore(t, { clock, commitWindowMs: 200 });
  const round = Array.from({ length: 40 }, (_, n) =>
    append(store, [readingOf(String(n), START_MS)]),
  );
  const { commits } = store.statistics;
  while (clock.sleeping === 0) await new Promise((resolve) => setImmediate(resolve));
  await clock.advance(200);
  await Promise.all(round);
  assert.equal(store.statistics.commits, commits + 1);
});

test("reading log – a response too large for one transaction is stored completely, its progress last", async (t) => {
  const store = tempStore(t, { bufferMaxMb: 32 });
  const readings = Array.from({ length: 4000 }, (_, n) =>
    readingOf("1", START_MS + n * 1000, { padding: 1000 }),
  );
  const { commits } = store.statistics;
  assert.equal(await append(store, readings, undefined, "whole"), 4000);
  assert.ok(store.statistics.commits - commits > 1);
  assert.equal(store.readings.progress(keyOf("1"))?.checkpoint, "whole");
});

test("reading log – what a response stored before it failed is reported with the next one", async (t) => {
  const dataDir = tempDirectory(t);
  const store = tempStore(t, { dataDir, bufferMaxMb: 8 });
  const [first, ...others] = Array.from({ length: 2_000 }, (_, index) =>
    readingOf("a", START_MS + index * 1000, { padding: 400 }),
  );
  assert.ok(first);
  let storedCount = await append(store, [first]);
  const writer = store.readings.begin(keyOf("a"));
  for (const reading of others) await writer.add(reading);
  // The day's progress is gone when the last of several transactions wants to replace it.
  const db = new Sqlite(join(dataDir, "gateside.db"));
  db.exec("DELETE FROM day_progress");
  db.close();
  await assert.rejects(writer.commit({ checkpoint: null, records: 2_000 }));
  const before = store.state().readings;
  assert.ok(before > 1 && before < 2_000, `${before} stored`);
  storedCount += await append(store, [first, ...others]);
  assert.deepEqual([storedCount, store.state().readings], [2_000, 2_000]);
});

test("reading log – the newest time ignores readings from the future", async (t) => {
  const directory = tempDirectory(t);
  const store = openStore(storeOptions(directory));
  const future = readingOf("1", START_MS + 80 * 365 * DAY_MS, {
    attributes: { flags: ["time_in_future"] },
  });
  await append(store, [readingOf("1", START_MS), future, readingOf("1", START_MS - DAY_MS)]);
  assert.equal(store.readings.newestTimeMs("1", "rpm"), START_MS);
  await store.close();
  const again = openStore(storeOptions(directory));
  t.after(() => again.close());
  assert.equal(again.readings.newestTimeMs("1", "rpm"), START_MS);
  assert.equal(again.readings.newestTimeMs("1", "loop"), null);
  assert.equal(again.history.latest("1", "rpm")?.timeMs, START_MS);
});

test("reading log – a closed store fails with a typed error", async (t) => {
  const store = tempStore(t);
  const writer = store.readings.begin(keyOf("1"));
  void writer.add(readingOf("1", START_MS));
  await store.close();
  await assert.rejects(
    writer.commit({ checkpoint: null, records: 1 }),
    (error) => error instanceof StoreFailure && error.code === "closed" && !error.isRetryable,
  );
});

test("history – a count equals the readings in the range, including edges and other sensors", async (t) => {
  const store = tempStore(t);
  const times = [0, 1, 3_599_999, 3_600_000, 5 * 3_600_000];
  for (const sensor of ["1", "2"]) {
    await append(
      store,
      times.map((ms) => readingOf(sensor, START_MS + ms)),
    );
  }
  const { kind } = readingOf("1", START_MS);
  for (const [from, to] of [
    [0, DAY_MS],
    [1, 3_600_000],
    [1, 3_600_001],
    [4_000_000, 4_000_001],
    [5, 5],
  ] as const) {
    const range = { sensor: "1", kind, fromMs: START_MS + from, toMs: START_MS + to };
    assert.equal(store.history.count(range), [...store.history.range(range)].length);
  }
  assert.equal(store.history.count({ sensor: "9", kind, fromMs: 0, toMs: 9e15 }), 0);
  const streams = ["1", "2", "9"].map((sensor) => ({ sensor, kind }));
  const range = { streams, fromMs: START_MS + 1, toMs: START_MS + DAY_MS };
  assert.deepEqual([...store.history.counts(range, () => false)], [{ hours: 3, count: 8 }]);
});

test("history – what is counted in some of the stored hours says how much the others hold, however far apart they are", async (t) => {
  const store = tempStore(t);
  const { kind } = readingOf("1", START_MS);
  const HOUR_MS = 3_600_000;
  // A clock that began at 2000, a shelf of some years, and one that was set into the future.
  const hours = Array.from({ length: 1_000 }, (_, n) => START_MS + n * HOUR_MS);
  const times = [Date.UTC(2000, 0, 1), ...hours, Date.UTC(2090, 0, 1)];
  await append(
    store,
    times.map((ms) => readingOf("1", ms)),
  );
  const streams = [{ sensor: "1", kind }];
  for (const toMs of [START_MS + 1_000 * HOUR_MS, Date.UTC(2099, 0, 1)]) {
    const range = { streams, fromMs: Number.MIN_SAFE_INTEGER, toMs };
    const pause = () => Promise.resolve();
    const exact = await countReadings(store.history, range, pause);
    assert.equal(exact, [...store.history.range({ ...range, sensor: "1", kind })].length);
    const estimate = await countReadings(store.history, range, pause, () => true);
    assert.ok(Math.abs(estimate / exact - 1) < 0.01, `${estimate} of ${exact}`);
  }
});

test("reading log – a code whose leading zeros are corrected is one stream, and what is pending goes out under the new spelling", async (t) => {
  const dataDir = tempDirectory(t);
  const before = openStore(storeOptions(dataDir));
  before.spell(["0100"]);
  await append(before, [readingOf("0100", START_MS)]);
  await before.close();
  const store = openStore(storeOptions(dataDir));
  store.spell(["100"]);
  await append(store, [readingOf("100", START_MS + 1000)]);
  const entries = [
    ...store.outbox.lease("json", "live", 10),
    ...store.outbox.lease("json", "backlog", 10),
  ];
  assert.deepEqual(
    entries.map(({ reading }) => reading.sensor),
    ["100", "100"],
  );
  assert.equal(store.history.latest("0100", "rpm")?.sensor, "100");
  await store.close();
  const db = new Sqlite(join(dataDir, "gateside.db"), { readonly: true });
  const stored = db.prepare("SELECT sensor FROM streams").pluck().all();
  assert.deepEqual(stored, ["100"], "as others read it");
  db.close();
});
