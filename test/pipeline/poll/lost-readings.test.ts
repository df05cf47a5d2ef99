import assert from "node:assert/strict";
import { test } from "node:test";
import type { Sensor } from "../../../src/core/sensor.ts";
import { Cadence } from "../../../src/pipeline/poll/cadence.ts";
import { GOOD_READ, startPoller } from "../../support/poller.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const SENSOR: Sensor = { code: "1", type: 1, kinds: ["accel"], channels: {} };

function start(t: { after(fn: () => Promise<void>): void }, read: (day: string) => Promise<void>) {
  const days: string[] = [];
  const { clock, poller } = startPoller(t, {
    site: { site: "s", sensors: [SENSOR] },
    wasRead: true,
    backfillDays: 3,
    concurrency: 4,
    readDay: async ({ day, gatewayNow }, clock) => {
      days.push(day);
      gatewayNow(clock.now());
      await read(day);
      return GOOD_READ;
    },
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
  await clock.advance(0);
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
