import assert from "node:assert/strict";
import { test } from "node:test";
import type { Message } from "../../src/core/message.ts";
import { createTopics } from "../../src/core/topics/topics.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { StaleAlarms } from "../../src/publish/stale-alarms.ts";
import { ManualClock } from "../support/manual-clock.ts";

const topics = createTopics("gateside", "plant");
const of = (sensor: string, alarm = "pressure") => topics.alarm(sensor, alarm, "channel1");
const active = (sensor: string) =>
  JSON.stringify({ sensor, alarm: "pressure", value: "channel1", state: "active" });

function start(given: { readonly active?: readonly string[] } = {}) {
  const clock = new ManualClock();
  const state = { owed: new Set<string>(), active: given.active ?? [], onPublish: () => {} };
  const sent: Message[] = [];
  const asked: string[] = [];
  const check = new StaleAlarms({
    link: {
      session: 1,
      isConnected: true,
      inflightMax: 10,
      ready: () => Promise.resolve(true),
      publish: (message) => {
        sent.push(message);
        state.onPublish();
        return Promise.resolve({ result: "delivered" });
      },
      subscribe: (topic) => {
        asked.push(topic);
        return Promise.resolve(true);
      },
    },
    clock,
    logger: silentLogger,
    topics,
    sensors: () => ["30007", "30/8"],
    active: () => state.active,
    owesEvents: (sensor) => state.owed.has(sensor),
  });
  const look = async (ms = 3000) => {
    await clock.advance(ms);
    await check.look();
  };
  const cleared = () => sent.map(({ topic }) => topic);
  return { asked, check, cleared, look, sent, state };
}

test("stale alarms – only topics of own sensors without an active alarm are cleared, once", async () => {
  const { asked, check, cleared, look, sent } = start({ active: [active("30007")] });
  check.begin();
  assert.deepEqual(asked, ["gateside/plant/+/alarm/+/+"]);
  check.received(of("30007"), true);
  check.received(of("30007", "gone"), true);
  check.received(of("30/8"), true);
  check.received(of("40000"), true);
  check.received("gateside/plant/30007/loop", true);
  // Our own message of this session.
  check.received(of("30007", "new"), false);
  await look(2999);
  assert.deepEqual(sent, []);
  await look(1);
  assert.deepEqual(cleared(), [of("30007", "gone"), of("30/8")]);
  assert.deepEqual(sent[0], { topic: of("30007", "gone"), payload: "", qos: 1, retain: true });
  await look();
  assert.equal(sent.length, 2);
});

test("stale alarms – a topic whose closing event still waits is left to that event", async () => {
  const { check, cleared, look, state } = start();
  state.owed.add("30007");
  check.begin();
  check.received(of("30007"), true);
  await look();
  assert.deepEqual(cleared(), []);
  // It has gone out, or was dropped.
  state.owed.clear();
  await look();
  assert.deepEqual(cleared(), [of("30007")]);
});

test("stale alarms – an alarm that is raised while another topic is being cleared keeps its topic", async () => {
  const { check, cleared, look, state } = start();
  check.begin();
  check.received(of("30007"), true);
  check.received(of("30/8"), true);
  state.onPublish = () => {
    state.active = [active("30/8")];
  };
  await look();
  await look();
  assert.deepEqual(cleared(), [of("30007")]);
});

test("stale alarms – a broker that ends two sessions in a row while it is asked is not asked again", async () => {
  const { asked, check, look } = start();
  check.begin();
  check.begin();
  check.begin();
  assert.equal(asked.length, 2);
  const patient = start();
  for (let n = 0; n < 3; n++) {
    patient.check.begin();
    await patient.look();
  }
  assert.equal(patient.asked.length, 3);
  await look();
});
