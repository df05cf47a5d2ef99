import assert from "node:assert/strict";
import { test } from "node:test";
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
import { openRabbitmq, skipWithoutRabbitmq } from "../support/rabbitmq.ts";

const skip = skipWithoutBuild || skipWithoutPostgres || skipWithoutRabbitmq;

test("amqp – over RabbitMQ nothing is lost when the collector is killed, the broker is killed, or PostgreSQL is away", {
  skip,
  timeout: deadlineMs(180_000),
}, async (t) => {
  const [postgres, rabbit] = await Promise.all([openPostgres(), openRabbitmq()]);
  t.after(async () => {
    postgres.close();
    await rabbit.close();
  });
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
