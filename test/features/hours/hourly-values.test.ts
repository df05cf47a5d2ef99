import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import Sqlite from "better-sqlite3";
import type { Clock } from "../../../src/core/ports.ts";
import { DAY_MS, HOUR_MS } from "../../../src/core/time-units.ts";
import { HourRows } from "../../../src/features/hours/hour-rows.ts";
import { HourlyValues } from "../../../src/features/hours/hourly-values.ts";
import { mendHours } from "../../../src/features/hours/mend-hours.ts";
import { APPLICATION_ID, migrate, STEPS } from "../../../src/pipeline/store/database/migrate.ts";
import { rollBack } from "../../../src/pipeline/store/database/rollback.ts";
import { Streams } from "../../../src/pipeline/store/database/streams.ts";
import { openStore } from "../../../src/pipeline/store/sqlite-store.ts";
import type { Store, StoreOptions } from "../../../src/pipeline/store/store.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import {
  append,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
} from "../../support/temp-database.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { openQueue } from "../../support/write-queue.ts";

/** Counts of rpm by hour or day, `hours since START_MS: count`. */
function counts(store: Store, span: "hours" | "days" = "hours", sensor = "1"): string[] {
  const query = { sensor, kind: "rpm", fromMs: -1e15, toMs: 1e15, span, values: ["rpm"] } as const;
  return [...store.hours.points(query)].map(
    ({ startMs, series }) =>
      `${(startMs - START_MS) / HOUR_MS}: ${series.map(({ count }) => count)}`,
  );
}

const rows = (path: string, table: string): number => {
  const db = new Sqlite(path, { readonly: true });
  try {
    return Number(db.prepare(`SELECT count(*) FROM ${table}`).pluck().get());
  } finally {
    db.close();
  }
};

function box(t: Parameters<typeof tempDirectory>[0], options: Partial<StoreOptions> = {}) {
  const dataDir = tempDirectory(t);
  const clock = new ManualClock(START_MS);
  const open = (more: Partial<StoreOptions> = {}) =>
    openStore(storeOptions(dataDir, { clock, ...options, ...more }));
  return { dataDir, path: join(dataDir, "gateside.db"), clock, open };
}

const at = (hours: number, more: Parameters<typeof readingOf>[2] = {}) =>
  readingOf("1", START_MS + hours * HOUR_MS, more);

test("hourly values – the current hour writes nothing; an hour is written once, an hour after its end, and a day with its last hour", async (t) => {
  const { clock, open, path } = box(t);
  const store = open();
  t.after(() => store.close());
  for (const hours of [0, 0.5, 0.9]) await append(store, [at(hours)]);
  await store.retain();
  assert.equal(rows(path, "hours"), 0);
  assert.deepEqual(counts(store), ["0: 3"]);
  await clock.advance(2 * HOUR_MS);
  await store.retain();
  assert.equal(rows(path, "hours"), 1);
  assert.deepEqual(counts(store), ["0: 3"]);
  // Late: the hour that is written already follows in the same transaction.
  await append(store, [at(0.7)]);
  assert.deepEqual(counts(store), ["0: 4"]);
  assert.equal(rows(path, "days"), 0);
  await clock.advance(DAY_MS);
  await store.retain();
  assert.equal(rows(path, "days"), 1);
  await append(store, [at(0.8), at(5)]);
  assert.deepEqual(counts(store, "days"), ["0: 6"]);
  assert.deepEqual(counts(store), ["0: 5", "5: 1"]);
});

test("hourly values – over a quarter of the buffer the oldest hours are merged to days, then the oldest days go; late readings still count", async (t) => {
  const { clock, open } = box(t, { bufferMaxMb: 8, historyDays: 2 });
  const store = open();
  t.after(() => store.close());
  // Rows of about 400 values, so that the 2 MB are full after weeks.
  const values = Object.fromEntries(
    Array.from({ length: 400 }, (_, n) => [`value${n}`, Math.sqrt(n + 2)]),
  );
  const days = 30;
  for (let day = 0; day < days; day += 1) {
    const readings = Array.from({ length: 24 }, (_, hour) =>
      at(day * 24 + hour, { values: { ...values, rpm: hour + Math.SQRT2 }, units: {} }),
    );
    await append(store, readings);
    await clock.advance(DAY_MS);
    store.outbox.lease("json", "live", 100);
    const entries = store.outbox.lease("json", "backlog", 100);
    void store.outbox.settle(
      "json",
      entries.map((entry) => ({ entry, outcome: "sent" as const })),
    );
    await store.retain();
  }
  const { hours } = store.state();
  assert.ok(
    hours.bytes <= hours.limitBytes && hours.bytes > 0.9 * hours.limitBytes,
    JSON.stringify(hours),
  );
  assert.equal(hours.oldestDayMs, START_MS);
  assert.ok((hours.oldestHourMs ?? 0) > START_MS + 5 * DAY_MS);
  assert.deepEqual(
    counts(store, "days"),
    Array.from({ length: days }, (_, day) => `${day * 24}: 24`),
  );
  await append(store, [at(3.5, { units: {} })]);
  assert.equal(counts(store, "days")[0], "0: 25");
});

