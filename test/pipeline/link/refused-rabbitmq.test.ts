/** RabbitMQ ends the session at each publish that a client has no right to, and gives no reason over MQTT 3.1.1. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import mqtt from "mqtt";
import { brokerDetail } from "../../support/agent-answers.ts";
import { deadlineMs } from "../../support/deadline.ts";
import { linkFor } from "../../support/link.ts";
import { skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../../support/plant.ts";
import { openRabbitmq, skipWithoutRabbitmq as skip } from "../../support/rabbitmq.ts";
import { runCommand } from "../../support/run-command.ts";
import { truthOf } from "../../support/seen-readings.ts";
import { until, waitUntil } from "../../support/wait-until.ts";

let opening: ReturnType<typeof openRabbitmq> | null = null;
/** The one of this file, where a client may write what the pattern matches. */
async function brokerThatGrants(pattern: string) {
  opening ??= openRabbitmq();
  const broker = await opening;
  const rights = ["set_topic_permissions", "-p", "/", "guest", "amq.topic", pattern, ".*"];
  execFileSync(join(broker.tools, "rabbitmqctl"), rights);
  return broker;
}
after(async () => (await opening)?.close());

const USER = { username: "guest", password: "guest" } as const;

test("refused – at RabbitMQ, which closes the connection at each denied publish, denied topics are found and held back; the others are delivered, and topic, broker and remedy are told", {
  skip,
  timeout: deadlineMs(180_000),
}, async (t) => {
  const broker = await brokerThatGrants("^ok\\.");
  const { link, logger, stop } = linkFor(t, {
    url: broker.mqttUrl,
    version: 4,
    clientId: "box-7",
    ...USER,
    inflight: 10,
  });
  const results = async () => {
    await link.ready(stop.signal);
    const topics = ["ok/1", "no/1", "ok/2", "no/2", "ok/3"];
    const outcomes = await Promise.all(
      topics.map((topic) => link.publish({ topic, payload: "x", qos: 1, retain: false })),
    );
    return outcomes.map(({ result }) => result).join(" ");
  };
  const expected = "delivered refused delivered refused delivered";
  await waitUntil("everything has its answer", async () => (await results()) === expected);
  const { session } = link;
  assert.ok(session <= 8, `${session} sessions`);
  for (let i = 0; i < 20; i++) assert.equal(await results(), expected);
  assert.equal(link.session, session, "the denied topics end no further session");
  const { refused } = link.state;
  assert.equal(refused?.topics, 2);
  assert.match(refused?.text ?? "", /^mqtt:\S+ refuses 2 topics, for instance no\/1 .*"box-7"/);
  assert.equal(link.state.stolen ?? null, null);
  assert.match(JSON.stringify(logger.lines), /closes the connection at every publish to no\/1/);
});

test("refused – the built agent at RabbitMQ with two denied topics of a sensor: everything else arrives in a few sessions, and /readyz names them", {
  skip: skip || skipWithoutBuild || skipWithoutMosquitto,
  timeout: deadlineMs(180_000),
}, async (t) => {
  // The fourth sensor of the simulated plant measures a speed.
  const denied = ["100200411/rpm", "100200411/about"];
  const pattern = denied.map((topic) => `${topic.replace("/", "\\.")}$`).join("|");
  const broker = await brokerThatGrants(`^gateside\\.plant\\.(?!${pattern})`);
  const cadenceS = { accel: 3, accCurrent: 3, currentV2: 3, loop: 3, rpm: 3 };
  const plant = await startPlant(t, {
    simulator: {
      sensors: 4,
      historyDays: 0.001,
      waveform: { sampleRateHz: 6400, samples: 512 },
      cadenceS,
    },
    env: {
      MQTT_URL: broker.mqttUrl,
      MQTT_VERSION: "4",
      MQTT_USERNAME: USER.username,
      MQTT_PASSWORD: USER.password,
      RECONNECT_SPREAD_S: "1",
      PUBLISH_WAVEFORMS: "never",
    },
  });
  const subscriber = await mqtt.connectAsync(broker.mqttUrl, { ...USER, protocolVersion: 4 });
  t.after(() => subscriber.endAsync(true));
  const arrived = new Map<string, string>();
  subscriber.on("message", (topic, payload) => {
    const { id }: { id?: string } = JSON.parse(payload.toString() || "{}");
    arrived.set(id ?? topic, topic);
  });
  await subscriber.subscribeAsync("gateside/#", { qos: 1 });
  const agent = plant.startAgent();
  const sessions = () => agent.log.filter(({ msg }) => /mqtt connected/.test(String(msg))).length;
  const isDenied = async () => /100200411/.test(await brokerDetail(agent));
  await waitUntil("the denied topics are told", isDenied, 60_000, 200);
  // Of the sensor whose live topic is denied the newest reading of each look stays here.
  const wanted = [...truthOf(plant.simulator, 0)].flatMap(([id, { kind }]) =>
    kind === "rpm" ? [] : [id],
  );
  assert.ok(wanted.length > 0);
  const missing = () => wanted.filter((id) => !arrived.has(id)).length;
  await waitUntil(
    () => `everything else: ${missing()} of ${wanted.length} are missing, ${sessions()} sessions`,
    () => missing() === 0,
    60_000,
  );
  assert.ok(![...arrived.values()].some((topic) => denied.some((one) => topic.endsWith(one))));
  assert.ok(sessions() <= 10, `${sessions()} sessions`);
  assert.equal(await agent.stop(), 0);
});

test("refused – Sparkplug's births, which nobody confirms, at RabbitMQ: `gateside status` says that they may be refused, and blames no other client alone", {
  skip: skip || skipWithoutBuild || skipWithoutMosquitto,
  timeout: deadlineMs(180_000),
}, async (t) => {
  const broker = await brokerThatGrants("^gateside\\.");
  const plant = await startPlant(t, {
    simulator: { sensors: 4, historyDays: 0.001 },
    env: {
      MQTT_URL: broker.mqttUrl,
      MQTT_VERSION: "4",
      MQTT_USERNAME: USER.username,
      MQTT_PASSWORD: USER.password,
      PUBLISH_FORMATS: "sparkplug",
      RECONNECT_SPREAD_S: "1",
    },
  });
  const agent = plant.startAgent();
  await agent.address;
  const place = { cwd: dirname(plant.siteFile), env: plant.env };
  const line = await until(
    "the fault",
    async () => {
      const { stdout } = await runCommand(["status"], place);
      return stdout.split("\n").find((one) => / SESSION /.test(one));
    },
    120_000,
  );
  assert.match(
    line,
    /SESSION closed by the broker soon after each connect: it refuses a publish \(the first went to spBv1\.0\/plant\/NBIRTH\/gateside: .*\), or another client uses/,
  );
  assert.equal(await agent.stop(), 0);
});
