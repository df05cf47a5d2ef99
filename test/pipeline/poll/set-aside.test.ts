import assert from "node:assert/strict";
import { test } from "node:test";
import { GOOD_READ, startPoller } from "../../support/poller.ts";

const HOUR_MS = 3_600_000;

test("a day that is set aside is not read before its time is over, and earlier days do not wait for it", async (t) => {
  const read: string[] = [];
  const { clock } = startPoller(t, {
    site: { site: "p", sensors: [{ code: "1", type: 6, kinds: ["rpm"], channels: {} }] },
    backfillDays: 2,
    concurrency: 1,
    setAsideMs: (day, own) => (day === "2026-11-19" ? Math.max(0, HOUR_MS - own.monotonic()) : 0),
    readDay: async ({ day }) => {
      read.push(day);
      return GOOD_READ;
    },
  });
  await clock.advance(HOUR_MS - 1_000);
  assert.ok(read.includes("2026-11-20"), read.join());
  assert.ok(read.includes("2026-11-18"), read.join());
  assert.ok(!read.includes("2026-11-19"), read.join());
  await clock.advance(60_000);
  assert.ok(read.includes("2026-11-19"), read.join());
});
