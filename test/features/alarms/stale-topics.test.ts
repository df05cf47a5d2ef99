/** Retained alarm topics that must not outlive their alarms: the built program and a real broker. */
import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import mqtt from "mqtt";
import { profileOf } from "../../../src/config/profiles.ts";
import { deadlineMs } from "../../support/deadline.ts";
import { skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { skipWithoutBuild } from "../../support/plant.ts";
import { turningPlant } from "../../support/turning-plant.ts";

const skip = skipWithoutBuild || skipWithoutMosquitto;
const timeout = deadlineMs(120_000);

const TURNS = { name: "turns", select: { values: ["rpm"] }, high: 1 };

test("alarms – a retained topic whose alarm was lost with the store is cleared, and at an uplink that no longer selects the sensor; others stay", {
  skip,
  timeout,
}, async (t) => {
  const { plant, write, code, machine, all, topicOf, last, until } = await turningPlant(t, {
    broker: { persistence: true },
  });
  const spins = { ...TURNS, name: "spins" };
  write([TURNS, spins]);
  const file = join(dirname(plant.siteFile), "uplinks.json");
  const select = { machines: [machine] };
  const cloud = { name: "cloud", url: plant.broker.url, topicPrefix: "cloud", select };
  writeFileSync(file, JSON.stringify({ uplinks: [cloud] }));
  const agent = plant.startAgent({ UPLINKS_FILE: file });
  const topics = [
    topicOf(code, "turns"),
    topicOf(code, "spins"),
    topicOf(code, "spins", cloud.topicPrefix),
  ];
  await until(() => topics.every((topic) => Boolean(last(topic))));
  await agent.kill();
  rmSync(plant.dataDir, { recursive: true });
  const foreign = topicOf("not-of-this-site", "turns");
  const other = await mqtt.connectAsync(plant.broker.url);
  await other.publishAsync(foreign, "{}", { qos: 1, retain: true });
  await other.endAsync();
  // Nothing is known of `turns`, which no longer exists; `spins` is raised anew.
  write([spins]);
  writeFileSync(file, JSON.stringify({ uplinks: [{ ...cloud, select: { machines: [9999] } }] }));
  const before = all.messages.length;
  plant.startAgent({ UPLINKS_FILE: file });
  await until(() => last(topicOf(code, "turns")) === "");
  await until(() => last(topicOf(code, "spins", cloud.topicPrefix)) === "");
  await until(() =>
    all.messages
      .slice(before)
      .some(({ topic, text }) => topic === topicOf(code, "spins") && text !== ""),
  );
  const late = await plant.subscribe();
  await late.waitUntil(() => late.messages.some(({ topic }) => topic === foreign), 10_000);
  const retained = late.messages.filter(({ retain }) => retain).map(({ topic }) => topic);
  assert.ok(retained.includes(foreign));
  assert.ok(!retained.includes(topicOf(code, "turns")));
});

test("alarms – a closing event larger than the broker's packets clears its topic all the same", {
  skip,
  timeout,
}, async (t) => {
  const limit = 2048;
  const { plant, write, code, all, topicOf, last, until } = await turningPlant(t, {
    broker: { maxPacketSize: limit },
  });
  write([TURNS]);
  const agent = plant.startAgent();
  const topic = topicOf(code, "turns");
  await until(() => Boolean(last(topic)));
  const { id }: { id: string } = JSON.parse(last(topic) ?? "");
  const response = await fetch(`${await agent.address}/api/v1/alarms/${id}/acknowledge`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    // Each character takes three bytes: the events from now on are larger than the broker takes.
    body: JSON.stringify({ by: "anna", note: "…".repeat(500) }),
  });
  assert.equal(response.status, 200, await response.text());
  await agent.stop();
  write([]);
  plant.startAgent();
  await until(() => last(topic) === "");
  const closing = all.messages.filter(
    ({ topic: on, text }) =>
      on.endsWith("/agent/event") && text.includes(code) && text.includes("no longer configured"),
  );
  assert.deepEqual(closing, [], "it was too large to be sent");
});

test("alarms – at AWS IoT the retained topic of an active alarm stays, and is sent again in each session", {
  skip: skip || (profileOf("aws-iot") === null && "not built in"),
  timeout,
}, async (t) => {
  const { plant, write, code, all, topicOf, last, until } = await turningPlant(t);
  write([TURNS]);
  const file = join(dirname(plant.siteFile), "uplinks.json");
  const aws = { name: "aws", url: plant.broker.url, topicPrefix: "aws", profile: "aws-iot" };
  writeFileSync(file, JSON.stringify({ uplinks: [aws] }));
  const agent = plant.startAgent({ UPLINKS_FILE: file });
  const topic = topicOf(code, "turns", aws.topicPrefix);
  await until(() => Boolean(last(topic)));
  await agent.stop();
  const before = all.messages.length;
  plant.startAgent({ UPLINKS_FILE: file });
  await until(() => all.messages.slice(before).some((message) => message.topic === topic));
  const texts = all.messages.filter((message) => message.topic === topic).map(({ text }) => text);
  assert.ok(texts.every((text) => text !== ""));
});
