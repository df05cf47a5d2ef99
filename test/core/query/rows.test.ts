import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { historyPages } from "../../../src/agent/history-pages.ts";
import { newestRows } from "../../../src/core/query/newest-rows.ts";
import { TrendBuckets } from "../../../src/core/query/trend.ts";
import { walk } from "../../../src/core/query/walk.ts";
import { MemoryHistory } from "../../support/http-parts.ts";

const T0 = Date.parse("2026-11-20T00:00:00Z");
const nothing = () => Promise.resolve();

test("newest rows – equal the last ones of all rows sorted, whatever the streams, the cap and the page", async () => {
  const times = fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(times, { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 0, max: 60 }),
      fc.integer({ min: 0, max: 60 }),
      async (streams, rowsMax, from, to) => {
        const history = new MemoryHistory();
        for (const [index, at] of streams.entries()) {
          for (const t of at) {
            history.add({ sensor: `${index}`, kind: "rpm", timeMs: T0 + t, values: {} });
          }
        }
        const rows = await newestRows(
          history,
          {
            streams: streams.map((_, index) => ({ sensor: `${index}`, kind: "rpm" })),
            fromMs: T0 + from,
            toMs: T0 + to,
            rowsMax,
            rowsOf: ({ seq, timeMs }) => [[timeMs, seq, 1] as const, [timeMs, seq, 2] as const],
          },
          nothing,
        );
        const expected = history.readings
          .filter(({ timeMs }) => timeMs >= T0 + from && timeMs < T0 + to)
          .sort((a, b) => a.timeMs - b.timeMs || a.seq - b.seq)
          .flatMap(({ seq, timeMs }) => [
            [timeMs, seq, 1],
            [timeMs, seq, 2],
          ])
          .slice(-rowsMax);
        assert.deepEqual(rows, expected);
      },
    ),
    { numRuns: 60 },
  );
});

test("newest rows – no more is read than a page beyond what is answered", async () => {
  const history = new MemoryHistory();
  for (let n = 0; n < 3000; n++)
    history.add({ sensor: "1", kind: "rpm", timeMs: T0 + n, values: {} });
  const request = {
    streams: [{ sensor: "1", kind: "rpm" as const }],
    fromMs: 0,
    toMs: T0 + 9e9,
    rowsMax: 10,
  };
  const rows = await newestRows(history, { ...request, rowsOf: ({ seq }) => [seq] }, nothing);
  assert.deepEqual(rows, [2991, 2992, 2993, 2994, 2995, 2996, 2997, 2998, 2999, 3000]);
  assert.ok(history.rowsRead <= 200);
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
    latest: (sensor, kind) => history.latest(sensor, kind),
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

test("trend – keeps every bucket's lowest and highest; bad values are holes and doubt is counted", () => {
  const history = new MemoryHistory();
  const trend = new TrendBuckets(T0, T0 + 1000, 10, null);
  const add = (at: number, value: number | null, quality = {}) =>
    trend.add(
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
    doubtful: [1, 0],
  });
});
