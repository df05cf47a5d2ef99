import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import mqtt, { type MqttClient } from "mqtt";
import {
  publishAll,
  READING_TOPIC,
  readingPayload,
  readUntil,
  skipWithoutBuild,
  startCollect,
} from "../support/collecting.ts";
import { deadlineMs } from "../support/deadline.ts";
import { openPostgres, skipWithoutPostgres } from "../support/postgres.ts";
import { openRabbitmq, type Rabbitmq, skipWithoutRabbitmq } from "../support/rabbitmq.ts";

const skip = skipWithoutBuild || skipWithoutPostgres || skipWithoutRabbitmq;

/** With deploy/rabbitmq/rights.sh, run for two boxes. */
async function checkRights(rabbit: Rabbitmq): Promise<void> {
  for (const site of ["plant-7", "plant-8"]) {
    const { status, stderr } = spawnSync("bash", ["deploy/rabbitmq/rights.sh", site], {
      input: `of ${site}\n`,
      encoding: "utf8",
      env: { ...process.env, PATH: `${rabbit.tools}:${process.env["PATH"]}` },
    });
    assert.equal(status, 0, stderr);
  }
  // RabbitMQ 3.10 refuses by closing the connection.
  const outcome = async (use: (box: MqttClient) => Promise<unknown>) => {
    const box = await mqtt.connectAsync(rabbit.mqttUrl, {
      protocolVersion: 4,
      clientId: "gateside-plant-7",
      clean: false,
      username: "plant-7",
      password: "of plant-7",
      reconnectPeriod: 0,
    });
    box.on("error", () => {});
    const closed = new Promise((resolve) => box.once("close", () => resolve("refused")));
    const used = use(box).then(
      () => "allowed",
      () => "refused",
    );
    const result = await Promise.race([used, closed]);
    await box.endAsync(true);
    return result;
  };
  const publishing = (topic: string) => outcome((box) => box.publishAsync(topic, "1", { qos: 1 }));
  const subscribing = (topic: string) => outcome((box) => box.subscribeAsync(topic, { qos: 1 }));
  assert.equal(await publishing("gateside/plant-7/1/rpm"), "allowed");
  for (const own of ["agent/cmd/#", "agent/state", "+/alarm/+/+"])
    assert.equal(await subscribing(`gateside/plant-7/${own}`), "allowed", own);
  for (const topic of ["gateside/plant-8/1/rpm", "gateside/plant-77/1/rpm", "elsewhere"])
    assert.equal(await publishing(topic), "refused", topic);
  for (const topic of [
    "gateside/plant-8/#",
    "gateside/plant-77/agent/state",
    "gateside/+/agent/state",
    "#",
  ])
    assert.equal(await subscribing(topic), "refused", topic);
}

test("amqp – over RabbitMQ, a box has its own site's topics alone, and nothing is lost when the collector is killed, the broker is killed, or PostgreSQL is away", {
  skip,
  timeout: deadlineMs(180_000),
}, async (t) => {
  const [postgres, rabbit] = await Promise.all([openPostgres(), openRabbitmq()]);
  t.after(async () => {
    postgres.close();
    await rabbit.close();
  });
  await checkRights(rabbit);
  const url = await postgres.createDatabase("amqp");
  const count = async () =>
    (
      await postgres.query<{ count: number }>(url, "SELECT count(*)::integer AS count FROM reading")
    )[0]?.count ?? 0;
  const messages = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, i) => ({
      topic: READING_TOPIC,
      payload: readingPayload(from + i),
    }));

  const first = startCollect(rabbit.amqpUrl, url);
  t.after(() => void first.child.kill("SIGKILL"));
  await first.logged("connected", 60_000);
  await publishAll(rabbit.mqttUrl, [
    ...messages(0, 500),
    { topic: READING_TOPIC, payload: "no JSON" },
  ]);
  await readUntil(count, (n) => n === 500);
  const [rejected] = await postgres.query(url, "SELECT topic, reason FROM rejected");
  assert.deepEqual(rejected, { topic: READING_TOPIC, reason: "not_json" });

  // The queue outlasts the collector.
  await first.end("SIGKILL");
  await publishAll(rabbit.mqttUrl, messages(400, 1000));
  // And the broker.
  await rabbit.hasWritten("gateside-collect-gateside");
  await rabbit.kill();
  await rabbit.start();
  postgres.stop();
  const second = startCollect(rabbit.amqpUrl, url);
  t.after(() => void second.child.kill("SIGKILL"));
  await second.logged("PostgreSQL cannot be reached; trying again", 60_000);
  postgres.start();
  await readUntil(count, (n) => n === 1000, 60_000).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${second.lines.map((l) => JSON.stringify(l)).join("\n")}`);
  });
  assert.equal(await second.end(), 0);
});
