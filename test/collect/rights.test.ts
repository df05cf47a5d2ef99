import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { type ConfirmChannel, connect } from "amqplib";
import mqtt, { type IClientOptions, type MqttClient } from "mqtt";
import {
  publishAll,
  readingPayload,
  readUntil,
  skipWithoutBuild,
  startCollect,
} from "../support/collecting.ts";
import { deadlineMs } from "../support/deadline.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { openPostgres, type Postgres, skipWithoutPostgres } from "../support/postgres.ts";
import { openRabbitmq, type Rabbitmq, skipWithoutRabbitmq } from "../support/rabbitmq.ts";
import {
  clientIdOf,
  dieWith,
  mosquittoWithRights,
  passwordOf,
  publishing,
  rabbitmqRights,
  subscribing,
  tries,
} from "../support/rights.ts";

const FOREIGN_SUBSCRIPTIONS = [
  "#",
  "+/+/#",
  "gateside/#",
  "gateside/+/agent/state",
  "gateside/plant-10/#",
  "gateside/plant-2/agent/cmd/#",
  // Wildcards of AMQP, which RabbitMQ takes as such.
  "gateside/*/agent/cmd/#",
  "*/plant-2/#",
];
const SHARED = ["gateside", "g", "plant-1"].flatMap((group) => [
  `$share/${group}/gateside/#`,
  `$share/${group}/gateside/plant-2/#`,
  `$share/${group}/#`,
]);
const FOREIGN_TOPICS = [
  "elsewhere",
  "gateside/plant-10/1/rpm",
  "gateside/plant-1x/1/rpm",
  "gateside/plant/1/rpm",
  "gateside/plant-2/agent/cmd/saveSettings",
  "gateside/plant-2/agent/state",
  "xgateside/plant-1/1/rpm",
  // Levels and dots are one and the same to RabbitMQ.
  "gateside.plant-2.agent.state",
  "gateside/plant-2.agent/state",
];

test("rights – without the file of its connection, the script says which one, and what goes into it", () => {
  const env = { ...process.env, XDG_CONFIG_HOME: "/nonexistent" };
  const { status, stderr } = spawnSync("bash", ["deploy/mosquitto/rights.sh", "plant-1"], {
    input: "password\n",
    encoding: "utf8",
    env,
  });
  assert.equal(status, 2);
  assert.match(stderr, /^error: \/nonexistent\/mosquitto_ctrl cannot be read: .*-h .*-u admin/);
});

test("rights – on mosquitto, a box is refused whatever is not its own", {
  skip: skipWithoutMosquitto,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const { broker, rights: run, close } = await mosquittoWithRights();
  t.after(close);
  const rights = (...words: string[]) => {
    const outcome = run(...words);
    assert.equal(outcome.status, 0, outcome.stderr + outcome.stdout);
    return outcome.stdout;
  };
  for (const site of ["plant-1", "plant-2", "plant-10"]) rights(site);
  assert.match(rights("plant-1"), /^MQTT_USERNAME=plant-1\nMQTT_CLIENT_ID=gateside-plant-1\n$/);
  rights("--reader", "collector");
  rights("--reader", "collector");
  // A user is a box's, a collector's, or the administrator's.
  for (const words of [["admin"], ["--reader", "admin"], ["collector"], ["--reader", "plant-1"]])
    assert.equal(run(...words).status, 2, words.join(" "));
  const user = (username: string, clientId: string): IClientOptions => ({
    protocolVersion: 5,
    username,
    password: passwordOf(username),
    clientId,
  });
  const box = user("plant-1", "gateside-plant-1");
  const as = (use: (client: MqttClient) => Promise<unknown>, options = box) =>
    tries(broker.url, options, use);

  assert.equal(await as(publishing("gateside/plant-1/1/rpm")), "allowed");
  assert.equal(await as(publishing("gateside/plant-1/agent/state", true)), "allowed");
  assert.equal(await as(subscribing("gateside/plant-1/agent/cmd/#")), "allowed");
  for (const topic of FOREIGN_TOPICS)
    for (const retain of [false, true])
      assert.equal(await as(publishing(topic, retain)), "refused", topic);
  for (const topic of [...FOREIGN_SUBSCRIPTIONS, ...SHARED])
    assert.equal(await as(subscribing(topic)), "refused", topic);
  // The client id of another box, of a collector, or any other.
  for (const clientId of ["gateside-plant-2", "gsc0123456789x1", "other"])
    assert.equal(await as(publishing("gateside/plant-1/1/rpm"), { ...box, clientId }), "refused");
  assert.equal(await as(subscribing("x"), user("plant-1", "")), "refused");
  assert.equal(
    await as(subscribing("gateside/plant-1/#"), { ...box, password: "of plant-2" }),
    "refused",
  );

  // A will below another site is never published.
  const collector = user("collector", "gsc1");
  const heard: string[] = [];
  const reader = await mqtt.connectAsync(broker.url, collector);
  t.after(() => reader.endAsync(true));
  reader.on("message", (topic) => heard.push(topic));
  await reader.subscribeAsync("$share/gateside/gateside/#", { qos: 1 });
  for (const site of ["plant-2", "plant-1"]) {
    const will = {
      topic: `gateside/${site}/agent/state`,
      payload: Buffer.from("x"),
      qos: 1 as const,
    };
    await dieWith(broker.url, box, will);
  }
  await readUntil(
    async () => heard,
    (topics) => topics.includes("gateside/plant-1/agent/state"),
  );
  assert.deepEqual(
    heard.filter((topic) => !topic.startsWith("gateside/plant-1/")),
    [],
  );
  // A collector reads for its group, and publishes nothing.
  assert.equal(await as(publishing("gateside/plant-1/1/rpm"), user("collector", "c2")), "refused");
  assert.equal(
    await as(subscribing("$share/other/gateside/#"), user("collector", "c2")),
    "refused",
  );
});

