/** Platforms that take less than a broker should, and say so in MQTT 5: what the link makes of it, and what it tells. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { LinkHooks, Will } from "../../../src/core/delivery/link.ts";
import { disconnectFailure } from "../../../src/pipeline/link/link-errors.ts";
import type { MqttLink } from "../../../src/pipeline/link/mqtt-link.ts";
import { PublishPace } from "../../../src/pipeline/link/publish-pace.ts";
import { RefusedTopics } from "../../../src/pipeline/link/refusals.ts";
import { fakeBrokerFor } from "../../support/brokers.ts";
import { linkFor } from "../../support/link.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { waitUntil } from "../../support/wait-until.ts";

async function linkTo(t: TestContext, url: string, hooks: LinkHooks = {}): Promise<MqttLink> {
  const will: Will = { topic: "state", payload: "gone", qos: 1, retain: true };
  const options = { url, clientId: "box-7", inflight: 10, will: () => will };
  const { link, stop } = linkFor(t, options, { hooks });
  assert.ok(await link.ready(stop.signal));
  return link;
}

const MAXIMUM_QOS_0 = [0x24, 0];
const PACKETS_OF_60_BYTES = [0x27, 0, 0, 0, 60];

test("hostile platform – one that takes QoS 0 only is not healthy: what it refuses and what to change are told", async (t) => {
  const { url } = await fakeBrokerFor(t, { version: 5, connackProperties: MAXIMUM_QOS_0 });
  const link = await linkTo(t, url);
  const outcome = await link.publish({ topic: "live", payload: "1", qos: 1, retain: false });
  assert.deepEqual(outcome, { result: "refused", code: 0x9b });
  assert.match(link.state.refused?.text ?? "", /live \(qos_not_supported\): .*QoS 0 only/);
});

test("hostile platform – a slow one that takes states is told apart from one that takes nothing", async (t) => {
  const { url } = await fakeBrokerFor(t, { version: 5, connackProperties: PACKETS_OF_60_BYTES });
  let accepted = 0;
  const link = await linkTo(t, url, { onAccepted: () => (accepted += 1) });
  await link.publish({ topic: "state", payload: "x".repeat(80), qos: 1, retain: false });
  assert.equal(accepted, 0);
  await link.publish({ topic: "state", payload: "x", qos: 1, retain: false });
  assert.equal(accepted, 1);
});

test("hostile platform – messages that are too large for it are told as refused, as long as they are, and others arrive", async (t) => {
  const { url } = await fakeBrokerFor(t, { version: 5, connackProperties: PACKETS_OF_60_BYTES });
  const link = await linkTo(t, url);
  const publish = (topic: string, payload: string) =>
    link.publish({ topic, payload, qos: 1, retain: false }).then(({ result }) => result);
  assert.equal(await publish("large", "x".repeat(80)), "oversize");
  assert.equal(await publish("small", "x"), "delivered");
  assert.match(link.state.refused?.text ?? "", /large \(packet_too_large\): raise .* size/);
  assert.equal(await publish("large", "x"), "delivered");
  assert.equal(link.state.refused, null);

  const clock = new ManualClock();
  const refused = new RefusedTopics(clock, "box-7");
  refused.refused("large", 0x95);
  refused.refused("denied", 0x87);
  await clock.advance(24 * 3_600_000);
  assert.deepEqual(
    refused.state("b")?.examples.map(({ topic }) => topic),
    ["large"],
    "nothing of it is tried again before the next session",
  );
});

test("hostile platform – one that ends the session for a retained publish gets the same without retain", async (t) => {
  const broker = await fakeBrokerFor(t, {
    version: 5,
    onPublish: ({ packetId }, connection) =>
      connection.number === 1 ? connection.disconnect(0x9a) : connection.ack(packetId),
  });
  const link = await linkTo(t, broker.url);
  const message = { topic: "live", payload: "1", qos: 1, retain: true } as const;
  assert.equal((await link.publish(message)).result, "lost");
  assert.ok(await link.ready(t.signal));
  assert.equal(link.state.retainAvailable, false);
  assert.equal((await link.publish(message)).result, "delivered");
});

test("hostile platform – one that ends the session, with the reason, at each publish to a denied topic does so once per topic; the rest is delivered", async (t) => {
  const broker = await fakeBrokerFor(t, {
    version: 5,
    onPublish: ({ topic, packetId }, connection) =>
      topic.startsWith("no/") ? connection.disconnect(0x87) : connection.ack(packetId),
  });
  const link = await linkTo(t, broker.url);
  const results = async () => {
    await link.ready(t.signal);
    const topics = ["no/1", "ok/1", "no/2", "ok/2"];
    const outcomes = await Promise.all(
      topics.map((topic) => link.publish({ topic, payload: "x", qos: 1, retain: false })),
    );
    return outcomes.map(({ result }) => result).join(" ");
  };
  const expected = "refused delivered refused delivered";
  await waitUntil("everything has its answer", async () => (await results()) === expected);
  const { connects } = broker;
  assert.ok(connects <= 5, `${connects} sessions`);
  for (let i = 0; i < 20; i++) assert.equal(await results(), expected);
  assert.equal(broker.connects, connects);
  assert.match(link.state.refused?.text ?? "", /2 topics, .*no\/1 \(not_authorized\): let /);
});

test("hostile platform – one that ends a session because too much was sent, or for its own reasons, refuses no message; after the former fewer a second are sent", async (t) => {
  let code = 0x8b;
  let ends = 3;
  const broker = await fakeBrokerFor(t, {
    version: 5,
    onPublish: ({ packetId }, connection) => {
      if (ends-- > 0) connection.disconnect(code);
      else connection.ack(packetId);
    },
  });
  const link = await linkTo(t, broker.url);
  const publish = async () => {
    await link.ready(t.signal);
    return (await link.publish({ topic: "a", payload: "x", qos: 1, retain: false })).result;
  };
  for (let n = 0; n < 3; n++) assert.equal(await publish(), "lost");
  assert.equal(await publish(), "delivered");
  const roomAfter = async (count: number) => {
    await link.ready(t.signal);
    const sent = Array.from({ length: count }, () =>
      link.publish({ topic: "a", payload: "x", qos: 1, retain: false }),
    );
    const { hasRoom } = link;
    await Promise.all(sent);
    return hasRoom;
  };
  assert.equal(await roomAfter(5), true);
  [code, ends] = [0x96, 1];
  assert.equal(await publish(), "lost");
  assert.equal(await roomAfter(5), false, "40 a second, a tenth of a second at once");
  assert.equal(link.state.refused, null);
});

test("hostile platform – the pace that a platform enforces is halved until its sessions last, and tried again after an hour", async () => {
  const clock = new ManualClock();
  const pace = new PublishPace(clock, 0);
  const rates = [];
  for (let n = 0; n < 8; n++) {
    rates.push(pace.bucket.ratePerS);
    pace.exceeded();
  }
  assert.deepEqual(rates, [0, 40, 20, 10, 5, 2.5, 1.25, 1]);
  await clock.advance(3_600_000);
  assert.equal(pace.bucket.ratePerS, 0);
  const documented = new PublishPace(clock, 80);
  documented.exceeded();
  assert.equal(documented.bucket.ratePerS, 40);
});

test("hostile platform – the reason for which it ends a session is told in words", () => {
  for (const code of [0x87, 0x89, 0x8b, 0x8d, 0x8e, 0x90, 0x93, 0x95, 0x96, 0x97, 0x98])
    assert.doesNotMatch(disconnectFailure(code, "box-7").text, /reason 0x/);
  for (const code of [0x9a, 0x9b, 0x9c, 0x9d, 0x9f, 0xa0])
    assert.doesNotMatch(disconnectFailure(code, "box-7").text, /reason 0x/);
  assert.match(disconnectFailure(0x97, "box-7").text, /quota.*fewer a second/);
});
