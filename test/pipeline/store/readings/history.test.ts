/** What a page of history reads. */
import assert from "node:assert/strict";
import { test } from "node:test";
import Sqlite from "better-sqlite3";
import type { StoredReading } from "../../../../src/core/stored-reading.ts";
import { HOUR_MS } from "../../../../src/core/time-units.ts";
import { Database } from "../../../../src/pipeline/store/database/database.ts";
import { Streams } from "../../../../src/pipeline/store/database/streams.ts";
import { History } from "../../../../src/pipeline/store/readings/history.ts";
import {
  append,
  readingOf,
  START_MS,
  tempDirectory,
  tempStore,
} from "../../../support/temp-database.ts";

test("history – a page of a few readings reads hardly more rows than it gives, at 240 an hour", async (t) => {
  const dataDir = tempDirectory(t);
  const store = tempStore(t, { dataDir });
  const all = Array.from({ length: 960 }, (_, n) => readingOf("1", START_MS + n * 15_000));
  await append(store, all);
  const db = new Database({ dataDir, checkpointBytes: 0 });
  db.openReadOnly();
  t.after(() => db.close());
  const streams = new Streams(db);
  streams.load();
  let rows = 0;
  const counting = {
    read: (sql: string) => db.read(sql),
    readArrays: (sql: string) => ({
      all: (...parameters: unknown[]) => {
        const found = db.readArrays(sql).all(...(parameters as never[]));
        if (sql.includes("r.hour = ?")) rows += found.length;
        return found;
      },
    }),
  };
  const history = new History(counting as unknown as Database, streams, null);
  const query = { sensor: "1", kind: "rpm" as const, fromMs: START_MS, toMs: START_MS + 4e7 };
  for (const limit of [1, 8, 300]) {
    rows = 0;
    const newest: number[] = [];
    for (const { timeMs } of history.range({ ...query, order: "desc", limit })) {
      newest.unshift(timeMs);
      if (newest.length === limit) break;
    }
    assert.deepEqual(
      newest,
      all.slice(-limit).map(({ timeMs }) => timeMs),
    );
    assert.ok(rows <= 2 * limit + 1, `${rows} rows read for ${limit}`);
  }
});

test("merged history – every reading of every sensor once, by time and place in the store, however many share an hour or a time", async (t) => {
  const store = tempStore(t);
  const sensors = ["1", "2", "3", "4"];
  // Out of order and with equal times; one hour has more than one order of 5,000, others a few, others none.
  for (const [index, sensor] of sensors.entries()) {
    const times = [
      ...Array.from({ length: 1_700 }, (_, n) => START_MS + ((n * 7_919) % 3_000) * 1_000 + index),
      ...Array.from({ length: 200 }, () => START_MS + 600_000),
      ...Array.from({ length: 9 }, (_, n) => START_MS + (30 - n) * 5 * HOUR_MS),
    ].map((at, n) => readingOf(sensor, at, { salt: `${n}` }));
    await append(store, times);
  }
  const streams = [...sensors, "never seen"].map((sensor) => ({ sensor, kind: "rpm" as const }));
  const pages = [...store.history.merged({ streams, fromMs: -9e15, toMs: 9e15 })];
  const seen = pages.flat();
  assert.equal(seen.length, sensors.length * 1_909);
  assert.ok(Math.max(...pages.map(({ length }) => length)) <= 200);
  for (const [index, { timeMs, seq }] of seen.entries()) {
    const before = seen[index - 1];
    if (before === undefined) continue;
    assert.ok(before.timeMs < timeMs || (before.timeMs === timeMs && before.seq < seq), `${index}`);
  }
  const range = { fromMs: START_MS + 600_000, toMs: START_MS + 25 * HOUR_MS };
  const some = streams.slice(1, 3);
  const expected = seen.filter(
    ({ sensor, timeMs }) =>
      (sensor === "2" || sensor === "3") && timeMs >= range.fromMs && timeMs < range.toMs,
  );
  assert.deepEqual([...store.history.merged({ streams: some, ...range })].flat(), expected);
  assert.deepEqual([...store.history.merged({ streams: streams.slice(4), ...range })].flat(), []);
});