/** plant-1 with its rights, at the port that boxes should not reach. */
function boxOverAmqp(rabbit: Rabbitmq): URL {
  const url = new URL(rabbit.amqpUrl);
  url.username = "plant-1";
  url.password = "of plant-1";
  return url;
}

const FORGED = 4;
/**
 * What RabbitMQ does not check against a user's rights: further routing keys in the headers CC and BCC, and the key
 * under which a message returns from a queue of the user's own. `FORGED` readings that claim to be of plant-2.
 */
async function forge(rabbit: Rabbitmq, clientId: string): Promise<void> {
  const connection = await connect(boxOverAmqp(rabbit).href);
  try {
    const channel = await connection.createConfirmChannel();
    const [own, foreign] = ["gateside.plant-1.1.rpm", "gateside.plant-2.1.rpm"];
    const body = (n: number) => Buffer.from(readingPayload(500 + n, { site: "plant-2" }));
    channel.publish("amq.topic", own, body(0), { CC: [foreign] });
    channel.publish("amq.topic", own, body(1), { BCC: [foreign] });
    channel.publish("amq.topic", own, body(2), { headers: { "x-death": "never", CC: [foreign] } });
    // Its own session's queue, declared anew with another way out.
    const queue = `mqtt-subscription-${clientId}qos1`;
    await channel.deleteQueue(queue);
    await channel.assertQueue(queue, {
      messageTtl: 0,
      deadLetterExchange: "amq.topic",
      deadLetterRoutingKey: foreign,
    });
    await channel.bindQueue(queue, "amq.topic", "gateside.plant-1.agent.cmd.#");
    channel.publish("amq.topic", "gateside.plant-1.agent.cmd.x", body(3));
    await channel.waitForConfirms();
  } finally {
    await connection.close();
  }
}