test("hourly values – a day that is not over keeps its hours, even where they alone are over the limit", async (t) => {
  const { clock, dataDir, open, path } = box(t);
  const store = open();
  await append(store, [at(0), at(1), at(26)]);
  await clock.advance(30 * HOUR_MS);
  await store.retain();
  await store.close();
  assert.equal(rows(path, "hours"), 3);
  const { db, queue } = openQueue(t, { dataDir });
  const hours = new HourlyValues({ db, queue, streams: new Streams(db) }, 3650);
  const thin = () => [hours.thin(), rows(path, "hours"), rows(path, "days")];
  // Yesterday's hours are merged to its day, which goes next; today's stay.
  assert.deepEqual(
    [thin(), thin(), thin()],
    [
      [true, 1, 1],
      [true, 1, 0],
      [false, 1, 0],
    ],
  );
});

test("hourly values – what a damaged store lost of a day counts once when it is read again", async (t) => {
  const { clock, dataDir, open, path } = box(t);
  let store = open();
  await append(store, [at(0), at(1), at(2), at(25), at(26)]);
  await clock.advance(3 * DAY_MS);
  await store.retain();
  await store.close();
  const wanted = ["0: 3", "24: 2"];
  const { db, queue } = openQueue(t, { dataDir });
  const hours = new HourlyValues({ db, queue, streams: new Streams(db) }, 3650);
  // Both days are all there is of their hours.
  assert.deepEqual([hours.thin(), hours.thin(), rows(path, "hours")], [true, true, 0]);
  db.write("DELETE FROM readings WHERE time_ms >= ?").run(START_MS + DAY_MS);
  mendHours(db, HourRows.written(db, new Streams(db)), { identities: false });
  db.close();
  store = open();
  t.after(() => store.close());
  assert.deepEqual(counts(store, "days"), wanted);
  await append(store, [at(25), at(26)]);
  assert.deepEqual(counts(store, "days"), wanted);
  await append(store, [at(27)]);
  assert.deepEqual(counts(store, "days"), ["0: 3", "24: 3"]);
});

test("hourly values – a long range is answered by whole days, with hours before the first and after the last midnight", async (t) => {
  const { open } = box(t);
  const store = open();
  t.after(() => store.close());
  await append(
    store,
    Array.from({ length: 4 * 24 }, (_, hour) => at(hour)),
  );
  /** Hours since START_MS, a midnight, and counts. */
  const points = (from: number, to: number) => {
    const range = { fromMs: START_MS + from * HOUR_MS, toMs: START_MS + to * HOUR_MS };
    const query = { sensor: "1", kind: "rpm", span: "hours", takesDays: true } as const;
    return [...store.hours.points({ ...query, ...range, values: ["rpm"] })].map(
      ({ startMs, readings }) => `${(startMs - START_MS) / HOUR_MS}: ${readings}`,
    );
  };
  assert.deepEqual(points(22, 74), ["22: 1", "23: 1", "24: 24", "48: 24", "72: 1", "73: 1"]);
  assert.deepEqual(points(24, 48), ["24: 24"]);
  assert.deepEqual(points(23, 25), ["23: 1", "24: 1"]);
  assert.deepEqual(points(26, 28), ["26: 1", "27: 1"]);
});

test("hourly values – TREND_DAYS ends them, while nobody has confirmed the clock nothing does", async (t) => {
  let isConfirmed = false;
  const { clock, open } = box(t, {
    count: (parts) => new HourlyValues(parts, 30),
    isClockConfirmed: () => isConfirmed,
  });
  const store = open();
  t.after(() => store.close());
  await append(store, [at(1), at(40 * 24)]);
  await clock.advance(45 * DAY_MS);
  await store.retain();
  assert.deepEqual(counts(store, "days"), ["0: 1", "960: 1"]);
  isConfirmed = true;
  await store.retain();
  assert.deepEqual(counts(store, "days"), ["960: 1"]);
});

test("hourly values – an agent that starts with months of them to file is busy for a second of ten, and first reads", async (t) => {
  const { clock, open, path } = box(t);
  let store = open();
  await append(
    store,
    Array.from({ length: 30 }, (_, hour) => at(hour)),
  );
  await store.close();
  await clock.advance(2 * DAY_MS);
  // Each commit takes 400 ms.
  const busy: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic() + 400 * store.statistics.commits,
    sleep: (ms, signal) => clock.sleep(ms, signal),
  };
  store = open({ clock: busy });
  const abort = new AbortController();
  t.after(() => store.close());
  const running = store.runRetention(abort.signal);
  const filed: number[] = [];
  for (let pass = 0; pass < 4; pass += 1) {
    // The watch over the log sleeps beside it.
    await waitUntil("the end of a pass", () => clock.sleeping > 1);
    filed.push(rows(path, "hours"));
    await clock.advance(10_000);
  }
  assert.deepEqual(filed, [0, 3, 6, 9]);
  assert.equal(counts(store).length, 30);
  abort.abort();
  await running;
});