test("merged history – of one sensor what that of many has; in brief the same texts, and an empty one for each that is damaged", async (t) => {
  const dataDir = tempDirectory(t);
  const store = tempStore(t, { dataDir });
  // Several pages share an hour and a time, hours share a page, and some have none.
  const times = [
    ...Array.from({ length: 450 }, (_, n) => START_MS + ((n * 7_919) % 3_000) * 1_000),
    ...Array.from({ length: 450 }, () => START_MS + 600_000),
    ...Array.from({ length: 300 }, (_, n) => START_MS + (n + (n % 7)) * HOUR_MS),
  ];
  const readings = times.map((at, n) =>
    readingOf("1", at, { salt: `${n}`, values: { rpm: n }, attributes: { version: n } }),
  );
  await append(store, readings);
  await append(store, [readingOf("2", START_MS + 9_000 * HOUR_MS)]);
  const streams = [{ sensor: "1", kind: "rpm" as const }];
  const both = [...streams, { sensor: "2", kind: "rpm" as const }];
  const ranges = [
    { fromMs: -9e15, toMs: START_MS + 8_000 * HOUR_MS },
    { fromMs: START_MS + 600_000, toMs: START_MS + 600_001 },
    { fromMs: START_MS + 600_001, toMs: START_MS + 25 * HOUR_MS + 1 },
  ];
  for (const range of ranges) {
    const pages = [...store.history.merged({ streams, ...range })];
    assert.ok(Math.max(...pages.map(({ length }) => length)) <= 200);
    const expected = [...store.history.merged({ streams: both, ...range })].flat();
    assert.ok(expected.length > 25);
    assert.deepEqual(pages.flat(), expected);
    const told = ({ seq, sensor, kind, timeMs, values, units }: StoredReading) =>
      [seq, sensor, kind, timeMs, values, units].join();
    const more = (reading: StoredReading) => `${told(reading)} ${reading.attributes}`;
    for (const asked of [streams, both])
      for (const [needs, shown] of [
        ["values", told],
        ["attributes", more],
      ] as const) {
        const brief = [...store.history.merged({ streams: asked, ...range, needs })].flat();
        assert.deepEqual(brief.map(shown), expected.map(shown));
      }
  }
  const db = new Sqlite(`${dataDir}/gateside.db`);
  db.exec(`UPDATE readings SET "values" = 's' || substr("values", 2) WHERE seq % 10 = 3;
    UPDATE readings SET attributes = CAST(attributes AS BLOB) WHERE seq % 10 = 4`);
  db.close();
  for (const asked of [streams, both])
    for (const page of store.history.merged({
      streams: asked,
      fromMs: -9e15,
      toMs: 9e15,
      needs: "attributes",
    }))
      for (const { seq, values, attributes } of page) {
        assert.equal(values === "{}", seq % 10 === 3);
        assert.equal(attributes === "{}", seq % 10 === 4);
      }
});

test("merged history – many sensors without readings in many hours: others have their turn", async (t) => {
  const store = tempStore(t);
  const silent = Array.from({ length: 300 }, (_, n) => `${n}`);
  for (const sensor of silent) await append(store, [readingOf(sensor, START_MS + 100 * HOUR_MS)]);
  await append(
    store,
    Array.from({ length: 100 }, (_, n) => readingOf("other", START_MS + n * HOUR_MS)),
  );
  const streams = silent.map((sensor) => ({ sensor, kind: "rpm" as const }));
  const query = { streams, fromMs: START_MS, toMs: START_MS + 101 * HOUR_MS };
  const pages = [...store.history.merged(query)].map(({ length }) => length);
  // 300 look-ups in each of 101 hours, at most some 2,000 at a time.
  assert.ok(pages.filter((length) => length === 0).length >= 12, pages.join());
  assert.equal(
    pages.reduce((sum, length) => sum + length),
    300,
  );
});
