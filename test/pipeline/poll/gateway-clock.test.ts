/** Which time counts, and when it may remove what is too old. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayClock } from "../../../src/pipeline/poll/gateway-clock.ts";
import { ManualClock } from "../../support/manual-clock.ts";

const DAY_MS = 86_400_000;

function open() {
  const clock = new ManualClock();
  return { clock, gateway: new GatewayClock(clock) };
}

test("gateway clock – our time is confirmed by a Date or a record within a day of it, and not before", () => {
  const { clock, gateway } = open();
  assert.equal(gateway.isConfirmed, false);
  gateway.observeRecord(clock.now() - DAY_MS);
  assert.equal(gateway.isConfirmed, false);
  gateway.observeRecord(clock.now() - DAY_MS + 1);
  assert.equal(gateway.isConfirmed, true);

  const other = open();
  other.gateway.observe(other.clock.now() + DAY_MS);
  assert.equal(other.gateway.isConfirmed, false);
  other.gateway.observe(other.clock.now() + DAY_MS - 10_000);
  assert.equal(other.gateway.isConfirmed, true);
});

test("gateway clock – our clock that jumps is no longer confirmed, and the gateway's time goes on", async () => {
  const { clock, gateway } = open();
  gateway.observe(clock.now());
  await clock.advance(3 * DAY_MS);
  assert.equal(gateway.isConfirmed, true);
  const before = gateway.now();
  clock.set(clock.now() + 2 * DAY_MS);
  assert.equal(gateway.isConfirmed, false);
  assert.equal(gateway.now(), before);
  assert.equal(gateway.skewMs, -2 * DAY_MS + 500);
});
