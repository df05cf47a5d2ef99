/** A day without records that was being read stays open over a restart, as one with records does. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Sensor } from "../../../src/core/sensor.ts";
import { GOOD_READ, startPoller } from "../../support/poller.ts";

const MINUTE_MS = 60_000;
const SENSOR: Sensor = { code: "1", type: 40, kinds: ["rpm"], channels: {} };

/** The days that a process reads in its first ten minutes, with BACKFILL_DAYS=0 on a gateway without records. */
async function daysRead(
  t: TestContext,
  startAt: string,
  memory: Map<string, string>,
  storedMs: readonly number[],
): Promise<string[]> {
  const days = new Set<string>();
  const { clock } = startPoller(t, {
    site: { site: "p", sensors: [SENSOR] },
    startAt,
    memory,
    storedMs,
    backfillDays: 0,
    intervalMs: MINUTE_MS,
    concurrency: 2,
    async readDay({ day, gatewayNow }, own) {
      gatewayNow(own.now());
      days.add(day);
      return GOOD_READ;
    },
  });
  await clock.advance(10 * MINUTE_MS);
  return [...days].sort();
}

test("empty days – BACKFILL_DAYS 0: after a restart across midnight the day that was being read is read on", async (t) => {
  const memory = new Map<string, string>();
  const stored = [Date.parse("2026-11-18T12:00:00Z")];
  assert.deepEqual(await daysRead(t, "2026-11-20T23:00:00Z", memory, stored), ["2026-11-20"]);
  const again = await daysRead(t, "2026-11-21T00:05:00Z", memory, stored);
  assert.deepEqual(again, ["2026-11-20", "2026-11-21"]);
  // Nor does the one that has noted its new day make an end of it.
  assert.deepEqual(await daysRead(t, "2026-11-21T03:00:00Z", memory, stored), again);
  // Not what came between: the box was off.
  assert.deepEqual(await daysRead(t, "2026-11-24T12:00:00Z", memory, stored), ["2026-11-24"]);
});

test("empty days – BACKFILL_DAYS 0: a sensor of which nothing is stored is read from today on", async (t) => {
  const memory = new Map<string, string>();
  assert.deepEqual(await daysRead(t, "2026-11-20T23:00:00Z", memory, []), ["2026-11-20"]);
  assert.deepEqual(await daysRead(t, "2026-11-21T00:05:00Z", memory, []), ["2026-11-21"]);
});
