import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { systemClock } from "../../../src/lib/clock.ts";
import { mosquittoFor } from "../../support/brokers.ts";
import { deadlineMs } from "../../support/deadline.ts";
import { linkFor } from "../../support/link.ts";
import { skipWithoutMosquitto as skip } from "../../support/mosquitto.ts";
import { waitUntil } from "../../support/wait-until.ts";

const MINUTE_MS = 60_000;
const LOOKS = 40;
/** Longest real pause, ms: whatever pause the link wants. */
const PAUSE_MS = 50;

/** Time goes on by itself, and by what the test adds to it. */
function hurriedClock() {
  let aheadMs = 0;
  return {
    now: () => systemClock.now() + aheadMs,
    monotonic: () => systemClock.monotonic() + aheadMs,
    sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(Math.min(ms, PAUSE_MS), signal),
    pass: (ms: number) => {
      aheadMs += ms;
    },
  };
}

function twin(t: TestContext, url: string, version: 4 | 5) {
  const clock = hurriedClock();
  return { ...linkFor(t, { url, version, clientId: "twin" }, { clock }), clock };
}

for (const version of [4, 5] as const) {
  test(`link – two with one client id at mosquitto (MQTT ${version === 4 ? "3.1.1" : "5"}): a fault at every look, connected or not, until ten minutes after the last theft`, {
    skip,
    timeout: deadlineMs(60_000),
  }, async (t) => {
    const broker = await mosquittoFor(t);
    const own = twin(t, broker.url, version);
    const rival = twin(t, broker.url, version);
    const { link, clock } = own;
    await waitUntil("the fault", () => link.state.stolen !== null, 30_000);
    const looks = { connected: 0, away: 0 };
    for (let look = 0; look < LOOKS; look++) {
      const before = `${link.session} ${link.isConnected}`;
      await waitUntil("a change", () => `${link.session} ${link.isConnected}` !== before);
      assert.match(link.state.stolen ?? "none", /another client uses the client id "twin"/);
      looks[link.isConnected ? "connected" : "away"] += 1;
    }
    assert.ok(looks.connected > 0 && looks.away > 0, JSON.stringify(looks));
    await rival.end();
    await waitUntil("the session", () => link.isConnected);
    clock.pass(9 * MINUTE_MS);
    assert.notEqual(link.state.stolen, null);
    clock.pass(MINUTE_MS);
    assert.equal(link.state.stolen, null);
  });
}
