import assert from "node:assert/strict";
import { type AddressInfo, connect, createServer } from "node:net";
import { type TestContext, test } from "node:test";
import mqtt from "mqtt";
import { Writer } from "../../src/collect/database/writer.ts";
import type { FleetBox } from "../../src/collect/fleet/box.ts";
import {
  entry,
  publishAll,
  readingPayload,
  skipWithoutBuild,
  startCollect,
} from "../support/collecting.ts";
import { deadlineMs } from "../support/deadline.ts";
import { skipWithoutMosquitto, startMosquitto } from "../support/mosquitto.ts";
import { openPostgres, type Postgres, skipWithoutPostgres } from "../support/postgres.ts";
import { openRabbitmq, skipWithoutRabbitmq } from "../support/rabbitmq.ts";
import { runCommand } from "../support/run-command.ts";

const time = new Date().toISOString();
/** Retained topics below the site, and what is not retained. */
const BOX: readonly (readonly [string, object])[] = [
  ["agent/state", { state: "offline", time, reason: "stopped" }],
  ["agent/stats", { v: 1, time, buffer: { depth: 0 } }],
  ["101/state", { state: "online", lastReading: time }],
  ["101/about", { v: 1, name: "Shaft", kinds: ["rpm"] }],
  ["101/rpm", JSON.parse(readingPayload(1)) as object],
  ["101/alarm/high/rpm", { severity: "alarm", state: "active" }],
];
const EVENT = {
  v: 1,
  id: "e1",
  site: "plant-7",
  sensor: "101",
  kind: "rpm",
  value: "rpm",
  alarm: "high",
  severity: "alarm",
  state: "active",
  time,
};

const entriesOf = (site: string, messages = BOX) =>
  messages.map(([topic, body]) =>
    entry(`gateside/${site}/${topic}`, JSON.stringify("site" in body ? { ...body, site } : body)),
  );

async function retainAll(url: string, site: string, messages = BOX): Promise<void> {
  await publishAll(
    url,
    messages.map(([topic, body]) => ({
      topic: `gateside/${site}/${topic}`,
      payload: JSON.stringify(body),
      retain: true,
    })),
  );
}

/** Which of these exact topics the broker retains. */
async function retainedOf(url: string, topics: readonly string[]): Promise<string[]> {
  const client = await mqtt.connectAsync(url, { protocolVersion: 4, reconnectPeriod: 0 });
  const marker = "gateside-test/marker";
  await client.publishAsync(marker, "x", { qos: 1, retain: true });
  const found: string[] = [];
  const all = new Promise<void>((done) => {
    client.on("message", (topic) => (topic === marker ? done() : found.push(topic)));
  });
  for (const topic of topics) await client.subscribeAsync(topic, { qos: 1 });
  await client.subscribeAsync(marker, { qos: 1 });
  await all;
  await client.endAsync();
  return found.sort();
}

const topicsOf = (site: string) => BOX.map(([topic]) => `gateside/${site}/${topic}`);

const rowsOf = (postgres: Postgres, url: string) =>
  postgres.query(
    url,
    `SELECT (SELECT json_agg(site ORDER BY site) FROM box) AS boxes, (SELECT json_agg(DISTINCT site) FROM sensor) AS sensors,
       (SELECT count(*)::integer FROM measurement WHERE site = 'plant-7') AS measurements`,
  );

test("fleet retire – clears the broker and the list, keeps readings, and a box that publishes is listed again", {
  skip: skipWithoutPostgres || skipWithoutMosquitto,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const postgres = await openPostgres();
  t.after(() => postgres.close());
  const broker = await startMosquitto();
  t.after(() => broker.close());
  const url = await postgres.createDatabase("retire");
  const writer = new Writer(url);
  t.after(() => writer.close());
  await writer.write([...entriesOf("plant-7"), ...entriesOf("plant-70")]);
  await retainAll(broker.url, "plant-7");
  await retainAll(broker.url, "plant-70");
  const retire = (site: string, ...more: string[]) => retireFrom(url, site, ...more);
  const retireFrom = (db: string, site: string, ...more: string[]) =>
    runCommand(["fleet", "retire", site, "--from", broker.url, "--db", db, ...more]);

  const unknown = await retire("plant-9");
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /no box "plant-9"/);

  const nameless = await runCommand(["fleet", "retire"]);
  assert.equal(nameless.code, 2);
  assert.match(nameless.stderr, /which box\? `fleet retire SITE`/);
  // Before the broker is touched, and without blaming it.
  await postgres.query(url, "CREATE ROLE looking LOGIN IN ROLE gateside_reader");
  const looking = Object.assign(new URL(url), { username: "looking" }).href;
  const reading = await retireFrom(looking, "plant-7");
  assert.equal(reading.code, 1);
  assert.match(reading.stderr, /^error: postgres:.* role looking may not delete .*gateside_writer/);
  assert.deepEqual(await retainedOf(broker.url, topicsOf("plant-7")), topicsOf("plant-7").sort());

  const online = [["agent/state", { state: "online", time: new Date().toISOString() }]] as const;
  await writer.write(entriesOf("plant-7", online));
  const refused = await retire("plant-7");
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /plant-7 is online; .*--force/);
  assert.deepEqual(await retainedOf(broker.url, topicsOf("plant-7")), topicsOf("plant-7").sort());

  const forced = await retire("plant-7", "--force");
  assert.equal(forced.code, 0, forced.stderr);
  assert.match(
    forced.stdout,
    new RegExp(`^plant-7 is retired: ${BOX.length} retained topics cleared`),
    "as many as there were, not as could be",
  );
  assert.deepEqual(await retainedOf(broker.url, topicsOf("plant-7")), []);
  assert.deepEqual(await retainedOf(broker.url, topicsOf("plant-70")), topicsOf("plant-70").sort());
  const [left] = await rowsOf(postgres, url);
  assert.deepEqual(left, { boxes: ["plant-70"], sensors: ["plant-70"], measurements: 2 });

  // What it cleared reaches the collectors; the next reading comes from a box that is back.
  await writer.write(BOX.map(([topic]) => entry(`gateside/plant-7/${topic}`, "")));
  assert.deepEqual(await rowsOf(postgres, url), [left]);
  await writer.write([entry("gateside/plant-7/101/rpm/history", readingPayload(6))]);
  const [back] = await rowsOf(postgres, url);
  assert.deepEqual(back, {
    boxes: ["plant-7", "plant-70"],
    sensors: ["plant-7", "plant-70"],
    measurements: 4,
  });
});

