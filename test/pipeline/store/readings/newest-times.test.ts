import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_TIMES } from "../../../../src/core/time/recent-times.ts";
import { Database } from "../../../../src/pipeline/store/database/database.ts";
import { NEWEST_SQL, NewestTimes } from "../../../../src/pipeline/store/readings/newest-times.ts";
import { openStore } from "../../../../src/pipeline/store/sqlite-store.ts";
import {
  append,
  DAY_MS,
  keyOf,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
} from "../../../support/temp-database.ts";

const HOUR_MS = DAY_MS / 24;
const NOT_FROM_NOW = { attributes: { flags: ["time_in_future"] } };

test("newest times – silent, never stored and future readings: each sensor's newest, also after a restart", async (t) => {
  const dataDir = tempDirectory(t);
  const first = openStore(storeOptions(dataDir));
  // More than are looked up one by one, so that both ways of the walk are taken.
  for (let sensor = 0; sensor < 50; sensor++) {
    const newest = START_MS - (sensor % 10) * DAY_MS;
    await append(first, [readingOf(`${sensor}`, newest - 1), readingOf(`${sensor}`, newest)]);
  }
  await append(first, [readingOf("0", START_MS + 80 * 365 * DAY_MS, NOT_FROM_NOW)]);
  // Asked for and empty: a stream without a reading.
  await first.readings.begin(keyOf("never")).commit({ checkpoint: "x", records: 0 });
  await first.close();
  const store = openStore(storeOptions(dataDir));
  t.after(() => store.close());
  for (let sensor = 0; sensor < 50; sensor++) {
    const newest = START_MS - (sensor % 10) * DAY_MS;
    assert.equal(store.history.latest(`${sensor}`, "rpm")?.timeMs, newest);
    assert.equal(store.readings.newestTimeMs(`${sensor}`, "rpm"), newest);
  }
  assert.equal(store.history.latest("never", "rpm"), null);
  assert.equal(store.history.latest("unheard of", "rpm"), null);
  // Many at once as each alone, under the name by which it is asked; of two readings of one time the first stored.
  await append(store, [readingOf("1", START_MS - DAY_MS, { values: { rpm: 7 } })]);
  const names = [...Array.from({ length: 50 }, (_, n) => `00${n}`), "never", "unheard of"];
  const each = names.map((sensor) => [sensor, store.history.latest(sensor, "rpm")] as const);
  const many = store.history.latestOf(names.map((sensor) => ({ sensor, kind: "rpm" as const })));
  assert.deepEqual(
    [...many].map(([{ sensor }, reading]) => [sensor, reading]),
    each.filter(([, reading]) => reading !== null),
  );
  await append(store, [readingOf("never", START_MS)]);
  assert.equal(store.history.latest("never", "rpm")?.timeMs, START_MS);
});

test("newest times – the recent times of a sensor are found across hours, also after a restart", async (t) => {
  const dataDir = tempDirectory(t);
  const first = openStore(storeOptions(dataDir));
  const every4h = [0, 4, 8, 12, 16].map((hour) => START_MS + hour * HOUR_MS);
  await append(
    first,
    every4h.map((ms) => readingOf("slow", ms, { offsetMinutes: ms === every4h[4] ? 120 : 60 })),
  );
  await append(first, [readingOf("quick", every4h[4] ?? 0)]);
  await append(first, [readingOf("slow", START_MS + 80 * 365 * DAY_MS, NOT_FROM_NOW)]);
  const kind = "rpm" as const;
  const wanted = ["slow", "unheard of", "quick"].map((sensor) => ({ sensor, kind }));
  const expected = [
    { timesMs: every4h.slice(1), cameSingly: false, offsetMinutes: 120 },
    NO_TIMES,
    { timesMs: every4h.slice(4), cameSingly: true, offsetMinutes: -360 },
  ];
  assert.deepEqual(first.readings.recentTimes(wanted, 4), expected);
  await first.close();
  const store = openStore(storeOptions(dataDir));
  t.after(() => store.close());
  assert.deepEqual(store.readings.recentTimes(wanted, 4), expected);
});

test("newest times – the hours searched for the recent times of all sensors together are limited", async (t) => {
  const dataDir = tempDirectory(t);
  const store = openStore(storeOptions(dataDir));
  const times = [0, 1, 2].map((hour) => START_MS + hour * HOUR_MS);
  await append(
    store,
    times.map((ms) => readingOf("slow", ms)),
  );
  await store.close();
  const db = new Database({ dataDir, checkpointBytes: 400 << 10 });
  db.open();
  t.after(() => db.close());
  const { stream = 0 } = db.read<{ stream: number }>(NEWEST_SQL.streams).get() ?? {};
  const newest = new NewestTimes(db, 2);
  assert.deepEqual(newest.recent([stream], 3).get(stream)?.timesMs, times);
  assert.deepEqual(newest.recent([stream], 3).get(stream)?.timesMs, times.slice(2));
});

test("newest times – a reading removed by retention is no longer the newest, and a late reading may be", async (t) => {
  const dataDir = tempDirectory(t);
  const clock = { now: () => START_MS, monotonic: () => performance.now(), sleep: async () => {} };
  const store = openStore(storeOptions(dataDir, { clock, uplinks: [], historyDays: 30 }));
  t.after(() => store.close());
  await append(store, [
    readingOf("old", START_MS - 31 * DAY_MS),
    readingOf("old", START_MS - 31 * DAY_MS + 1),
  ]);
  await append(store, [readingOf("new", START_MS)]);
  assert.equal(store.history.latest("old", "rpm")?.timeMs, START_MS - 31 * DAY_MS + 1);
  await store.retain();
  assert.equal(store.state().readings, 1);
  const both = ["old", "new"].map((sensor) => ({ sensor, kind: "rpm" as const }));
  const left = [...store.history.latestOf(both)].map(([{ sensor }]) => sensor);
  assert.deepEqual(left, ["new"]);
  assert.equal(store.history.latest("old", "rpm"), null);
  await append(store, [readingOf("old", START_MS - 40 * DAY_MS)]);
  assert.equal(store.history.latest("old", "rpm")?.timeMs, START_MS - 40 * DAY_MS);
  assert.equal(store.history.latest("new", "rpm")?.timeMs, START_MS);
});

test("newest times – the search uses the index and never sorts", (t) => {
  const db = new Database({ dataDir: tempDirectory(t), checkpointBytes: 400 << 10 });
  db.open();
  t.after(() => db.close());
  const { streams: _small, ...walked } = NEWEST_SQL;
  for (const sql of Object.values(walked)) {
    const detail = db.reader
      .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...Array.from({ length: sql.split("?").length - 1 }, () => 1))
      .map((row) => row.detail)
      .join("; ");
    assert.doesNotMatch(detail, /SCAN (?!json_each)|TEMP B-TREE/, `${sql}\n${detail}`);
  }
});
