import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { connect } from "amqplib";
import mqtt, { type IClientOptions, type MqttClient } from "mqtt";
import {
  publishAll,
  readingPayload,
  readUntil,
  skipWithoutBuild,
  startCollect,
} from "../support/collecting.ts";
import { deadlineMs } from "../support/deadline.ts";
import { skipWithoutMosquitto, startMosquitto } from "../support/mosquitto.ts";
import { openPostgres, skipWithoutPostgres } from "../support/postgres.ts";
import { openRabbitmq, type Rabbitmq, skipWithoutRabbitmq } from "../support/rabbitmq.ts";

interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function script(path: string, words: readonly string[], input: string, env: object): Outcome {
  return spawnSync("bash", [path, ...words], {
    input,
    encoding: "utf8",
    env: { ...process.env, ...env },
  });
}

/** What a client may do; a broker refuses by a reason code or by closing the connection. */
async function tries(
  url: string,
  options: IClientOptions,
  use: (client: MqttClient) => Promise<unknown>,
): Promise<"allowed" | "refused"> {
  let client: MqttClient;
  try {
    client = await mqtt.connectAsync(url, { reconnectPeriod: 0, connectTimeout: 5000, ...options });
  } catch {
    return "refused";
  }
  client.on("error", () => {});
  const closed = new Promise<"refused">((done) => client.once("close", () => done("refused")));
  const used = use(client).then(
    () => "allowed" as const,
    () => "refused" as const,
  );
  const outcome = await Promise.race([used, closed]);
  await client.endAsync(true);
  return outcome;
}

const publishing =
  (topic: string, retain = false) =>
  (client: MqttClient) =>
    client.publishAsync(topic, "1", { qos: 1, retain });
const subscribing = (topic: string) => async (client: MqttClient) => {
  const [grant] = await client.subscribeAsync(topic, { qos: 1 });
  if (grant === undefined || grant.qos > 2) throw new Error("refused");
};

const FOREIGN_SUBSCRIPTIONS = [
  "#",
  "+/+/#",
  "gateside/#",
  "gateside/+/agent/state",
  "gateside/plant-10/#",
  "gateside/plant-2/agent/cmd/#",
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
];

test("rights – on mosquitto, a box is refused whatever is not its own", {
  skip: skipWithoutMosquitto,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "gateside-rights-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, "dynamic-security.json");
  spawnSync("mosquitto_ctrl", ["dynsec", "init", file, "admin"], { input: "of-admin\nof-admin\n" });
  const shipped = readFileSync("deploy/mosquitto/mosquitto.conf", "utf8").split("\n");
  const plugin = shipped.find((line) => line.startsWith("plugin ")) ?? "";
  const broker = await startMosquitto({
    config: ["allow_anonymous false", plugin, `plugin_opt_config_file ${file}`],
  });
  t.after(() => broker.close());
  const connection = ["-h 127.0.0.1", `-p ${broker.port}`, "-u admin", "-P of-admin", ""];
  writeFileSync(join(directory, "mosquitto_ctrl"), connection.join("\n"), { mode: 0o600 });
  const rights = (...words: string[]) => {
    const path = "deploy/mosquitto/rights.sh";
    const name = words.at(words[0] === "--reader" ? 1 : 0);
    const outcome = script(path, words, `of ${name}\n`, { XDG_CONFIG_HOME: directory });
    assert.equal(outcome.status, 0, outcome.stderr + outcome.stdout);
    return outcome.stdout;
  };
  rights("--deny");
  for (const site of ["plant-1", "plant-2", "plant-10"]) rights(site);
  assert.match(rights("plant-1"), /^MQTT_USERNAME=plant-1\nMQTT_CLIENT_ID=gateside-plant-1\n$/);
  rights("--reader", "collector");
  const user = (username: string, clientId: string): IClientOptions => ({
    protocolVersion: 5,
    username,
    password: `of ${username}`,
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
    const dying = await mqtt
      .connectAsync(broker.url, { ...box, will, reconnectPeriod: 0 })
      .catch(() => null);
    dying?.on("error", () => {});
    dying?.stream.destroy();
    await dying?.endAsync(true);
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
  for (const topic of FOREIGN_TOPICS)
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
  const dying = await mqtt
    .connectAsync(rabbit.mqttUrl, { ...box, will, reconnectPeriod: 0 })
    .catch(() => null);
  dying?.on("error", () => {});
  dying?.stream.destroy();
  await dying?.endAsync(true);

  // Over AMQP, were its port open to boxes.
  const url = new URL(rabbit.amqpUrl);
  url.username = "plant-1";
  url.password = "of plant-1";
  const overAmqp = async (use: (channel: Awaited<ReturnType<typeof open>>) => Promise<unknown>) => {
    const connection = await connect(url.href);
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
  const open = async () => (await connect(url.href)).createConfirmChannel();
  const queue = "gateside-collect-gateside";
  assert.equal(await overAmqp((channel) => channel.assertQueue("mine")), "refused");
  assert.equal(await overAmqp((channel) => channel.assertQueue("")), "refused");
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
  const sending = (exchange: string, key: string) =>
    overAmqp(async (channel) => {
      channel.publish(exchange, key, Buffer.from("1"));
      await channel.waitForConfirms();
    });
  assert.equal(await sending("amq.topic", "gateside.plant-2.agent.state"), "refused");
  assert.equal(await sending("", queue), "refused");
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
  // Before any collector runs: what boxes publish from now on is kept.
  for (const [url, prefix] of [
    [first, "gateside"],
    [second, "eu.west/cell"],
  ] as const) {
    const once = startCollect(rabbit.amqpUrl, url, ["--migrate-only", "--prefix", prefix]);
    const { queue } = await once.logged("the queue is declared and bound", 60_000);
    assert.equal(
      queue,
      prefix === "gateside"
        ? "gateside-collect-gateside"
        : "gateside-collect-gateside-eu.west.cell",
    );
  }
  const rights = (...words: string[]) =>
    script("deploy/rabbitmq/rights.sh", words, `of ${words[0]}\n`, {
      PATH: `${rabbit.tools}:${process.env["PATH"]}`,
    });
  const id = (outcome: Outcome) =>
    /^MQTT_USERNAME=\S+\nMQTT_CLIENT_ID=(gateside-\S+-[0-9a-f]{16})\n$/.exec(outcome.stdout)?.[1] ??
    assert.fail(outcome.stdout + outcome.stderr);
  const own = id(rights("plant-1"));
  assert.equal(id(rights("plant-1")), own);
  for (const site of ["plant-2", "plant-10", "dotted.site"]) assert.notEqual(id(rights(site)), own);
  assert.equal(id(rights("dotted.site")), id(rights("dotted.site")));
  for (const site of ["dotted", "dotted.site.more", "gateside"])
    assert.equal(rights(site).status, site === "gateside" ? 0 : 2, site);
  assert.equal(rights("site", "gateside/dotted").status, 2);
  await checkBox(rabbit, own);

  const readings = (from: number, site: string, prefix: string) =>
    Array.from({ length: 50 }, (_, n) => ({
      topic: `${prefix}/${site}/100/rpm/history`,
      payload: readingPayload(from + n, { site }),
    }));
  await publishAll(rabbit.mqttUrl, [
    ...readings(0, "plant.3", "gateside"),
    ...readings(100, "plant.3", "eu.west/cell"),
  ]);
  for (const [url, prefix] of [
    [first, "gateside"],
    [second, "eu.west/cell"],
  ] as const) {
    const collect = startCollect(rabbit.amqpUrl, url, ["--prefix", prefix]);
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
    assert.equal(await collect.end(), 0);
  }
});
