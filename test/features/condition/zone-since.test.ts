import assert from "node:assert/strict";
import { test } from "node:test";
import type { HourValues } from "../../../src/core/query/ports.ts";
import { DAY_MS, HOUR_MS } from "../../../src/core/time-units.ts";
import { valueMount } from "../../../src/core/value-mount.ts";
import { zoneSince } from "../../../src/features/condition/zone-since.ts";
import { append, type Cleanup, readingOf, tempStore } from "../../support/temp-database.ts";
import { vibration } from "./machine-plant.ts";

const PUMP = vibration(1);
const VALUE = "channel1_vel_rms";
/** 23 November, 00:00 UTC. */
const DAY = Date.parse("2026-11-23T00:00:00Z") / DAY_MS;

/**
 * A machine with a record an hour, whose velocity changes at a time; its day rows are the medians of UTC days.
 * @param others hours with another velocity
 */
async function changed(
  t: Cleanup,
  at: string,
  [before, after]: readonly [number, number],
  others: Readonly<Record<string, number>> = {},
) {
  const store = tempStore(t);
  const changedAt = (ms: number) => (ms < Date.parse(at) ? before : after);
  const levelAt = (ms: number) => others[new Date(ms).toISOString().slice(5, 13)] ?? changedAt(ms);
  const times = Array.from({ length: 96 }, (_, hour) => (DAY - 2) * DAY_MS + hour * HOUR_MS + 1);
  await append(
    store,
    times.map((ms) =>
      readingOf("1", ms, { kind: "accel", values: { [VALUE]: levelAt(ms) } as never }),
    ),
  );
  const mount = valueMount(PUMP, VALUE);
  const rows = [-2, -1, 0, 1].map((back) => {
    const day = DAY + back;
    const median = changedAt((day + 0.5) * DAY_MS);
    return { day, readings: 24, values: { [VALUE]: { median, count: 24, unit: "mm/s", mount } } };
  });
  return (timezone: string, hours: Pick<HourValues, "points"> = store.hours) =>
    zoneSince(
      { dayMedians: { changes: 1, of: () => rows }, hours, timezone },
      [PUMP],
      (DAY + 2) * DAY_MS,
    );
}

test("zone since – the day of the first reading in a worse zone by the gateway's calendar, which may be one before that of the median", async (t) => {
  const since = await changed(t, "2026-11-22T19:00:00Z", [2, 9]);
  assert.equal(since("UTC"), "2026-11-22T00:00:00.000Z");
  assert.equal(since("America/New_York"), "2026-11-22T00:00:00.000Z");
  assert.equal(since("Asia/Tokyo"), "2026-11-23T00:00:00.000Z");
  // What is no longer known by the hour is known by its day.
  assert.equal(since("America/New_York", { points: () => [] }), "2026-11-23T00:00:00.000Z");
});

test("zone since – the hour after the last in a worse zone", async (t) => {
  const since = await changed(t, "2026-11-23T03:00:00Z", [9, 2]);
  assert.equal(since("UTC"), "2026-11-23T00:00:00.000Z");
  assert.equal(since("America/New_York"), "2026-11-22T00:00:00.000Z");
});

test("zone since – a peak of one hour neither dates a worsening a day early nor an improvement late", async (t) => {
  const worse = await changed(t, "2026-11-23T09:00:00Z", [2, 9], { "11-22T05": 30 });
  assert.equal(worse("UTC"), "2026-11-23T00:00:00.000Z");
  const better = await changed(t, "2026-11-22T19:00:00Z", [9, 2], { "11-23T20": 30 });
  assert.equal(better("UTC"), "2026-11-22T00:00:00.000Z");
});

test("zone since – hours in which the machine stood do not count", async (t) => {
  const stands = Array.from(
    { length: 11 },
    (_, n) => new Date((DAY - 1) * DAY_MS + (n + 21) * HOUR_MS),
  );
  const others = Object.fromEntries(stands.map((hour) => [hour.toISOString().slice(5, 13), 0.1]));
  const since = await changed(t, "2026-11-22T19:00:00Z", [2, 9], others);
  assert.equal(since("UTC"), "2026-11-22T00:00:00.000Z");
});

test("zone since – a peak in the last hour of a day tells no day that has not begun", () => {
  const mount = valueMount(PUMP, VALUE);
  const rows = [9, 2].map((median, at) => ({
    day: DAY - 1 + at,
    readings: 24,
    values: { [VALUE]: { median, count: 24, unit: "mm/s", mount } },
  }));
  const peak = { value: VALUE, count: 1, min: 9, max: 9, mean: 9, unit: "mm/s" };
  const startMs = DAY * DAY_MS + 23 * HOUR_MS;
  const points = () => [{ startMs, series: [peak] }] as never;
  const parts = {
    dayMedians: { changes: 1, of: () => rows },
    hours: { points },
    timezone: "UTC",
  };
  const nowMs = startMs + HOUR_MS / 2;
  assert.equal(zoneSince(parts, [PUMP], nowMs), "2026-11-23T00:00:00.000Z");
});
