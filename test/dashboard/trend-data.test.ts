import assert from "node:assert/strict";
import { test } from "node:test";
import type { Trend } from "../../src/core/query/shown.ts";
import { alignTrend, centred } from "../../src/dashboard/trend-data.ts";

const MINUTE_MS = 60_000;

function trendOf(series: Record<string, { minutes: number[]; doubtful?: number[] }>): Trend {
  return {
    sensor: "1",
    kind: "loop",
    resolution: "readings",
    sinceMs: 0,
    fromMs: 0,
    toMs: 100 * MINUTE_MS,
    bucketMs: MINUTE_MS,
    readings: 0,
    series: Object.fromEntries(
      Object.entries(series).map(([name, { minutes, doubtful }]) => [
        name,
        {
          unit: "bar",
          timesMs: minutes.map((minute) => minute * MINUTE_MS),
          min: minutes.map((minute) => minute - 1),
          max: minutes.map((minute) => minute + 1),
          mean: minutes,
          doubtful: doubtful ?? minutes.map(() => 0),
          count: minutes.map(() => 1),
          uncertain: minutes.map(() => 0),
          bad: minutes.map(() => 0),
          formerly: [],
        },
      ]),
    ),
  };
}

test("trend – a gap of more than three intervals breaks the line, a shorter one does not", () => {
  const trend = trendOf({ a: { minutes: [0, 1, 4, 20, 21] } });
  const { x, columns } = alignTrend(trend, ["a"], MINUTE_MS);
  assert.deepEqual(
    x.map((seconds) => seconds / 60),
    [0, 1, 4, 12, 20, 21],
  );
  assert.deepEqual(columns[0]?.mean, [0, 1, 4, null, 20, 21]);
  assert.deepEqual(columns[0]?.max, [1, 2, 5, null, 21, 22]);
});

test("trend – a gap in one value does not break the line of another", () => {
  const trend = trendOf({ a: { minutes: [0, 10] }, b: { minutes: [0, 2, 5, 8, 10] } });
  const { columns } = alignTrend(trend, ["a", "b"], MINUTE_MS);
  assert.ok(columns[0]?.mean.includes(null));
  assert.ok(columns[1]?.mean.every((value) => value !== null));
  assert.deepEqual(
    columns[1]?.mean.filter((value) => value !== undefined),
    [0, 2, 5, 8, 10],
  );
});

test("trend – while the interval is not known, the line follows the sensor's own rhythm", () => {
  const trend = trendOf({ a: { minutes: [0, 10, 20, 30, 80, 90, 100] } });
  const { columns } = alignTrend(trend, ["a"], 0);
  assert.deepEqual(columns[0]?.mean, [0, 10, 20, 30, null, 80, 90, 100]);
});

test("trend – gaps are measured by the interval that was in force then, not by today's", () => {
  const slow = [0, 10, 20, 30];
  const then = [90, 100, 110, 111, 112, 113, 114, 115, 116, 117, 118];
  const now = [130, 131, 132];
  const trend = trendOf({ a: { minutes: [...slow, ...then, ...now] } });
  const { columns } = alignTrend(trend, ["a"], MINUTE_MS);
  assert.deepEqual(columns[0]?.mean, [...slow, null, ...then, null, ...now]);
});

test("trend – the newest hour or day, which is not over, stands in the middle of what there is of it", () => {
  const trend = trendOf({ a: { minutes: [0, 60, 90] } });
  const hours = { ...trend, resolution: "hours" as const, bucketMs: 60 * MINUTE_MS };
  const at = centred(hours).series["a"]?.timesMs.map((ms) => ms / MINUTE_MS);
  assert.deepEqual(at, [30, 80, 95]);
});

test("trend – marks values that are not good, and handles a value without any reading", () => {
  const trend = trendOf({ a: { minutes: [0, 1, 2], doubtful: [0, 3, 0] } });
  const { columns } = alignTrend(trend, ["a", "absent"], MINUTE_MS);
  assert.deepEqual(columns[0]?.doubtful, [undefined, 1, undefined]);
  assert.deepEqual(columns[1]?.mean, [undefined, undefined, undefined]);
});
