/** `GET /api/v1/trend` over a real store: readings, hours and days, also of readings that have left. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Trend } from "../../../src/core/query/shown.ts";
import type { Reading } from "../../../src/core/reading.ts";
import type { ScaleChange } from "../../../src/core/scaling.ts";
import { DAY_MS, HOUR_MS } from "../../../src/core/time-units.ts";
import { createApp } from "../../../src/http/server.ts";
import { historyPages } from "../../../src/pipeline/store/readings/history-pages.ts";
import { openStore } from "../../../src/pipeline/store/sqlite-store.ts";
import { OPTIONS, testParts } from "../../support/http-parts.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import {
  append,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
} from "../../support/temp-database.ts";

async function box(
  t: TestContext,
  readings: readonly Reading[],
  afterMs: number,
  historyDays = 2,
  changes: readonly ScaleChange[] = [],
) {
  const clock = new ManualClock(START_MS);
  const store = openStore(storeOptions(tempDirectory(t), { clock, historyDays, uplinks: [] }));
  t.after(() => store.close());
  await append(store, readings);
  await clock.advance(afterMs);
  await store.retain();
  const app = createApp(
    {
      ...testParts(),
      history: historyPages(store.history),
      hours: store.hours,
      gatewayNow: () => clock.now(),
      scaleChanges: (code) => (code === "1" ? changes : []),
    },
    OPTIONS,
  );
  t.after(() => app.close());
  const trend = async (fromMs: number, toMs: number, more = ""): Promise<Trend> => {
    const range = `from=${new Date(fromMs).toISOString()}&to=${new Date(toMs).toISOString()}`;
    const url = `/api/v1/trend?sensor=1&kind=loop&${range}${more}`;
    const answer = await app.inject({ url, headers: { host: "localhost" } });
    assert.equal(answer.statusCode, 200, answer.body);
    return answer.json();
  };
  return { store, trend };
}

const reading = (
  atMs: number,
  channel1: number | null,
  unit = "bar",
  more: Partial<Reading> = {},
) =>
  readingOf("1", START_MS + atMs, {
    kind: "loop",
    values: { channel1 },
    units: { channel1: unit },
    ...more,
  });

test("trend – auto takes readings, hours or days by the width of a bucket, and coarser ones where the finer are gone", async (t) => {
  // A reading every half hour for six days, of which the first four have left.
  const readings = Array.from({ length: 288 }, (_, n) => reading((n * HOUR_MS) / 2, n));
  const { trend } = await box(t, readings, 6 * DAY_MS);
  const endMs = START_MS + 6 * DAY_MS;
  const held = await trend(endMs - DAY_MS, endMs, "&buckets=100");
  assert.deepEqual([held.resolution, held.readings], ["readings", 48]);
  const hours = await trend(endMs - 2 * DAY_MS, endMs, "&buckets=48");
  assert.deepEqual([hours.resolution, hours.bucketMs], ["hours", HOUR_MS]);
  assert.deepEqual(
    hours.series["channel1"]?.count,
    Array.from({ length: 48 }, () => 2),
  );
  const gone = await trend(START_MS, endMs, "&buckets=2000");
  assert.deepEqual([gone.resolution, gone.readings, gone.bucketMs], ["hours", 288, HOUR_MS]);
  const days = await trend(START_MS, endMs, "&buckets=6");
  assert.deepEqual([days.resolution, days.bucketMs], ["days", DAY_MS]);
  assert.deepEqual(days.series["channel1"]?.min, [0, 48, 96, 144, 192, 240]);
  assert.deepEqual(days.series["channel1"]?.mean.map(Math.round), [24, 72, 120, 168, 216, 264]);
  assert.deepEqual(
    days.series["channel1"]?.timesMs,
    [0, 1, 2, 3, 4, 5].map((day) => START_MS + day * DAY_MS),
  );
  assert.equal(days.sinceMs, START_MS);
  const left = await trend(START_MS, endMs, "&buckets=2000&resolution=readings");
  assert.ok(left.readings < 288 && left.readings >= 96, `${left.readings}`);
});

test("trend – a change of what a value is of is marked within the range, for readings and hours", async (t) => {
  const readings = Array.from({ length: 48 }, (_, n) => reading(n * HOUR_MS, n));
  const text = "0 to 100 % becomes 0 to 100 %, by the square root";
  const at = (key: string, hour: number) => ({ key, timeMs: START_MS + hour * HOUR_MS, text });
  const changes = [at("loop/channel1", 3), at("loop/channel2", 3), at("loop/channel1", 30)];
  const { trend } = await box(t, readings, 2 * DAY_MS, 7, changes);
  for (const resolution of ["readings", "hours"]) {
    const day = await trend(START_MS, START_MS + DAY_MS, `&resolution=${resolution}`);
    assert.deepEqual(day.changes, [{ timeMs: START_MS + 3 * HOUR_MS, values: ["channel1"], text }]);
  }
  const other = await trend(START_MS + 10 * HOUR_MS, START_MS + DAY_MS);
  assert.equal("changes" in other, false);
});

test("trend – a point belongs to the range in which it begins: ranges side by side count everything once", async (t) => {
  const readings = Array.from({ length: 200 }, (_, n) => reading(n * 17 * 60_000, n));
  const { trend } = await box(t, readings, 3 * DAY_MS, 30);
  for (const resolution of ["readings", "hours", "days"]) {
    const cuts = [-DAY_MS, 0.4 * DAY_MS, 0.41 * DAY_MS, 1.5 * DAY_MS, 4 * DAY_MS];
    let count = 0;
    for (const [n, cut] of cuts.slice(1).entries()) {
      const from = START_MS + (cuts[n] ?? 0);
      const part = await trend(from, START_MS + cut, `&resolution=${resolution}&buckets=7`);
      const { timesMs = [], count: counts = [] } = part.series["channel1"] ?? {};
      count += counts.reduce((sum, one) => sum + one, 0);
      assert.ok(
        timesMs.every((ms) => ms >= from && ms < START_MS + cut),
        resolution,
      );
      const spanMs = { readings: 1, hours: HOUR_MS, days: DAY_MS }[resolution] ?? 1;
      assert.equal(part.bucketMs % spanMs, 0);
    }
    assert.equal(count, 200, resolution);
  }
});

test("trend – another unit is another line under `formerly`; uncertain and bad ones are counted, points without a number left out", async (t) => {
  const uncertain = { quality: { channel1: { quality: "uncertain", reason: "clipped" } } } as const;
  const bad = { quality: { channel1: { quality: "bad", reason: "wire_break" } } } as const;
  const { trend } = await box(
    t,
    [
      reading(0, 1),
      reading(1000, 2, "bar", uncertain),
      reading(2000, null, "bar", bad),
      reading(HOUR_MS, null, "bar", bad),
      reading(2 * HOUR_MS, 2000, "mbar"),
    ],
    HOUR_MS,
  );
  for (const resolution of ["readings", "hours"]) {
    const { series } = await trend(
      START_MS,
      START_MS + DAY_MS,
      `&resolution=${resolution}&buckets=24`,
    );
    const { unit, min, count, formerly } = series["channel1"] ?? {};
    assert.deepEqual([unit, min, count], ["mbar", [2000], [1]]);
    assert.equal(formerly?.length, 1);
    const [bar] = formerly ?? [];
    assert.deepEqual(
      [
        bar?.unit,
        bar?.min,
        bar?.max,
        bar?.mean,
        bar?.count,
        bar?.uncertain,
        bar?.bad,
        bar?.doubtful,
      ],
      ["bar", [1], [2], [1.5], [2], [1], [1], [2]],
    );
  }
});

test("trend – every value of a sensor with 200 bands has its line", async (t) => {
  const names = Array.from({ length: 200 }, (_, n) => `channel1_band_${n}`);
  const values = Object.fromEntries(names.map((name) => [name, 1]));
  const { trend } = await box(t, [reading(0, 1, "bar", { values, units: {} })], HOUR_MS);
  for (const resolution of ["readings", "hours"]) {
    const query = `&resolution=${resolution}&buckets=1`;
    const { series } = await trend(START_MS, START_MS + DAY_MS, query);
    assert.equal(Object.keys(series).length, names.length, resolution);
  }
});