test("hourly values – a store of 0.2 is counted from what it still holds, also while that goes on and after a restart", async (t) => {
  const { clock, dataDir, open, path } = box(t);
  const old = new Sqlite(path);
  old.pragma("auto_vacuum = INCREMENTAL");
  old.pragma(`application_id = ${APPLICATION_ID}`);
  migrate(old, path, STEPS.slice(0, 5));
  old.exec(`INSERT INTO lanes (lane, uplink, format) VALUES (0, 'main', 'json');
    INSERT INTO streams VALUES (1, '1', 'rpm'); INSERT INTO unit_sets VALUES (1, '{"rpm":"rpm"}');`);
  for (let n = 0; n < 60; n += 1)
    old
      .prepare(
        `INSERT INTO readings (stream, time_ms, id, is_future, stored_at_ms, unit_set, "values", quality, attributes, raw)
         VALUES (1, ?, ?, 0, 0, 1, '{"rpm":1480.5}', '{}', '{}', '{}')`,
      )
      .run(START_MS + (n * HOUR_MS) / 2, Buffer.alloc(16, `reading ${n}`));
  old.close();
  await clock.advance(2 * DAY_MS);
  const wanted = Array.from({ length: 30 }, (_, hour) => `${hour}: 2`);
  let store = open();
  assert.deepEqual(counts(store), wanted);
  const abort = new AbortController();
  const running = store.runRetention(abort.signal);
  abort.abort();
  await running;
  await store.close();
  store = open();
  assert.deepEqual(counts(store), wanted);
  await store.retain();
  assert.deepEqual(counts(store), wanted);
  assert.deepEqual(counts(store, "days"), ["0: 48", "24: 12"]);
  await store.close();
  assert.equal(rows(path, "hours"), 30);
  assert.ok(dataDir.length > 0);
});

test("hourly values – a roll-back keeps them, and the next upgrade adds what is still stored", async (t) => {
  const { clock, dataDir, open, path } = box(t);
  let store = open();
  await append(store, [at(0), at(0.5)]);
  await clock.advance(2 * DAY_MS);
  await store.retain();
  await store.close();
  rollBack(dataDir, 5);
  const old = new Sqlite(path);
  // What left before must stay counted; a late reading came under the older version.
  old.exec("DELETE FROM readings WHERE seq = 1");
  old
    .prepare(
      `INSERT INTO readings (stream, time_ms, id, is_future, stored_at_ms, unit_set, "values", quality, attributes, raw)
       VALUES (1, ?, ?, 0, 0, 1, '{"rpm":1480.5}', '{}', '{}', '{}')`,
    )
    .run(START_MS + 0.9 * HOUR_MS, Buffer.alloc(16, "late"));
  old.close();
  store = open();
  assert.deepEqual(counts(store), ["0: 3"]);
  await store.retain();
  assert.deepEqual([counts(store), counts(store, "days")], [["0: 3"], ["0: 3"]]);
  await store.close();
});

test("hourly values – a reading of another unit is another series, texts have none, zones and contacts are numbers", async (t) => {
  const { open } = box(t);
  const store = open();
  t.after(() => store.close());
  await append(store, [
    at(0, { values: { a: 2, c_zone: "C", on: true, text: "B" }, units: { a: "bar" } }),
    at(0.1, { values: { a: 1e308, c_zone: "A", on: false }, units: { a: "mbar" } }),
    at(0.2, {
      values: { a: 1e308 },
      units: { a: "mbar" },
      quality: { a: { quality: "uncertain", reason: "clipped" } },
    }),
    at(0.3, {
      values: { a: null },
      units: { a: "mbar" },
      quality: { a: { quality: "bad", reason: "missing" } },
    }),
    at(0.4, { values: { a: 5 }, attributes: { flags: ["time_in_future"] } }),
  ]);
  const query = {
    sensor: "1",
    kind: "rpm",
    fromMs: 0,
    toMs: 1e15,
    span: "hours",
    values: null,
  } as const;
  const [point] = [...store.hours.points(query)];
  assert.deepEqual(
    (point?.series ?? []).map(({ value, unit, count, min, mean, max, uncertain, bad }) =>
      [value, unit, count, min, mean, max, uncertain, bad].join(" "),
    ),
    [
      "a bar 1 2 2 2 0 0",
      "c_zone  2 1 2 3 0 0",
      "on  2 0 0.5 1 0 0",
      "a mbar 2 1e+308 1e+308 1e+308 1 1",
    ],
  );
});
