import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import mqtt from "mqtt";
import { generate, type Packet } from "mqtt-packet";
import type { LinkHooks } from "../../../src/core/delivery/link.ts";
import type { Clock } from "../../../src/core/ports.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { InboundGuard, type TooLargePacket } from "../../../src/pipeline/link/inbound-guard.ts";
import { SkippedTopics } from "../../../src/pipeline/link/skipped-topics.ts";
import { mosquittoFor } from "../../support/brokers.ts";
import { deadlineMs } from "../../support/deadline.ts";
import { startFakeBroker } from "../../support/fake-broker.ts";
import { linkFor } from "../../support/link.ts";
import { skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { SkippingClock } from "../../support/skipping-clock.ts";
import { waitUntil } from "../../support/wait-until.ts";

const publish = (bytes: number): Buffer => {
  const packet: Packet = {
    cmd: "publish",
    topic: "t",
    payload: Buffer.alloc(bytes),
    qos: 0,
    dup: false,
    retain: false,
  };
  return generate(packet);
};

test("inbound guard – packets within the limit pass, however they are split", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 900 }), { maxLength: 8 }),
      fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1 }),
      (sizes, cuts) => {
        const guard = new InboundGuard(1000);
        const bytes = Buffer.concat([Buffer.from([0xd0, 0]), ...sizes.map(publish)]);
        for (let at = 0, i = 0; at < bytes.length; i++) {
          const length = cuts[i % cuts.length] ?? 1;
          assert.equal(guard.feed(bytes.subarray(at, at + length)), null);
          at += length;
        }
      },
    ),
  );
});

test("inbound guard – a packet that exceeds the limit is detected in its header, at any split", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 900 }), { maxLength: 4 }),
      fc.integer({ min: 1001, max: 200_000 }),
      fc.integer({ min: 1, max: 50 }),
      (sizes, large, cut) => {
        const guard = new InboundGuard(1000);
        const before = Buffer.concat(sizes.map(publish));
        // Its first eight bytes are type, length and topic.
        const bytes = Buffer.concat([before, publish(large).subarray(0, 8)]);
        let found: TooLargePacket | null = null;
        for (let at = 0; at < bytes.length && found === null; at += cut) {
          found = guard.feed(bytes.subarray(at, at + cut));
        }
        assert.ok(found !== null && found.bytes > 1000 && found.topic === "t");
      },
    ),
  );
});

test("inbound guard – an endless length field is not a length", () => {
  assert.notEqual(new InboundGuard(1000).feed(Buffer.from([0x30, 0x80, 0x80, 0x80, 0x80])), null);
});

test("inbound guard – a topic longer than any of ours is not collected", () => {
  const head = Buffer.from([0x30, 0x80, 0x84, 0xaf, 0x5f, 0xff, 0xff]);
  assert.deepEqual(new InboundGuard(1000).feed(head), { bytes: 200_000_000, topic: null });
});

test("skipped topics – a secret or a terminal's escape in a topic is not shown", () => {
  const topics = new SkippedTopics(systemClock, (text) => text.replaceAll("s3cret", "…"));
  topics.note({ topic: "g/s3cret/\u001b[2J", bytes: 2_000_000 });
  assert.doesNotMatch(JSON.stringify(topics.state("mqtt://b")), /s3cret|u001b/);
  assert.ok(topics.isSkipped("g/#"));
});

for (const version of [4, 5] as const) {
  test(`link – MQTT ${version}: a message of 200 MB ends the session before it is in memory`, {
    timeout: deadlineMs(30_000),
  }, async (t) => {
    let sent = 0;
    const server = await startFakeBroker({
      version,
      onConnect(connection) {
        if (connection.number > 1) return;
        // PUBLISH, remaining length 200,000,000, topic "t".
        connection.send(Buffer.from([0x30, 0x80, 0x84, 0xaf, 0x5f, 0, 1, 0x74]));
        const feed = setInterval(() => {
          sent += 1_000_000;
          if (sent <= 200_000_000) connection.send(Buffer.alloc(1_000_000));
          else clearInterval(feed);
        }, 1);
        t.after(() => clearInterval(feed));
      },
    });
    t.after(() => server.close());
    let messages = 0;
    const hooks: LinkHooks = {
      onMessage: () => {
        messages += 1;
      },
    };
    const { logger, end } = linkFor(t, { url: server.url, version }, { hooks });
    await waitUntil("a second CONNECT", () => server.connects >= 2);
    assert.match(
      logger.text,
      /"error".*a packet of 200000000 bytes on t, more than the limit of 1048576/,
    );
    assert.equal(messages, 0);
    assert.ok(sent < 100_000_000, `${sent} bytes were sent before the end`);
    await end();
  });
}

test("link – MQTT 3.1.1: a retained message that no session takes ends one of them; then it is named, and tried again after ten minutes", {
  skip: skipWithoutMosquitto,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const broker = await mosquittoFor(t, {});
  const large = await mqtt.connectAsync(broker.url);
  t.after(() => large.endAsync(true));
  const topic = "g/p/agent/cmd/saveSettings";
  await large.publishAsync(topic, Buffer.alloc(2_000_000), { retain: true, qos: 1 });
  const skipping = new SkippingClock();
  let wake = () => {};
  const clock: Clock = {
    now: () => skipping.now(),
    monotonic: () => skipping.monotonic(),
    sleep: (ms, signal) =>
      ms < 500_000
        ? skipping.sleep(ms, signal)
        : new Promise((resolve) => {
            wake = resolve;
            signal?.addEventListener("abort", () => resolve(), { once: true });
          }),
  };
  const heard = new Set<string>();
  const { link, stop, logger, end } = linkFor(
    t,
    {
      url: broker.url,
      version: 4,
      subscriptions: [
        { topic, qos: 1 },
        { topic: "g/p/other", qos: 1 },
      ],
    },
    {
      clock,
      hooks: {
        onMessage: (message) => {
          heard.add(message.topic);
        },
      },
    },
  );
  const isNamed = () => link.state.refused?.examples[0]?.topic === topic;
  await waitUntil("it is named", () => link.isConnected && isNamed());
  assert.match(logger.text, /a packet of 20000\d\d bytes on g\/p\/agent\/cmd\/saveSettings/);
  await link.ready(stop.signal);
  await large.publishAsync("g/p/other", "x", { qos: 1 });
  await waitUntil("the other topic is heard", () => heard.has("g/p/other"));
  const { session } = link;
  assert.deepEqual(await link.subscribe(["g/p/agent/#"]), [], "nor by another filter");
  await large.publishAsync(topic, "", { retain: true, qos: 1 });
  skipping.skip(600_000);
  wake();
  assert.equal(link.state.refused, null);
  await waitUntil("it is subscribed to again", async () => {
    await large.publishAsync(topic, "x", { qos: 1 });
    return heard.has(topic);
  });
  assert.equal(link.session, session, "in the same session");
  await end();
});
