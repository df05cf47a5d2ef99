import assert from "node:assert/strict";
import { test } from "node:test";
import { TrendBuckets } from "../../../src/core/query/trend.ts";
import { countReadings, walk } from "../../../src/core/query/walk.ts";
import { historyPages } from "../../../src/pipeline/store/readings/history-pages.ts";
import { MemoryHistory } from "../../support/http-parts.ts";

const T0 = Date.parse("2026-11-20T00:00:00Z");

test("count of readings – of all sensors, estimated from the hours counted once there is no more time", async () => {
  const history = new MemoryHistory();
  const streams = Array.from({ length: 30 }, (_, n) => ({ sensor: `${n}`, kind: "rpm" as const }));
  const HOUR_MS = 3_600_000;
  for (const { sensor } of streams)
    for (let n = 0; n < 8; n++)
      history.add({ sensor, kind: "rpm", timeMs: T0 + n * HOUR_MS, values: {} });
  const range = { streams, fromMs: T0, toMs: T0 + 8 * HOUR_MS };
  let pauses = 0;
  const pause = () => Promise.resolve(void (pauses += 1));
  assert.equal(await countReadings(history, range, pause), 240);
  assert.equal(pauses, 8, "others have their turn after each");
  assert.equal(await countReadings(history, range, pause, () => pauses >= 12), 240);
  assert.equal(await countReadings(history, { ...range, streams: [] }, pause), 0);
});

test("walk – pages, windows and readings of one millisecond lose and repeat nothing, in both directions", async () => {
  const history = new MemoryHistory();
  for (let n = 0; n < 40; n++) {
    history.add({
      sensor: "1",
      kind: "rpm",
      timeMs: T0 + Math.floor(n / 7) * 17 * 86_400_000,
      values: {},
    });
  }
  const lazily = historyPages({
    counts: (range, isEnough) => history.counts(range, isEnough),
    streams: () => history.streams(),
    extent: () => history.extent(),
    latest: (sensor, kind) => history.latest(sensor, kind),
    latestOf: (wanted) => history.latestOf(wanted),
    newestSeq: () => history.newestSeq(),
    merged: (range) => history.merged(range),
    range: ({ order, ...rest }) =>
      history.page({
        ...rest,
        order: order === "asc" ? "ascending" : "descending",
        after: null,
        limit: 1e9,
      }),
  });
  const all = history.readings.map(({ seq }) => seq);
  for (const reader of [history, lazily]) {
    for (const order of ["ascending", "descending"] as const) {
      let pauses = 0;
      const pause = () => Promise.resolve(void (pauses += 1));
      const seen: number[] = [];
      const range = { sensor: "1", kind: "rpm", fromMs: -9e15, toMs: 9e15, order } as const;
      for await (const { seq } of walk(reader, range, pause, 3)) seen.push(seq);
      assert.deepEqual(seen, order === "ascending" ? all : all.toReversed());
      assert.ok(pauses > 10);
    }
  }
});

test("trend – keeps the lowest and highest value of every bucket; bad values are gaps and uncertain ones are counted", () => {
  const history = new MemoryHistory();
  const range = { fromMs: T0, toMs: T0 + 1000, buckets: 10, names: null };
  const trend = new TrendBuckets("readings", range);
  const add = (at: number, value: number | null, quality = {}) =>
    trend.addReading(
      history.add({
        sensor: "1",
        kind: "rpm",
        timeMs: T0 + at,
        values: { rpm: value, on: true, text: "A" },
        units: { rpm: "rpm" },
        quality,
      }),
    );
  add(10, 5);
  add(20, -7);
  add(30, 9, { rpm: { quality: "uncertain", reason: "clipped" } });
  add(250, null, { rpm: { quality: "bad", reason: "missing" } });
  add(990, 4);
  const { series, readings, bucketMs } = trend.result();
  assert.deepEqual([readings, bucketMs], [5, 100]);
  assert.deepEqual(Object.keys(series), ["rpm", "on"]);
  assert.deepEqual(series["rpm"], {
    unit: "rpm",
    timesMs: [T0 + 50, T0 + 990],
    min: [-7, 4],
    max: [9, 4],
    mean: [7 / 3, 4],
    count: [3, 1],
    uncertain: [1, 0],
    bad: [0, 0],
    doubtful: [1, 0],
    formerly: [],
  });
});

test("trend – a value whose unit was changed is one series per unit, never one line through both", () => {
  const history = new MemoryHistory();
  const range = { fromMs: T0, toMs: T0 + 1000, buckets: 2, names: null };
  const trend = new TrendBuckets("readings", range);
  const add = (at: number, value: number, unit: string) => {
    const reading = history.add({
      sensor: "1",
      kind: "loop",
      timeMs: T0 + at,
      values: { channel1: value },
      units: { channel1: unit },
    });
    trend.addReading(reading);
    return reading;
  };
  add(10, 5, "bar");
  add(20, 7, "bar");
  add(30, 600, "kPa");
  const newest = trend.result().series["channel1"];
  assert.deepEqual([newest?.unit, newest?.formerly.map(({ unit }) => unit)], ["kPa", ["bar"]]);
  add(900, 500, "kPa");
  const { channel1 } = trend.result().series;
  assert.deepEqual([channel1?.unit, channel1?.max], ["kPa", [600, 500]]);
  const [bar, ...more] = channel1?.formerly ?? [];
  assert.deepEqual([bar?.unit, bar?.min, bar?.max, more], ["bar", [5], [7], []]);
  // Corrected back within the same bucket.
  trend.endWith(add(950, 5, "bar"));
  const back = trend.result().series["channel1"];
  assert.deepEqual([back?.unit, back?.formerly.map(({ unit }) => unit)], ["bar", ["kPa"]]);
});
