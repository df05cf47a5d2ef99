/** Reading pauses while the buffer is full of what is being delivered. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { GOOD_READ, startPoller } from "../../support/poller.ts";

const SENSORS = ["1", "2", "3", "4", "5", "6"].map((code) => ({
  code,
  type: 6,
  kinds: ["rpm" as const],
  channels: {},
}));

test("a buffer full of what is being delivered – nothing is read, and then every day at once, the failed one too", async (t) => {
  let isHeldBack = false;
  const read: string[] = [];
  const stored = new Set<string>();
  const { clock } = startPoller(t, {
    site: { site: "p", sensors: SENSORS },
    backfillDays: 1,
    concurrency: 1,
    isHeldBack: () => isHeldBack,
    readDay: async ({ sensor, day }) => {
      const key = `${sensor.code} ${day}`;
      read.push(key);
      // The sixth response finds no space.
      if (read.length === 6) isHeldBack = true;
      if (!isHeldBack) {
        stored.add(key);
        return GOOD_READ;
      }
      return {
        ok: false,
        durationMs: 10,
        failureClass: "transient",
        isGatewayFault: false,
        isStoreFault: true,
        retryAfterMs: null,
        message: "the buffer is full",
      };
    },
  });
  await clock.advance(60_000);
  assert.equal(read.length, 6);
  await clock.advance(600_000);
  assert.equal(read.length, 6, "the gateway is left alone meanwhile");
  isHeldBack = false;
  // Neither a back-off of the day nor a pause of the gateway delays it.
  await clock.advance(1_500);
  assert.equal(read.length >= 7, true);
  await clock.advance(60_000);
  assert.equal(stored.size, 2 * SENSORS.length);
});
