import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Message } from "../../src/core/message.ts";
import { TokenBucket } from "../../src/lib/token-bucket.ts";
import { Publishes } from "../../src/link/publishes.ts";

/** Publishes whose packets go nowhere, at `ratePerS`. Identifiers count from 1. */
function paced(t: TestContext, ratePerS: number) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let nowMs = 0;
  const clock = { monotonic: () => nowMs };
  const sent: string[] = [];
  const publishes = new Publishes({
    requireSubscriber: false,
    inflightMax: () => 1000,
    pace: new TokenBucket(clock, ratePerS),
    tick: () => 0,
    refusals: null,
    transmit: ({ topic }) => sent.push(topic),
  });
  const message = (topic: string): Message => ({ topic, payload: "", qos: 1, retain: false });
  return {
    publishes,
    sent,
    send: (topic: string) => publishes.send(message(topic), 10, () => {}),
    pass(ms: number) {
      nowMs += ms;
      t.mock.timers.tick(ms);
    },
  };
}

test("publishes – what waits for the pace leaves in its order, each at its time, by one timer", (t) => {
  const { publishes, sent, send, pass } = paced(t, 10);
  const timers = t.mock.method(globalThis, "setTimeout");
  for (const topic of ["a", "b", "c", "d"]) send(topic);
  assert.deepEqual(sent, ["a"]);
  assert.equal(timers.mock.callCount(), 1);
  assert.equal(publishes.hasRoom, false);
  pass(99);
  assert.deepEqual(sent, ["a"]);
  pass(1);
  assert.deepEqual(sent, ["a", "b"]);
  assert.equal(timers.mock.callCount(), 2);
  pass(100);
  pass(100);
  assert.deepEqual(sent, ["a", "b", "c", "d"]);
  assert.equal(timers.mock.callCount(), 3, "nothing waits any more");
  pass(100);
  assert.equal(publishes.hasRoom, true);
});

test("publishes – a session that ends releases nothing that waited for the pace", (t) => {
  const { publishes, sent, send, pass } = paced(t, 10);
  send("a");
  send("b");
  publishes.take({ byPeer: true, isIsolated: false, code: null }).end();
  pass(1000);
  assert.deepEqual(sent, ["a"]);
});
