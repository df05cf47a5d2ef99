import assert from "node:assert/strict";
import { test } from "node:test";
import { GOOD_READ, startPoller } from "../../support/poller.ts";

const SITE = {
  site: "plant",
  sensors: ["1", "2"].map((code) => ({ code, type: 40, kinds: ["rpm" as const], channels: {} })),
};

test("trial reads – just after midnight the day before counts, and both days are read at once, whatever the interval", async (t) => {
  const read: string[] = [];
  const { clock, poller } = startPoller(t, {
    site: SITE,
    startAt: "2026-11-20T00:05:00Z",
    backfillDays: 3,
    storedMs: [Date.parse("2026-11-19T20:00:00Z")],
    concurrency: 4,
    readDay: async ({ sensor, day }) => {
      read.push(`${sensor.code} ${day}`);
      const isKnown = sensor.code === "1" && day === "2026-11-19";
      return { ...GOOD_READ, known: isKnown ? 3 : 0 };
    },
  });
  await clock.advance(1_000);
  assert.deepEqual(
    poller.found.map(({ sensor, hadRecords }) => [sensor, hadRecords]),
    [
      ["1", true],
      ["2", true],
    ],
  );
  await clock.advance(60_000);
  read.length = 0;
  const changedAt = clock.monotonic();
  const isFound = () => poller.found.map(({ foundAt }) => (foundAt ?? -1) >= changedAt);
  assert.deepEqual(isFound(), [false, false]);
  poller.readSoon(poller.found);
  await clock.advance(1_000);
  assert.deepEqual(read.sort(), ["1 2026-11-19", "1 2026-11-20", "2 2026-11-19", "2 2026-11-20"]);
  assert.deepEqual(isFound(), [true, false]);
});
