/** RabbitMQ ends the session at each publish that a client has no right to, and gives no reason over MQTT 3.1.1. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "../../src/lib/clock.ts";
import { MqttLink } from "../../src/link/mqtt-link.ts";
import { deadlineMs } from "../support/deadline.ts";
import { openRabbitmq, skipWithoutRabbitmq as skip } from "../support/rabbitmq.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { waitUntil } from "../support/wait-until.ts";

test("refused – at RabbitMQ, which closes the connection at each denied publish, denied topics are found and held back; the others are delivered, and topic, broker and remedy are told", {
  skip,
  timeout: deadlineMs(180_000),
}, async (t) => {
  const broker = await openRabbitmq();
  t.after(() => broker.close());
  const rights = ["set_topic_permissions", "-p", "/", "guest", "amq.topic", "^ok\\.", ".*"];
  execFileSync(join(broker.tools, "rabbitmqctl"), rights);
  const logger = new RecordingLogger();
  const link = new MqttLink(
    { clock: systemClock, logger },
    {
      name: "mqtt",
      urls: [broker.mqttUrl],
      version: 4,
      clientId: "box-7",
      username: "guest",
      password: "guest",
      inflight: 10,
      backoffMinMs: 10,
      backoffMaxMs: 50,
    },
  );
  const stop = new AbortController();
  const running = link.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await running;
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
