import assert from "node:assert/strict";
import { test } from "node:test";
import { RefusedTopics } from "../../../src/pipeline/link/refusals.ts";
import { mosquittoFor } from "../../support/brokers.ts";
import { deadlineMs } from "../../support/deadline.ts";
import { startFakeBroker } from "../../support/fake-broker.ts";
import { linkFor } from "../../support/link.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { skipWithoutMosquitto as skip } from "../../support/mosquitto.ts";
import { waitUntil } from "../../support/wait-until.ts";

test("refused – a broker that closes the connection after a denied publish (mosquitto, max_queued_messages 0) does so once per topic; the rest is delivered, and topic, broker and remedy are told", {
  skip,
}, async (t) => {
  const broker = await mosquittoFor(t, {
    acl: "topic write ok/#\ntopic read #",
    config: ["max_queued_messages 0"],
  });
  const { link, logger, stop } = linkFor(t, { url: broker.url, clientId: "box-7", inflight: 10 });
  const results = async () => {
    await link.ready(stop.signal);
    const topics = ["ok/1", "no/1", "ok/2", "no/2", "ok/3"];
    const outcomes = await Promise.all(
      topics.map((topic) => link.publish({ topic, payload: "x", qos: 1, retain: false })),
    );
    return outcomes.map(({ result }) => result).join(" ");
  };
  await waitUntil(
    "everything has its answer",
    async () => (await results()) === "delivered refused delivered refused delivered",
  );
  const { session } = link;
  assert.ok(session <= 4, `${session} sessions`);
  for (let i = 0; i < 20; i++) await results();
  assert.equal(link.session, session, "the denied topics end no further session");
  const { refused } = link.state;
  assert.equal(refused?.topics, 2);
  assert.deepEqual(refused?.examples[0], { topic: "no/1", reason: "not_authorized" });
  assert.match(
    refused?.text ?? "",
    new RegExp(
      `^${broker.url} refuses 2 topics, for instance no/1 \\(not_authorized\\): .*"box-7".*access list`,
    ),
  );
  const texts = JSON.stringify(logger.lines);
  assert.match(texts, /closed the connection after it refused a publish to no\/1/);
  assert.doesNotMatch(texts, /another client/);
});

test("refused – a topic whose refusal ended a session is tried again after a minute, then after twice as long, and forgotten once it is accepted", async () => {
  const clock = new ManualClock();
  const topics = new RefusedTopics(clock, "box-7");
  const heldMs = async () => {
    let ms = 0;
    for (; topics.heldCode("no") !== null; ms += 1000) await clock.advance(1000);
    return ms;
  };
  for (const expected of [60_000, 120_000, 240_000]) {
    topics.endedSession("no", 0x87);
    assert.equal(await heldMs(), expected);
  }
  assert.equal(topics.state("mqtt://b")?.topics, 1);
  // It is told as long as it is held back, an hour at the longest, and an hour after that.
  for (let times = 0; times < 4; times++) topics.endedSession("no", 0x87);
  await clock.advance(3_600_000);
  assert.equal(topics.heldCode("no"), null);
  await clock.advance(3_599_000);
  assert.equal(topics.state("mqtt://b")?.topics, 1);
  await clock.advance(2_000);
  assert.equal(topics.state("mqtt://b"), null);
  topics.endedSession("no", 0x87);
  assert.equal(topics.state("mqtt://b")?.topics, 1);
  topics.accepted("no");
  assert.equal(topics.state("mqtt://b"), null);
});

test("refused – once one of the topics that were held back is accepted, the others are tried too, and wait longer if they are refused again", async () => {
  const clock = new ManualClock();
  const topics = new RefusedTopics(clock, "box-7");
  const held = () => ["one", "other"].map((topic) => topics.heldCode(topic) !== null);
  for (const topic of ["one", "other"]) topics.endedSession(topic, 0x87);
  topics.refused("free", 0x87);
  topics.accepted("free");
  assert.deepEqual(held(), [true, true], "it was never held back");
  topics.accepted("one");
  assert.deepEqual(held(), [false, false]);
  topics.endedSession("other", 0x87);
  await clock.advance(119_000);
  assert.deepEqual(held(), [false, true]);
  await clock.advance(1_000);
  assert.deepEqual(held(), [false, false]);
});

test("refused – a topic whose refusal ended a session is tried in connections of its own: it follows within 20 s after the rights were corrected, and the session lasts", {
  skip,
}, async (t) => {
  const config = ["max_queued_messages 0"];
  const broker = await mosquittoFor(t, { acl: "topic write ok/#\ntopic read #", config });
  const { link, stop } = linkFor(t, { url: broker.url, clientId: "box-7", triesAside: true });
  const results = async () => {
    await link.ready(stop.signal);
    const topics = ["ok/1", "no/1", "no/2"];
    const outcomes = await Promise.all(
      topics.map((topic) => link.publish({ topic, payload: "x", qos: 1, retain: false })),
    );
    return outcomes.map(({ result }) => result).join(" ");
  };
  await waitUntil(
    "everything has its answer",
    async () => (await results()) === "delivered refused refused",
  );
  // Tried aside, and refused again.
  await waitUntil("a try", async () => (await results()) === "delivered refused refused");
  const { session } = link;
  broker.reload({ acl: "topic write #\ntopic read #" });
  const correctedAt = performance.now();
  await waitUntil(
    "the topics are accepted",
    async () => (await results()) === "delivered delivered delivered",
    20_000,
    200,
  );
  const tookMs = performance.now() - correctedAt;
  assert.ok(tookMs < deadlineMs(20_000), `${tookMs} ms`);
  assert.equal(link.session, session, "no further session has ended");
  assert.equal(link.state.refused, null);
});

test("refused – while a message of a topic is tried beside the session, no later one overtakes it in the session, also after the hold", async (t) => {
  let isCorrected = false;
  let answerAside = () => {};
  const sessions: number[] = [];
  const broker = await startFakeBroker({
    version: 5,
    onPublish({ packetId }, connection) {
      sessions.push(connection.number);
      if (!isCorrected) {
        connection.send(Buffer.from([0x40, 4, packetId >> 8, packetId & 0xff, 0x87, 0]));
        connection.end();
      } else if (connection.number === 3) answerAside = () => connection.ack(packetId);
      else connection.ack(packetId);
    },
  });
  t.after(() => broker.close());
  const clock = new ManualClock();
  const options = { url: broker.url, clientId: "box-7", triesAside: true };
  const { link, stop } = linkFor(t, options, { clock });
  const publish = (payload: string) =>
    link.publish({ topic: "live", payload, qos: 1, retain: true });
  await link.ready(stop.signal);
  assert.equal((await publish("1")).result, "refused");
  await waitUntil("the next session", async () => {
    await clock.advance(1_000);
    return link.session === 2 && link.isConnected;
  });
  isCorrected = true;
  const older = publish("2");
  await waitUntil("it is tried", () => sessions.length === 2);
  await clock.advance(120_000);
  const newer = await publish("3");
  answerAside();
  assert.equal((await older).result, "delivered");
  assert.equal(newer.result, "refused");
  assert.equal((await publish("4")).result, "delivered");
  assert.deepEqual(sessions, [1, 3, 2]);
});
