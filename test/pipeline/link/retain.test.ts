import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Will } from "../../../src/core/delivery/link.ts";
import { RetainSupport } from "../../../src/pipeline/link/retain-support.ts";
import { deadlineMs } from "../../support/deadline.ts";
import { startFakeBroker } from "../../support/fake-broker.ts";
import { linkFor } from "../../support/link.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import {
  recordMessages,
  skipWithoutMosquitto as skip,
  startMosquitto,
} from "../../support/mosquitto.ts";

const WILL: Will = { topic: "state", payload: "gone", qos: 1, retain: true };

const open = (t: TestContext, url: string, version: 4 | 5) =>
  linkFor(t, { url, version, will: () => WILL });

for (const version of [5, 4] as const) {
  test(`retain – MQTT ${version}: a broker without retained messages gets readings, and the agent says so`, {
    skip,
    timeout: deadlineMs(30_000),
  }, async (t) => {
    const broker = await startMosquitto({ config: ["retain_available false"] });
    t.after(() => broker.close());
    const subscriber = await recordMessages(broker.url);
    t.after(() => subscriber.close());
    const { link, logger, stop } = open(t, broker.url, version);
    assert.ok(await link.ready(stop.signal));
    const message = { topic: "live", payload: "1", qos: 1, retain: true } as const;
    assert.deepEqual(await link.publish(message), { result: "delivered" });
    assert.equal(link.session, 1, "a session to find it out is not counted");
    assert.equal(link.state.retainAvailable, false);
    assert.match(logger.text, /does not support retained messages; states and live readings/);
    await subscriber.waitFor(({ topic }) => topic === "live");
    link.renew("the cable is out");
    assert.equal((await subscriber.waitFor(({ topic }) => topic === "state")).text, "gone");
    assert.ok(await link.ready(stop.signal));
    assert.equal(link.session, 2, "what was found out is remembered");
  });
}

test("retain – a 3.1.1 broker that failed only briefly keeps its retained messages", {
  timeout: deadlineMs(30_000),
}, async (t) => {
  // Closes the first three CONNECTs unanswered, as a proxy does whose broker starts.
  let connects = 0;
  const server = await startFakeBroker({
    version: 4,
    unanswered: () => {
      connects += 1;
      return connects <= 2;
    },
  });
  t.after(() => server.close());
  const { link, logger, stop } = open(t, server.url, 4);
  assert.ok(await link.ready(stop.signal));
  assert.equal(link.state.retainAvailable, true);
  assert.doesNotMatch(logger.text, /does not support retained/);
});

test("retain – the result is checked again after an hour", async () => {
  const clock = new ManualClock();
  const retain = new RetainSupport(clock);
  const refused = { wasOpen: false, code: 0x9a, isConnectUnanswered: false };
  assert.equal(retain.mode, "retained");
  assert.equal(retain.ended(refused), true);
  assert.equal(retain.mode, "plain");
  await clock.advance(3_600_000);
  assert.equal(retain.mode, "retained");
});

test("retain – a broker that is away in between proves nothing", () => {
  const retain = new RetainSupport(new ManualClock());
  const silent = { wasOpen: false, code: null, isConnectUnanswered: true };
  const away = { wasOpen: false, code: null, isConnectUnanswered: false };
  const taken = { wasOpen: true, code: null, isConnectUnanswered: false };
  retain.ended(silent);
  retain.ended(away);
  retain.ended(silent);
  assert.equal(retain.mode, "retained");
  retain.ended(silent);
  assert.equal(retain.mode, "probe");
  retain.ended(taken);
  assert.equal(retain.mode, "confirm");
  retain.ended(away);
  assert.equal(retain.mode, "retained");
});
