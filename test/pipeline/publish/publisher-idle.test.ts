/** What a publisher does while there is nothing to do, and what a session leaves behind. */
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Message, PublishOutcome } from "../../../src/core/message.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { createMetrics } from "../../../src/lib/metrics.ts";
import { Publisher } from "../../../src/pipeline/publish/publisher.ts";
import { MemoryOutbox, storedReading } from "../../support/memory-outbox.ts";
import { waitUntil } from "../../support/wait-until.ts";

/** A link on which everything is acknowledged at once, and whose sessions the test ends. */
class InstantLink {
  session = 1;
  inflightMax = 100;
  hasRoom = true;
  paceWaitMs = 0;
  /** How often the publisher has looked. */
  looks = 0;
  sent = 0;

  get isConnected(): boolean {
    this.looks += 1;
    return true;
  }
  ready(signal: AbortSignal): Promise<boolean> {
    return Promise.resolve(!signal.aborted);
  }
  send(_message: Message, done: (outcome: PublishOutcome) => void): void {
    this.sent += 1;
    queueMicrotask(() => done({ result: "delivered" }));
  }
  publish(): Promise<PublishOutcome> {
    return Promise.resolve({ result: "delivered" });
  }
}

function start(t: TestContext) {
  const link = new InstantLink();
  const outbox = new MemoryOutbox();
  const publisher = new Publisher(
    {
      link,
      outbox,
      clock: systemClock,
      logger: silentLogger,
      metrics: createMetrics(),
      gatewayNow: Date.now,
    },
    {
      lanes: [
        {
          lane: "json",
          encode: ({ reading }) => [
            { topic: `${reading.seq}`, payload: "x", qos: 1, retain: false },
          ],
        },
      ],
      backlogRatePerS: 0,
    },
  );
  const stop = new AbortController();
  const ended = publisher.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await ended;
  });
  return { link, outbox, stop };
}

const drained = (outbox: MemoryOutbox) =>
  waitUntil("drained", () => outbox.depth("json").readings === 0);

test("publisher – with nothing to send it sleeps: turns of the event loop are no reason to look again", async (t) => {
  const { link, outbox } = start(t);
  outbox.add("json", [storedReading(1), storedReading(2)]);
  await drained(outbox);
  for (let n = 0; n < 20; n++) await turn();
  const before = link.looks;
  for (let n = 0; n < 500; n++) await turn();
  // Two looks a second at most, and a slow machine may need some for these turns.
  assert.ok(link.looks - before < 100, `${link.looks - before} looks in 500 turns`);
});

test("publisher – with nothing to send it waits a second for its next look", async (t) => {
  const { link, outbox } = start(t);
  outbox.add("json", [storedReading(1)]);
  await drained(outbox);
  const timers = t.mock.method(globalThis, "setTimeout");
  const looks = link.looks;
  await waitUntil("another look", () => link.looks > looks + 1);
  // waitUntil has timers of its own, each shorter.
  const waits = timers.mock.calls.map(({ arguments: [, ms] }) => Number(ms));
  assert.equal(Math.max(...waits), 1000);
});

test("publisher – a session that is over leaves no listener behind", async (t) => {
  const { link, outbox, stop } = start(t);
  for (let n = 1; n <= 30; n++) {
    outbox.add("json", [storedReading(n)]);
    await drained(outbox);
    link.session += 1;
    // So that it notices.
    outbox.add("json", [storedReading(100 + n)]);
    await drained(outbox);
  }
  assert.ok(getEventListeners(stop.signal, "abort").length < 5);
});

test("publisher – where others use the whole window, one message at a time queues at the link: nothing else would wake it", async (t) => {
  const { link, outbox } = start(t);
  link.hasRoom = false;
  outbox.add("json", [storedReading(1), storedReading(2)]);
  await drained(outbox);
  assert.equal(link.sent, 2);
});