/** The key of the box in RabbitMQ's rights. */
async function checkBox(rabbit: Rabbitmq, clientId: string): Promise<void> {
  const box: IClientOptions = {
    protocolVersion: 4,
    username: "plant-1",
    password: "of plant-1",
    clientId,
    clean: false,
  };
  const as = (use: (client: MqttClient) => Promise<unknown>, options = box) =>
    tries(rabbit.mqttUrl, options, use);
  assert.equal(await as(publishing("gateside/plant-1/1/rpm")), "allowed");
  for (const own of ["agent/cmd/#", "agent/state", "+/alarm/+/+"])
    assert.equal(await as(subscribing(`gateside/plant-1/${own}`)), "allowed", own);
  // AMQP carries 255 bytes: RabbitMQ would accept a longer topic, and fail over its delivery.
  assert.equal(await as(publishing("gateside/plant-1/".padEnd(255, "x"))), "allowed");
  for (const topic of [...FOREIGN_TOPICS, "gateside/plant-1/".padEnd(256, "x")])
    assert.equal(await as(publishing(topic, true)), "refused", topic);
  for (const topic of [...FOREIGN_SUBSCRIPTIONS, ...SHARED])
    assert.equal(await as(subscribing(topic)), "refused", topic);
  // Another client id has no queue that this user may declare.
  for (const other of ["gateside-plant-2", `${clientId}0`, `x${clientId}`, "any"])
    assert.equal(
      await as(subscribing("gateside/plant-1/agent/cmd/#"), { ...box, clientId: other }),
      "refused",
      other,
    );
  const will = {
    topic: "gateside/plant-2/agent/state",
    payload: Buffer.from("x"),
    qos: 1 as const,
  };
  await dieWith(rabbit.mqttUrl, box, will);

  // Over AMQP, were its port open to boxes.
  const overAmqp = triesOverAmqp(boxOverAmqp(rabbit).href);
  const queue = "gateside-collect-gateside";
  for (const name of ["mine", "", `mqtt-subscription-${clientId}qos1\n`])
    assert.equal(await overAmqp((channel) => channel.assertQueue(name)), "refused", name);
  assert.equal(
    await overAmqp((channel) => channel.checkQueue(queue).then(() => channel.get(queue))),
    "refused",
  );
  assert.equal(await overAmqp((channel) => channel.consume(queue, () => {})), "refused");
  assert.equal(await overAmqp((channel) => channel.purgeQueue(queue)), "refused");
  assert.equal(await overAmqp((channel) => channel.deleteQueue(queue)), "refused");
  assert.equal(
    await overAmqp((channel) => channel.bindQueue(queue, "amq.topic", "gateside.plant-1.#")),
    "refused",
  );
  assert.equal(await overAmqp((channel) => channel.assertExchange("mine", "topic")), "refused");
  assert.equal(await overAmqp(sending("amq.topic", "gateside.plant-2.agent.state")), "refused");
  assert.equal(await overAmqp(sending("", queue)), "refused");
}

const triesOverAmqp =
  (url: string) =>
  async (use: (channel: ConfirmChannel) => Promise<unknown>): Promise<"allowed" | "refused"> => {
    const connection = await connect(url);
    connection.on("error", () => {});
    try {
      const channel = await connection.createConfirmChannel();
      channel.on("error", () => {});
      await use(channel);
      return "allowed";
    } catch {
      return "refused";
    } finally {
      await connection.close().catch(() => {});
    }
  };

const sending = (exchange: string, key: string) => async (channel: ConfirmChannel) => {
  channel.publish(exchange, key, Buffer.from("1"));
  await channel.waitForConfirms();
};

/** A collector reads its own queue, and takes nothing of another prefix. */
async function checkReader(url: string): Promise<void> {
  const overAmqp = triesOverAmqp(url);
  const [own, foreign] = ["gateside-collect-gateside", "gateside-collect-gateside-eu.west.cell"];
  assert.equal(await overAmqp((channel) => channel.checkQueue(own)), "allowed");
  for (const use of [
    (channel: ConfirmChannel) => channel.consume(foreign, () => {}),
    (channel: ConfirmChannel) => channel.purgeQueue(foreign),
    (channel: ConfirmChannel) => channel.deleteQueue(foreign),
    (channel: ConfirmChannel) => channel.assertQueue("mine"),
    (channel: ConfirmChannel) => channel.bindQueue(own, "amq.topic", "eu.west.cell.#"),
    (channel: ConfirmChannel) => channel.bindQueue(own, "amq.topic", "#"),
    sending("amq.topic", "gateside.plant-1.agent.state"),
    sending("amq.topic", ""),
    sending("", foreign),
  ])
    assert.equal(await overAmqp(use), "refused", use.toString());
}