/** In front of a broker: refuses MQTT 5, as a broker of 3.1.1 does. */
async function olderBroker(t: TestContext, port: number): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", (first: Buffer) => {
      if (first[first.indexOf("MQTT") + 4] === 5) {
        socket.end(Buffer.from([0x20, 2, 0, 1]));
        return;
      }
      const broker = connect(port, "127.0.0.1");
      broker.on("error", () => {});
      broker.write(first);
      socket.pipe(broker).pipe(socket);
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => server.close());
  return `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("fleet retire – over MQTT 3.1.1, where a refused message is acknowledged, nothing counts as cleared that is still retained", {
  skip: skipWithoutPostgres || skipWithoutMosquitto,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const postgres = await openPostgres();
  t.after(() => postgres.close());
  const broker = await startMosquitto({ acl: "topic readwrite #" });
  t.after(() => broker.close());
  const url = await postgres.createDatabase("retire_older");
  const writer = new Writer(url);
  await writer.write(entriesOf("plant-7"));
  await writer.close();
  await retainAll(broker.url, "plant-7");
  const older = await olderBroker(t, broker.port);
  const retire = () =>
    runCommand(["fleet", "retire", "plant-7", "--from", older, "--db", url, "--force"]);
  broker.reload({ acl: "topic read #" });
  const refused = await retire();
  assert.equal(refused.code, 1, refused.stdout);
  assert.match(refused.stderr, /still retains gateside\/plant-7\/.* may not publish below/);
  assert.deepEqual((await rowsOf(postgres, url))[0]?.["boxes"], ["plant-7"]);
  broker.reload({ acl: "topic readwrite #" });
  assert.equal((await retire()).code, 0);
  assert.deepEqual(await retainedOf(broker.url, topicsOf("plant-7")), []);
});

test("fleet – RabbitMQ 3.10 gives no retained messages to wildcards: it says that --db is needed, retire clears exact names, and a collector over MQTT says what it needs", {
  skip: skipWithoutPostgres || skipWithoutRabbitmq || skipWithoutBuild,
  timeout: deadlineMs(180_000),
}, async (t) => {
  const rabbitmq = await openRabbitmq();
  t.after(() => rabbitmq.close());
  const postgres = await openPostgres();
  t.after(() => postgres.close());
  const url = await postgres.createDatabase("retire_rabbitmq");
  const writer = new Writer(url);
  await writer.write([
    ...entriesOf("plant-7"),
    entry("gateside/plant-7/agent/event", JSON.stringify(EVENT)),
  ]);
  await writer.close();
  await retainAll(rabbitmq.mqttUrl, "plant-7");
  const fleet = await runCommand(["fleet", "--from", rabbitmq.mqttUrl]);
  assert.equal(fleet.code, 1);
  assert.match(fleet.stderr, /topics with wildcards \(RabbitMQ 3\.10\), and --db is needed/);
  assert.equal((await retainedOf(rabbitmq.mqttUrl, topicsOf("plant-7"))).length, BOX.length);
  const addresses = ["--from", rabbitmq.mqttUrl, "--db", url];
  const retired = await runCommand(["fleet", "retire", "plant-7", ...addresses]);
  assert.equal(retired.code, 0, retired.stderr);
  assert.deepEqual(await retainedOf(rabbitmq.mqttUrl, topicsOf("plant-7")), []);
  const { stdout } = await runCommand(["fleet", "--db", url, "--json"]);
  assert.deepEqual(JSON.parse(stdout) as FleetBox[], []);
  const collector = startCollect(rabbitmq.mqttUrl, url);
  t.after(() => collector.end("SIGKILL"));
  const { error } = await collector.logged("no connection to the broker");
  assert.match(
    String(error),
    /does not support MQTT 5; over mqtt:\/\/ a collector needs MQTT 5 .*use amqp:/,
  );
});
