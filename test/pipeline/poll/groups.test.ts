/** Reads that may wait a little go out together; a record is asked for once. */
import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import { type TestContext, test } from "node:test";
import { SeededRandom } from "../../../scripts/chaos/random.ts";
import type { PolledKind, Sensor } from "../../../src/core/sensor.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import { NO_TIMES } from "../../../src/core/time/recent-times.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { GatewayClock } from "../../../src/pipeline/poll/gateway-clock.ts";
import { Poller } from "../../../src/pipeline/poll/poller.ts";
import { ManualClock } from "../../support/manual-clock.ts";

const SENSORS = 54;
const LAG_MS = 400;
const READ_MS = 3;

interface Call {
  readonly sensor: string;
  readonly atMs: number;
}

/** A gateway on which sensor n has a record each `periodMs`, shown after a while; null: none ever. */
function start(t: TestContext, intervalMs: number, periodMs: number | null) {
  const clock = new ManualClock("2026-11-20T12:00:00Z");
  const beganMs = clock.now();
  const calls: Call[] = [];
  const seen = new Map<string, number>();
  const sensors = Array.from({ length: SENSORS }, (_, n): Sensor => {
    const kinds: PolledKind[] = ["rpm"];
    return { code: `${n}`, type: 1, kinds, channels: {} };
  });
  const random = new SeededRandom(38);
  const poller = new Poller(
    {
      memory: { get: () => null, set: () => {} },
      clock,
      gatewayClock: new GatewayClock(clock),
      logger: silentLogger,
      newestTimeMs: () => null,
      recentTimes: (streams) => streams.map(() => ({ ...NO_TIMES, offsetMinutes: 0 })),
      readOn: () => () => false,
      readDay: async ({ sensor, gatewayNow }) => {
        calls.push({ sensor: sensor.code, atMs: clock.now() });
        await clock.sleep(READ_MS);
        gatewayNow(clock.now());
        const newTimesMs: number[] = [];
        if (periodMs !== null) {
          const firstMs = beganMs + ((Number(sensor.code) * 977) % periodMs);
          let next = seen.get(sensor.code) ?? 0;
          for (; firstMs + next * periodMs + LAG_MS <= clock.now(); next++)
            newTimesMs.push(firstMs + next * periodMs);
          seen.set(sensor.code, next);
        }
        const stored = newTimesMs.length;
        return { ok: true, durationMs: READ_MS, stored, known: 0, newTimesMs, offsetMinutes: null };
      },
    },
    {
      zone: "UTC",
      lateGraceMs: 0,
      backfillDays: 0,
      intervalMs,
      concurrency: 2,
      random: () => random.next(),
    },
    fixedSite({ site: "s", sensors }),
  );
  const ending = new AbortController();
  setMaxListeners(0, ending.signal);
  const done = poller.run(ending.signal);
  t.after(async () => {
    ending.abort();
    await done;
  });
  return { clock, calls, seen };
}

/** Calls that follow each other without a pause. */
function groupsOf(calls: readonly Call[]): number[] {
  const sizes: number[] = [];
  let lastMs = Number.NEGATIVE_INFINITY;
  for (const { atMs } of calls) {
    if (atMs - lastMs <= 4 * READ_MS) sizes.push((sizes.pop() ?? 0) + 1);
    else sizes.push(1);
    lastMs = atMs;
  }
  return sizes;
}

/** The interval is the longest time between two reads of a sensor; a read waits for the others of its group. */
function assertWithin(intervalMs: number, calls: readonly Call[]): void {
  const lastAt = new Map<string, number>();
  for (const { sensor, atMs } of calls) {
    const gapMs = atMs - (lastAt.get(sensor) ?? atMs);
    assert.ok(gapMs <= intervalMs + SENSORS * READ_MS, `${gapMs} ms between two reads`);
    lastAt.set(sensor, atMs);
  }
}

const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;

test("groups – sensors with nothing new are read about six at a time, and never later than the interval", async (t) => {
  for (const intervalMs of [10_000, 60_000]) {
    const { clock, calls } = start(t, intervalMs, null);
    // The first round is one burst; the next ones spread.
    await clock.advance(30 * intervalMs);
    const from = calls.length;
    await clock.advance(10 * intervalMs);
    const later = calls.slice(from);
    const sizes = groupsOf(later);
    assert.ok(mean(sizes) >= 4.5, `${mean(sizes)} reads at a time`);
    assert.ok(Math.max(...sizes) <= 18, `${Math.max(...sizes)} at once`);
    const perInterval = later.length / 10 / SENSORS;
    assert.ok(perInterval <= 1.1, `${perInterval} reads an interval`);
    assertWithin(intervalMs, calls);
  }
});

test("groups – a record is asked for once, also where the sensor sends at the interval", async (t) => {
  for (const [intervalMs, periodMs] of [
    [2_000, 2_000],
    [10_000, 10_000],
    [60_000, 60_000],
    [60_000, 20_000],
    [600_000, 600_000],
  ] as const) {
    const { clock, calls, seen } = start(t, intervalMs, periodMs);
    const records = () => [...seen.values()].reduce((a, b) => a + b, 0);
    await clock.advance(40 * periodMs);
    const [callsBefore, recordsBefore] = [calls.length, records()];
    await clock.advance(40 * periodMs);
    const each = (calls.length - callsBefore) / (records() - recordsBefore);
    assert.ok(each <= 1.25, `${each} reads for each record every ${periodMs} ms`);
    assertWithin(intervalMs, calls);
  }
});