/** None of them is stored as a reading of plant-2, and each is told. */
async function checkForged(postgres: Postgres, url: string): Promise<void> {
  const sql = `SELECT reason, count(*)::int AS count FROM rejected WHERE payload::text LIKE '%${Buffer.from('"site":"plant-2"').toString("hex")}%' GROUP BY reason`;
  const told = await readUntil(
    () => postgres.query<{ reason: string; count: number }>(url, sql),
    (rows) => rows.reduce((sum, { count }) => sum + count, 0) >= FORGED,
  );
  const reasons = Object.fromEntries(told.map(({ reason, count }) => [reason, count]));
  assert.deepEqual(reasons, { site_mismatch: 2, foreign_topic: 2 });
}

test("rights – on RabbitMQ, a box is refused whatever is not its own; two prefixes have a queue each, declared before the first box", {
  skip: skipWithoutRabbitmq || skipWithoutPostgres || skipWithoutBuild,
  timeout: deadlineMs(180_000),
}, async (t) => {
  const [postgres, rabbit] = await Promise.all([openPostgres(), openRabbitmq()]);
  t.after(async () => {
    postgres.close();
    await rabbit.close();
  });
  const urls = await Promise.all(["one", "two"].map((name) => postgres.createDatabase(name)));
  const [first = "", second = ""] = urls;
  const rights = rabbitmqRights(rabbit);
  // Collectors have their own rights, for one prefix each.
  const cells = [
    { url: first, prefix: "gateside", reader: "collector", queue: "gateside-collect-gateside" },
    {
      url: second,
      prefix: "eu.west/cell",
      reader: "collector-2",
      queue: "gateside-collect-gateside-eu.west.cell",
    },
  ];
  const fromOf = (reader: string) => {
    const url = new URL(rabbit.amqpUrl);
    url.username = reader;
    url.password = passwordOf(reader);
    return url.href;
  };
  // Before any collector runs: what boxes publish from now on is kept.
  for (const { url, prefix, reader, queue } of cells) {
    const outcome = rights("--reader", reader, prefix);
    assert.equal(outcome.stdout, `user ${reader} reads ${queue}\n`, outcome.stderr);
    const once = startCollect(fromOf(reader), url, ["--migrate-only", "--prefix", prefix]);
    assert.equal((await once.logged("the queue is declared and bound", 60_000)).queue, queue);
  }
  assert.equal(rights("--reader", "third", "cell", "a-b").status, 2);
  const id = (outcome: ReturnType<typeof rights>) => {
    const found = clientIdOf(outcome);
    assert.match(found, /-[0-9a-f]{16}$/);
    return found;
  };
  const own = id(rights("plant-1"));
  assert.equal(id(rights("plant-1")), own);
  assert.notEqual(id(rights("dotted.site")), own);
  for (const site of ["dotted", "dotted.site.more", "gateside"])
    assert.equal(rights(site).status, site === "gateside" ? 0 : 2, site);
  assert.equal(rights("site", "gateside/dotted").status, 2);
  // A user is a box's, a collector's, or the administrator's.
  for (const words of [["collector"], ["--reader", "plant-1"], ["guest"]])
    assert.equal(rights(...words).status, 2);
  await checkBox(rabbit, own);
  await forge(rabbit, own);
  await checkReader(fromOf("collector"));

  const readings = (from: number, site: string, prefix: string) =>
    Array.from({ length: 50 }, (_, n) => ({
      topic: `${prefix}/${site}/100/rpm/history`,
      payload: readingPayload(from + n, { site }),
    }));
  await publishAll(rabbit.mqttUrl, [
    ...readings(0, "plant.3", "gateside"),
    ...readings(100, "plant.3", "eu.west/cell"),
  ]);
  for (const { url, prefix, reader } of cells) {
    const collect = startCollect(fromOf(reader), url, ["--prefix", prefix]);
    t.after(() => void collect.child.kill("SIGKILL"));
    const rows = await readUntil(
      () =>
        postgres.query<{ site: string; count: number }>(
          url,
          "SELECT site, count(*)::int AS count FROM reading GROUP BY site",
        ),
      (found) => (found[0]?.count ?? 0) >= 50,
    );
    assert.deepEqual(rows, [{ site: "plant.3", count: 50 }]);
    if (prefix === "gateside") await checkForged(postgres, url);
    assert.equal(await collect.end(), 0);
  }
});
