/** Contract section 6: what moves forward, what is history, and which readings are the same. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { envelope, wireTime } from "../support/fake-gateway.ts";
import { payloadOf, startFakeSite } from "../support/fake-site.ts";
import { MORNING_ZONE, morningDay } from "../support/morning.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild } from "../support/plant.ts";

const skip = skipWithoutBuild || skipWithoutMosquitto;
const LIVE = "gateside/plant-7/41/rpm";
const HISTORY = `${LIVE}/history`;
const PLAIN = `${LIVE}/rpm`;

test("topics – only live moves forward, the rest is history, and the same record is the same reading", {
  skip,
}, async (t) => {
  const start = Date.now() - 600_000;
  const today = morningDay();
  const record = (s: number, rpm: number | null, battery = 3.5) => ({
    RPM: rpm,
    battery,
    sensor_code: "41",
    time_data: wireTime(start + s * 1000),
  });
  let records: readonly object[] = [record(0, 1), record(10, 2)];
  const site = await startFakeSite(t, {
    answer: ({ body }) => envelope(body["date"] === today ? records : []),
    sensors: [{ code: "41", type: 1, kinds: ["rpm"] }],
    env: { GATEWAY_TIMEZONE: MORNING_ZONE, PUBLISH_FORMATS: "json,plain" },
  });
  const { messages } = site;
  const rpmOf = (topic: string) =>
    messages.onTopic(topic).map((message) => Object(payloadOf(message)["values"]).rpm);
  const ids = () =>
    [LIVE, HISTORY].flatMap((topic) =>
      messages.onTopic(topic).map((message) => String(payloadOf(message)["id"])),
    );
  const seen = (live: readonly unknown[], history: readonly unknown[]) =>
    messages.waitUntil(
      () => JSON.stringify([rpmOf(LIVE), rpmOf(HISTORY)]) === JSON.stringify([live, history]),
      10_000,
    );
  const agent = site.startAgent();
  await seen([2], [1]);

  // Late, then one field changed, then newer with nothing in it, then that same time again.
  records = [...records, record(5, 3)];
  await seen([2], [1, 3]);
  records = [...records, record(10, 2, 3.4)];
  await seen([2], [1, 3, 2]);
  records = [...records, record(20, null)];
  await seen([2, null], [1, 3, 2]);
  records = [...records, record(20, 7)];
  await seen([2, null], [1, 3, 2, 7]);
  await messages.waitUntil(() => messages.onTopic(PLAIN).length === 2);
  assert.deepEqual(
    messages.onTopic(PLAIN).map(({ text, retain, qos }) => [text, retain, qos]),
    [
      ["2", true, 1],
      ["", true, 1],
    ],
  );
  const first = ids();
  assert.equal(new Set(first).size, 6);

  // The same records in other spellings and orders tell nothing new; the next one is live again.
  const other = (s: number, rpm: string, battery = "3,50") => ({
    time_data: new Date(start + s * 1000).toISOString(),
    sensor_code: 41,
    battery,
    rpm,
  });
  records = [other(20, "7.0"), other(10, "2"), other(0, "1,0"), record(30, 8)];
  await seen([2, null, 8], [1, 3, 2, 7]);
  assert.equal(await agent.stop(), 0);

  messages.clear();
  records = [other(0, "1"), other(5, "3"), other(10, "2"), other(10, "2", "3.4"), record(20, null)];
  records = [...records, other(20, "7")];
  const again = site.startAgent({ DATA_DIR: "installed-anew" });
  await messages.waitUntil(() => ids().length === 6, 10_000);
  assert.deepEqual(ids().sort(), first.sort());
  assert.equal(messages.onTopic(LIVE).length, 1);
  await again.stop();
});

test("topics – commands get every outcome in the contract's words, and only once", {
  skip,
}, async (t) => {
  let saves = 0;
  const site = await startFakeSite(t, {
    answer({ operation }) {
      if (operation !== "saveSettings") return envelope([]);
      saves += 1;
      return envelope([]);
    },
    sensors: [{ code: "10234", type: 3, kinds: ["accel"] }],
    env: { COMMANDS_ENABLED: "true", WIRE_WORD: "acme" },
  });
  const agent = site.startAgent();
  const { messages } = site;
  await messages.waitFor(({ topic }) => topic.endsWith("/agent/state"), 10_000);
  const topic = "gateside/plant-7/agent/cmd/saveSettings";
  const request = {
    sensor: "10234",
    IntervalSendData: 10,
    Range: 8,
    IntervalRMS: 30,
    alarm1: 0.5,
    alarm2: 4.5,
    alarm3: 4.5,
  };
  const ask = (body: object, properties = {}) =>
    messages.publish(topic, JSON.stringify(body), properties);
  const queued = { responseTopic: "reply/here", correlationData: Buffer.from("a") };
  await ask(request, queued);
  await ask(request, queued);
  for (const wrong of [
    { Range: 0 },
    { IntervalSendData: 9 },
    { IntervalRMS: 29 },
    { alarm3: 0.49 },
    { sensor: "99" },
  ]) {
    await ask({ ...request, ...wrong });
  }
  const results = () => messages.onTopic(`${topic}/result`).map(payloadOf);
  const replies = () => messages.onTopic("reply/here");
  await messages.waitUntil(() => results().length === 5 && replies().length === 2, 10_000);
  assert.deepEqual(
    results().map(({ ok, outcome, statusNumber }) => [ok, outcome, statusNumber]),
    [502, 503, 504, 505, null].map((number) => [false, "rejected_local", number]),
  );
  for (const reply of replies()) {
    const { ok, outcome, statusNumber } = payloadOf(reply);
    assert.deepEqual([ok, outcome, statusNumber], [true, "queued", 0]);
    assert.equal(reply.correlationData?.toString(), "a");
  }
  assert.equal(saves, 1);
  const call = site.gateway.calls.find(({ operation }) => operation === "saveSettings");
  assert.deepEqual(call?.body, {
    acmeType: 3,
    acmeCode: 10234,
    IntervalSendData: 10,
    Range: 8,
    IntervalRMS: 30,
    alarm1: 0.5,
    alarm2: 4.5,
    alarm3: 4.5,
  });
  await agent.stop();
});
