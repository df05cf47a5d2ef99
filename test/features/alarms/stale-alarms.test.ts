import assert from "node:assert/strict";
import { test } from "node:test";
import { createTopics } from "../../../src/core/topics/topics.ts";
import { StaleAlarms } from "../../../src/features/alarms/stale-alarms.ts";
import { BATCH } from "../../../src/pipeline/publish/turns.ts";
import { FakeLink } from "../../support/fake-link.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";

const topics = createTopics("gateside", "plant");
const of = (sensor: string, alarm = "pressure") => topics.alarm(sensor, alarm, "channel1");
const active = (sensor: string) =>
  JSON.stringify({ sensor, alarm: "pressure", value: "channel1", state: "active" });

function start(given: { readonly active?: readonly string[] } = {}) {
  const pending = new Set<string>();
  const link = new FakeLink();
  const logger = new RecordingLogger();
  const alarms = { active: given.active ?? [] };
  const check = new StaleAlarms({
    link,
    logger,
    topics,
    sensors: () => ["30007", "30/8"],
    active: () => alarms.active,
    owesEvents: (sensor) => pending.has(sensor),
    hasOther: () => pending.has("other agent"),
  });
  return { alarms, check, link, logger, pending };
}

test("stale alarms – only topics of own sensors without an active alarm are cleared, once", async () => {
  const { check, link, logger } = start({ active: [active("30007")] });
  assert.equal(check.begin(), "gateside/plant/+/alarm/+/+");
  check.received(of("30007"));
  check.received(of("30007", "gone"));
  check.received(of("30/8"));
  check.received(of("40000"));
  check.received("gateside/plant/30007/loop");
  await check.look();
  assert.deepEqual(link.topics, [of("30007", "gone"), of("30/8")]);
  const cleared = { topic: of("30007", "gone"), payload: "", qos: 1, retain: true };
  assert.deepEqual(link.messages[0], cleared);
  await check.look();
  assert.equal(link.messages.length, 2);
  assert.deepEqual(
    logger.lines.map(({ fields }) => fields),
    [{ topics: 2 }],
  );
});

test("stale alarms – a topic whose closing event is still pending is left to that event", async () => {
  const { check, link, pending } = start();
  pending.add("30007");
  check.begin();
  check.received(of("30007"));
  await check.look();
  assert.deepEqual(link.topics, []);
  // It has been sent, or was dropped.
  pending.clear();
  await check.look();
  assert.deepEqual(link.topics, [of("30007")]);
});

test("stale alarms – nothing is cleared while another agent publishes as this site", async () => {
  const { check, link, pending } = start();
  pending.add("other agent");
  check.begin();
  check.received(of("30007"));
  await check.look();
  assert.deepEqual(link.topics, []);
  pending.clear();
  await check.look();
  assert.deepEqual(link.topics, [of("30007")]);
});

test("stale alarms – an alarm that is raised while another topic is being cleared keeps its topic", async () => {
  const { alarms, check, link } = start();
  check.begin();
  const first = Array.from({ length: BATCH }, (_, n) => `gateside/plant/30007/alarm/${n}/channel1`);
  for (const topic of [...first, of("30/8")]) check.received(topic);
  link.outcome = () => {
    alarms.active = [active("30/8")];
    return { result: "delivered" };
  };
  await check.look();
  await check.look();
  assert.deepEqual(link.topics, first);
});

test("stale alarms – so many topics are cleared by as many messages, a batch at a time", async () => {
  const { check, link } = start();
  check.begin();
  for (let n = 0; n < 20_000; n++) check.received(`gateside/plant/30007/alarm/${n}/channel1`);
  let atOnce = 0;
  let most = 0;
  link.publish = async ({ topic }) => {
    link.messages.push({ topic, payload: "", qos: 1, retain: true });
    most = Math.max(most, (atOnce += 1));
    await Promise.resolve();
    atOnce -= 1;
    return { result: "delivered" };
  };
  const cpu = process.cpuUsage();
  await check.look();
  assert.deepEqual([link.messages.length, most], [20_000, BATCH]);
  const { user } = process.cpuUsage(cpu);
  assert.ok(user < 5e6, `${user / 1e6} s`);
});

test("stale alarms – a topic whose clearing was lost with the session is not cleared in the next one, unless the broker still has it", async () => {
  const { check, link } = start();
  check.begin();
  check.received(of("30007"));
  link.outcome = () => ({ result: "lost" });
  await check.look();
  link.outcome = () => ({ result: "delivered" });
  check.begin();
  await check.look();
  assert.equal(link.messages.length, 1);
});
