import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Message, PublishOutcome } from "../../../src/core/message.ts";
import { TokenBucket } from "../../../src/lib/token-bucket.ts";
import { Publishes } from "../../../src/pipeline/link/publishes.ts";

/** Publishes as fast as they come, whose packets go nowhere: identifiers count from 1, `left` is what tells of QoS 0. */
function unpaced(requireSubscriber = false) {
  const outcomes: PublishOutcome[] = [];
  const left: (() => void)[] = [];
  let id = 0;
  const publishes = new Publishes({
    requireSubscriber,
    inflightMax: () => 1000,
    pace: null,
    tick: () => 0,
    refusals: null,
    transmit: (_message, _bytes, onLeft) => {
      if (onLeft !== null) left.push(onLeft);
      return onLeft === null ? ++id : 0;
    },
  });
  const send = (qos: 0 | 1) =>
    publishes.send({ topic: "t", payload: "", qos, retain: false }, 10, (outcome) =>
      outcomes.push(outcome),
    );
  return { publishes, outcomes, left, send };
}

test("publishes – reasons of a PUBACK from 0x80 on are refusals, and that nobody subscribes is one only where somebody must", () => {
  const outcomesOf = (requireSubscriber: boolean) => {
    const { publishes, outcomes, send } = unpaced(requireSubscriber);
    for (const [i, reason] of [0, 0x10, 0x80, 0x97].entries()) {
      send(1);
      publishes.acknowledged(i + 1, reason, () => {});
    }
    return outcomes.map((outcome) =>
      outcome.result === "refused" ? outcome.code : outcome.result,
    );
  };
  assert.deepEqual(outcomesOf(false), ["delivered", "delivered", 0x80, 0x97]);
  assert.deepEqual(outcomesOf(true), ["delivered", 0x10, 0x80, 0x97]);
});

test("publishes – a session is busy with what is not acknowledged, or not with the kernel yet: it is not left with DISCONNECT then", () => {
  const { publishes, left, send } = unpaced();
  assert.equal(publishes.isBusy, false);
  send(1);
  assert.equal(publishes.isBusy, true);
  publishes.acknowledged(1, 0, () => {});
  assert.equal(publishes.isBusy, false);
  send(0);
  assert.equal(publishes.isBusy, true);
  left[0]?.();
  assert.equal(publishes.isBusy, false);
});

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
