import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { systemClock } from "../../../src/lib/clock.ts";
import { createMetrics } from "../../../src/lib/metrics.ts";
import { MqttLink } from "../../../src/pipeline/link/mqtt-link.ts";
import { Publisher } from "../../../src/pipeline/publish/publisher.ts";
import { Turns } from "../../../src/pipeline/publish/turns.ts";
import { fakeBrokerFor } from "../../support/brokers.ts";
import { FakeLink } from "../../support/fake-link.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { MemoryOutbox, storedReading } from "../../support/memory-outbox.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { waitUntil } from "../../support/wait-until.ts";

const SENSORS = 150;

async function start(t: TestContext, publishesPerS: number) {
  const broker = await fakeBrokerFor(t, { version: 5 });
  const outbox = new MemoryOutbox();
  const logger = new RecordingLogger();
  const metrics = createMetrics();
  const clock = systemClock;
  const link = new MqttLink(
    {
      clock,
      logger,
      hooks: {
        // As the agent does: whatever a connect sends is asked for before the publisher begins.
        onConnected: () => {
          const states = Array.from({ length: SENSORS }, (_, i) => `s/${i}/state`);
          void turns.publish(
            states.map((topic) => ({ topic, payload: "x", qos: 1, retain: true })),
          );
        },
      },
    },
    {
      name: "mqtt",
      urls: [broker.url],
      version: 5,
      clientId: "turns",
      inflight: 100,
      publishesPerS,
    },
  );
  const publisher = new Publisher(
    { link, outbox, clock, logger, metrics, gatewayNow: Date.now },
    {
      lanes: [
        {
          lane: "json",
          encode: ({ reading }) => [
            { topic: `s/${reading.sensor}/loop`, payload: "x", qos: 1, retain: true },
          ],
        },
      ],
      backlogRatePerS: 0,
    },
  );
  const turns = new Turns({ link, clock, readings: publisher });
  const stop = new AbortController();
  t.after(() => stop.abort());
  return {
    broker,
    outbox,
    run() {
      void link.run(stop.signal);
      void publisher.run(stop.signal);
    },
  };
}

test("turns – after a connect the newest reading of every sensor goes out before states and descriptions, also where the platform limits the pace", async (t) => {
  for (const publishesPerS of [0, 400]) {
    const { broker, outbox, run } = await start(t, publishesPerS);
    outbox.add(
      "json",
      Array.from({ length: SENSORS }, (_, i) => storedReading(i + 1, { sensor: String(i) })),
    );
    const beganAt = performance.now();
    run();
    await waitUntil("all", () => broker.publishes.length === 2 * SENSORS);
    const words = broker.publishes.map(({ topic }) => topic.split("/")[2]);
    assert.deepEqual(new Set(words.slice(0, SENSORS)), new Set(["loop"]));
    // The bucket holds a tenth of a second's messages at the start.
    if (publishesPerS > 0)
      assert.ok(performance.now() - beganAt > ((2 * SENSORS - 60) / publishesPerS) * 1000);
  }
});

test("turns – what has had its turn leaves no timer behind", async () => {
  const clock = new ManualClock();
  const readings = { hasLive: true, liveSent: () => Promise.resolve() };
  await new Turns({ link: new FakeLink(), clock, readings }).next();
  assert.equal(clock.sleeping, 0);
});
