import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { historyPages } from "../../../src/agent/history-pages.ts";
import { countReadings, mergedReadings } from "../../../src/core/query/merged.ts";
import { TrendBuckets } from "../../../src/core/query/trend.ts";
import { walk } from "../../../src/core/query/walk.ts";
import { MemoryHistory } from "../../support/http-parts.ts";

const T0 = Date.parse("2026-11-20T00:00:00Z");
const nothing = () => Promise.resolve();

test("merged readings – every reading of every stream, ordered by time and place in the store, whatever the streams and the page", async () => {
  const times = fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(times, { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 0, max: 60 }),
      fc.integer({ min: 0, max: 60 }),
      async (streams, from, to) => {
        const history = new MemoryHistory();
        for (const [index, at] of streams.entries()) {
          for (const t of at) {
            history.add({ sensor: `${index}`, kind: "rpm", timeMs: T0 + t, values: {} });
          }
        }
        const range = {
          streams: streams.map((_, index) => ({ sensor: `${index}`, kind: "rpm" as const })),
          fromMs: T0 + from,
          toMs: T0 + to,
        };
        const seen = [];
        for await (const { seq } of mergedReadings(history, range, nothing)) seen.push(seq);
        const expected = history.readings
          .filter(({ timeMs }) => timeMs >= T0 + from && timeMs < T0 + to)
          .sort((a, b) => a.timeMs - b.timeMs || a.seq - b.seq)
          .map(({ seq }) => seq);
        assert.deepEqual(seen, expected);
        assert.equal(await countReadings(history, range, nothing), expected.length);
      },
    ),
    { numRuns: 60 },
  );
});

test("merged readings – the event loop is not blocked between the first pages of many streams", async () => {
  const history = new MemoryHistory();
  const streams = Array.from({ length: 30 }, (_, n) => ({ sensor: `${n}`, kind: "rpm" as const }));
  for (const { sensor } of streams)
    for (let n = 0; n < 30; n++) history.add({ sensor, kind: "rpm", timeMs: T0 + n, values: {} });
  let pauses = 0;
  const readings = mergedReadings(history, { streams, fromMs: T0, toMs: T0 + 100 }, () => {
    pauses += 1;
    return Promise.resolve();
  });
  await readings.next();
  assert.ok(pauses >= streams.length, `${pauses} pauses`);
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
    count: (range) => history.count(range),
    streams: () => history.streams(),
    extent: () => history.extent(),
    latest: (sensor, kind) => history.latest(sensor, kind),
    latestOf: (wanted) => history.latestOf(wanted),
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
