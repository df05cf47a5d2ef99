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
import { openRabbitmq, openRabbitmqCluster, skipWithoutRabbitmq } from "../support/rabbitmq.ts";

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

test("amqp – a topic that RabbitMQ accepts and cannot deliver stops nothing, and is told", {
  skip,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const [postgres, rabbit] = await Promise.all([openPostgres(), openRabbitmq()]);
  t.after(async () => {
    postgres.close();
    await rabbit.close();
  });
  const url = await postgres.createDatabase("long");
  const collect = startCollect(rabbit.amqpUrl, url);
  t.after(() => void collect.child.kill("SIGKILL"));
  await collect.logged("connected", 60_000);
  const good = (n: number) => ({ topic: READING_TOPIC, payload: readingPayload(n) });
  const long = { topic: READING_TOPIC.padEnd(256, "x"), payload: readingPayload(10_000) };
  const messages = Array.from({ length: 300 }, (_, n) => good(n));
  await publishAll(rabbit.mqttUrl, messages.toSpliced(200, 0, long).toSpliced(100, 0, long));
  const count = async (table: string) =>
    (await postgres.query<{ count: number }>(url, `SELECT count(*)::int AS count FROM ${table}`))[0]
      ?.count ?? 0;
  await readUntil(
    () => count("reading"),
    (n) => n === 300,
    60_000,
  );
  await readUntil(
    () => count("rejected"),
    (n) => n === 2,
    60_000,
  );
  await publishAll(rabbit.mqttUrl, [good(300)]);
  await readUntil(
    () => count("reading"),
    (n) => n === 301,
  );
  const told = await postgres.query(url, "SELECT DISTINCT topic, reason FROM rejected");
  assert.deepEqual(told, [
    { topic: "/undeliverable/longer-than-255-bytes", reason: "foreign_topic" },
  ]);
  assert.equal(await collect.end(), 0);
});

test("amqp – a queue whose only node is down loses nothing and is taken for no message, also where PostgreSQL is away and the collector is killed", {
  skip,
  timeout: deadlineMs(240_000),
}, async (t) => {
  const postgres = await openPostgres();
  t.after(() => postgres.close());
  const url = await postgres.createDatabase("dead");
  // Declared while its node is alone, it has no copy elsewhere.
  const nodes = await openRabbitmqCluster(2, undefined, async (holder) => {
    const once = startCollect(holder.amqpUrl, url, ["--migrate-only"]);
    await once.logged("the queue is declared and bound", 60_000);
    await holder.hasWritten("gateside-collect-gateside");
  });
  t.after(() => Promise.all(nodes.map((node) => node.close())));
  const [holder, front] = nodes;
  assert.ok(front && holder);
  const messages = Array.from({ length: 300 }, (_, n) => ({
    topic: READING_TOPIC,
    payload: readingPayload(n),
  }));
  await publishAll(front.mqttUrl, messages);
  await holder.kill();
  const collect = startCollect(front.amqpUrl, url);
  t.after(() => void collect.child.kill("SIGKILL"));
  await collect.logged("collecting", 60_000);
  const attempts = () =>
    collect.lines.filter(({ msg }) => msg === "no connection to the broker").length;
  await readUntil(
    () => Promise.resolve(attempts()),
    (n) => n >= 7,
    90_000,
  );
  postgres.stop();
  await holder.start();
  await collect.logged("connected", 60_000);
  await collect.logged(
    "PostgreSQL does not accept the batch; nothing is acknowledged until it does",
    60_000,
  );
  await collect.end("SIGKILL");
  postgres.start();
  const next = startCollect(front.amqpUrl, url);
  t.after(() => void next.child.kill("SIGKILL"));
  const count = async (table: string) =>
    (await postgres.query<{ count: number }>(url, `SELECT count(*)::int AS count FROM ${table}`))[0]
      ?.count ?? 0;
  await readUntil(
    () => count("reading"),
    (n) => n === messages.length,
    60_000,
  );
  assert.equal(await count("rejected"), 0);
  assert.doesNotMatch(JSON.stringify(collect.lines), /could not deliver|cannot deliver/);
  assert.equal(await next.end(), 0);
});
