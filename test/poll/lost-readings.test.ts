import assert from "node:assert/strict";
import { test } from "node:test";
import type { Sensor } from "../../src/core/sensor.ts";
import { fixedSite } from "../../src/core/site-source.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { Cadence } from "../../src/poll/cadence.ts";
import type { DayRead } from "../../src/poll/day-read.ts";
import { GatewayClock } from "../../src/poll/gateway-clock.ts";
import { Poller } from "../../src/poll/poller.ts";
import { ManualClock } from "../support/manual-clock.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const SENSOR: Sensor = { code: "1", type: 1, kinds: ["accel"], channels: {} };

function start(t: { after(fn: () => Promise<void>): void }, read: (day: string) => Promise<void>) {
  const clock = new ManualClock("2026-11-20T12:00:00Z");
  const days: string[] = [];
  const gatewayClock = new GatewayClock(clock);
  const poller = new Poller(
    {
      clock,
      gatewayClock,
      logger: silentLogger,
      newestTimeMs: () => null,
      newestOffsetMinutes: () => null,
      wasRead: () => true,
      readDay: async ({ day, gatewayNow }) => {
        days.push(day);
        gatewayNow(clock.now());
        await read(day);
        const done = { ok: true, durationMs: 10, stored: 0, known: 0, newTimesMs: [] } as const;
        return { ...done, offsetMinutes: null } satisfies DayRead;
      },
    },
    {
      zone: "UTC",
      lateGraceMs: 2 * HOUR,
      backfillDays: 3,
      intervalMs: HOUR,
      concurrency: 4,
      random: () => 0.5,
    },
    fixedSite({ site: "s", sensors: [SENSOR] }),
  );
  const ending = new AbortController();
  const done = poller.run(ending.signal);
  t.after(async () => {
    ending.abort();
    await done;
  });
  return { clock, days, poller };
}

const OPEN = ["2026-11-17", "2026-11-18", "2026-11-19", "2026-11-20"];

test("poller – readings that the store lost are read again at once, including closed days", async (t) => {
  const { clock, days, poller } = start(t, async () => {});
  await clock.advance(MINUTE);
  assert.deepEqual([...days].sort(), OPEN);
  days.length = 0;
  await clock.advance(MINUTE);
  assert.deepEqual(days, []);
  poller.readAgain();
  await clock.advance(MINUTE);
  assert.deepEqual([...days].sort(), OPEN);
});

test("poller – a read in progress when the store lost its readings is repeated", async (t) => {
  let release: () => void = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { clock, days, poller } = start(t, (day) =>
    day === "2026-11-17" ? gate : Promise.resolve(),
  );
  await clock.advance(MINUTE);
  days.length = 0;
  poller.readAgain();
  release();
  await clock.advance(MINUTE);
  assert.deepEqual([...days].sort(), OPEN);
});

test("cadence – records dated ahead by a wrong clock delay the next read by at most one period", () => {
  const cadence = new Cadence();
  const start = Date.parse("2026-11-20T12:00:00Z");
  for (let n = 0; n < 6; n++) {
    // A node whose clock is ten hours ahead (its local time taken for UTC).
    cadence.observe(start + n * HOUR, [start + n * HOUR + 10 * HOUR], n === 0);
    const next = cadence.nextReadMs(start + n * HOUR);
    assert.ok(next === null || next <= start + (n + 1) * HOUR, new Date(next ?? 0).toISOString());
  }
});
