import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutboxEntry } from "../../../src/core/delivery/delivery.ts";
import { createTopics } from "../../../src/core/topics/topics.ts";
import { AlarmBoard, type StandingAlarms } from "../../../src/features/alarms/alarm-board.ts";
import { eventMessages } from "../../../src/pipeline/publish/formats/alarm-messages.ts";
import { FakeLink, turnsOver } from "../../support/fake-link.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";

const topics = createTopics("gateside", "plant");
const TOPIC = "gateside/plant/30007/alarm/pressure/channel1";
const EVENT = "gateside/plant/agent/event";

const payload = (id: string, state: "active" | "cleared", more: object = {}) =>
  JSON.stringify({ id, sensor: "30007", alarm: "pressure", value: "channel1", state, ...more });

function boardOf(alarms: Partial<StandingAlarms>, former: string | null = null) {
  const memory = { root: former };
  const link = new FakeLink();
  const logger = new RecordingLogger();
  const board = new AlarmBoard({
    link,
    turns: turnsOver(link),
    logger,
    topics,
    memory: {
      load: () => memory.root,
      save: async (root) => {
        memory.root = root;
      },
    },
    alarms: {
      isOn: true,
      active: () => [],
      owesEvents: () => false,
      isNewest: () => true,
      ...alarms,
      get revision() {
        return alarms.revision ?? 0;
      },
    },
  });
  const encode = board.encoder(({ reading }) => eventMessages(topics, reading, true));
  const sent = (values: string, kind = "event") =>
    encode({ reading: { id: "1", kind, values }, live: false } as unknown as OutboxEntry).map(
      (message) => [message.topic, message.payload === "" ? "" : "…"],
    );
  return { board, link, logger, memory, sent };
}

test("alarm board – a delayed older event is sent and leaves the alarm's own topic unchanged", () => {
  const { sent } = boardOf({ isNewest: (text) => text.includes('"id":"3"') });
  assert.deepEqual(sent(payload("1", "active")), [[EVENT, "…"]]);
  // Refused when the alarm ended, sent again after it was raised anew: it must not empty what stands.
  assert.deepEqual(sent(payload("2", "cleared")), [[EVENT, "…"]]);
  assert.deepEqual(sent(payload("3", "active")), [
    [EVENT, "…"],
    [TOPIC, "…"],
  ]);
});

test("alarm board – the topic of an alarm that ended is cleared after the closing event", () => {
  const { sent } = boardOf({});
  assert.deepEqual(sent(payload("2", "cleared")), [
    [EVENT, "…"],
    [TOPIC, ""],
  ]);
});

test("alarm board – with alarms disabled, topics left by an earlier run are cleared and no event is sent", async () => {
  const { board, link, logger, sent } = boardOf({
    isOn: false,
    active: () => [payload("1", "active")],
  });
  await board.online();
  assert.deepEqual(
    link.messages.map(({ topic, payload: text, retain }) => [topic, text, retain]),
    [[TOPIC, "", true]],
  );
  assert.deepEqual(sent(payload("1", "active")), [[TOPIC, ""]]);
  assert.deepEqual(sent(payload("2", "cleared")), [[TOPIC, ""]]);
  assert.deepEqual(sent(payload("3", "active", { historical: true })), []);
  const finding = "gateside/plant/30007/alarm/finding/channel1";
  assert.deepEqual(sent(payload("4", "active", { alarm: "finding" })), [[finding, ""]]);
  assert.equal(logger.lines.length, 1);
});

test("alarm board – a retained alarm is published again once late readings have shown that it began earlier", async () => {
  let since = "2026-11-20T08:00:00.000Z";
  let asked = 0;
  const alarms = {
    revision: 1,
    active: () => {
      asked += 1;
      return [payload("1", "active", { since })];
    },
  };
  const { board, link, sent } = boardOf(alarms);
  sent(payload("1", "active", { since }));
  await board.renew();
  assert.deepEqual(link.messages, []);
  since = "2026-11-13T08:00:00.000Z";
  alarms.revision += 1;
  for (let n = 0; n < 5; n += 1) await board.renew();
  assert.equal(asked, 3, "what has not changed is not made again");
  assert.deepEqual(
    link.messages.map(({ topic, payload: text }) => [topic, JSON.parse(String(text)).since]),
    [[TOPIC, since]],
  );
  await board.online();
  await board.renew();
  assert.equal(link.messages.length, 2);
});

test("alarm board – the topic of an alarm whose sensor the uplink no longer selects is cleared, once, but not before an event that is pending", async () => {
  const text = payload("1", "active", { since: "2026-11-20T08:00:00.000Z" });
  let isMoved = false;
  let owes = true;
  const alarms = {
    revision: 1,
    active: () => (isMoved ? [] : [text]),
    owesEvents: (sensor: string) => sensor === "30007" && owes,
  };
  const { board, link } = boardOf(alarms);
  await board.online();
  await board.renew();
  assert.equal(link.messages.length, 1);
  isMoved = true;
  alarms.revision += 1;
  await board.renew();
  assert.equal(link.messages.length, 1);
  owes = false;
  await board.renew();
  await board.renew();
  assert.deepEqual(
    link.messages.slice(1).map(({ topic, payload: cleared, retain }) => [topic, cleared, retain]),
    [[TOPIC, "", true]],
  );
});

test("alarm board – a store that cannot be read does not end the session", async () => {
  const { board, link, logger } = boardOf({
    isOn: false,
    active: () => {
      throw new Error("disk I/O error");
    },
  });
  await board.online();
  assert.deepEqual(link.messages, []);
  assert.equal(logger.lines.length, 1);
});

test("alarm board – under another prefix or site name the former topics of active alarms are cleared, in a later session if need be", async () => {
  const former = "gateside/plant-6";
  const { board, link, memory } = boardOf({ active: () => [payload("1", "active")] }, former);
  const old = `${former}${TOPIC.slice(topics.root.length)}`;
  link.outcome = ({ topic }) => ({ result: topic === old ? "lost" : "delivered" });
  await board.online();
  assert.equal(memory.root, former);
  link.outcome = () => ({ result: "delivered" });
  await board.online();
  assert.deepEqual(link.topics, [TOPIC, old, TOPIC, old]);
  assert.deepEqual(link.messages.at(-1), { topic: old, payload: "", qos: 1, retain: true });
  await board.online();
  assert.deepEqual(link.topics.slice(4), [TOPIC]);
});
