import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type TestContext, test } from "node:test";
import type { InboundMessage, LinkHooks } from "../../../src/core/delivery/link.ts";
import type { Message } from "../../../src/core/message.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import type { MqttLinkOptions } from "../../../src/pipeline/link/link-options.ts";
import { MqttLink } from "../../../src/pipeline/link/mqtt-link.ts";
import { fakeBrokerFor, mosquittoFor } from "../../support/brokers.ts";
import { deadlineMs } from "../../support/deadline.ts";
import { linkFor } from "../../support/link.ts";
import { freePort, recordMessages, skipWithoutMosquitto as skip } from "../../support/mosquitto.ts";
import { recordingClock } from "../../support/recording-clock.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { waitUntil } from "../../support/wait-until.ts";

const message = (topic: string, payload: string | Uint8Array = "x"): Message => ({
  topic,
  payload,
  qos: 1,
  retain: false,
});

function link(
  t: TestContext,
  options: Partial<MqttLinkOptions> & { readonly url: string },
  hooks: LinkHooks = {},
) {
  const clock = recordingClock();
  return { ...linkFor(t, options, { clock, hooks }), clock };
}

/** Half of the shortest back-off after a take-over, ms: the other half is random. */
const TAKEOVER_PAUSE_MIN_MS = 15_000;
const forever = () => new AbortController().signal;

test("link – without a connection a publish is lost at once, never queued", async () => {
  const alone = new MqttLink(
    { clock: systemClock, logger: new RecordingLogger() },
    { name: "mqtt", urls: ["mqtt://127.0.0.1:1"], version: 5, clientId: "x", inflight: 1 },
  );
  assert.deepEqual(await alone.publish(message("a")), { result: "lost" });
});

test("link – who waits for a session hears when it is no longer wanted, and when the link closes", async () => {
  const alone = new MqttLink(
    { clock: systemClock, logger: new RecordingLogger() },
    { name: "mqtt", urls: ["mqtt://127.0.0.1:1"], version: 5, clientId: "x", inflight: 1 },
  );
  const stop = new AbortController();
  const waits = [alone.ready(stop.signal), alone.ready(forever())];
  stop.abort();
  assert.equal(await waits[0], false);
  await alone.close();
  assert.equal(await waits[1], false);
  assert.equal(await alone.ready(forever()), false);
});

test("link – an acknowledgement that never comes ends as lost and the session is renewed", {
  timeout: deadlineMs(30_000),
}, async (t) => {
  const server = await fakeBrokerFor(t, {
    version: 5,
    onPublish: ({ packetId }, connection) => {
      if (connection.number > 1) connection.ack(packetId);
    },
  });
  const { link: l, logger } = link(t, { url: server.url, ackTimeoutMs: 200 });
  await l.ready(forever());
  assert.deepEqual(await l.publish(message("a")), { result: "lost" });
  await waitUntil("a second session", () => l.session === 2 && l.isConnected);
  assert.deepEqual(await l.publish(message("a")), { result: "delivered" });
  assert.match(logger.text, /not acknowledged within/);
});

test("link – one message that is never acknowledged ends as lost although others are acknowledged", {
  timeout: deadlineMs(30_000),
}, async (t) => {
  const server = await fakeBrokerFor(t, {
    version: 5,
    onPublish: ({ topic, packetId }, connection) => {
      if (topic !== "poison") connection.ack(packetId);
    },
  });
  const { link: l } = link(t, { url: server.url, ackTimeoutMs: 60 });
  await l.ready(forever());
  let isOver = false;
  const poison = l.publish(message("poison")).then((outcome) => {
    isOver = true;
    return outcome;
  });
  let others = 0;
  while (!isOver) if ((await l.publish(message("good"))).result === "delivered") others += 1;
  assert.deepEqual(await poison, { result: "lost" });
  assert.ok(others > 10);
});

test("link – a receive maximum of 1 is observed by every publisher", {
  timeout: deadlineMs(30_000),
}, async (t) => {
  const server = await fakeBrokerFor(t, {
    version: 5,
    connackProperties: [0x21, 0, 1],
    // Late, so that a second message in flight would be seen; one that is not sent has no event.
    onPublish: ({ packetId }, connection) => void setTimeout(() => connection.ack(packetId), 2),
  });
  const { link: l } = link(t, { url: server.url });
  await l.ready(forever());
  assert.equal(l.inflightMax, 1);
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, i) => l.publish(message(`t/${i}`))),
  );
  assert.ok(outcomes.every(({ result }) => result === "delivered"));
  assert.equal(server.unansweredMax, 1);
});

test("link – a message that makes the broker close the connection is found and refused; others get through", {
  timeout: deadlineMs(30_000),
}, async (t) => {
  const server = await fakeBrokerFor(t, {
    version: 4,
    onPublish: ({ topic, packetId }, connection) => {
      if (topic === "poison") connection.destroy();
      else connection.ack(packetId);
    },
  });
  const { link: l } = link(t, { url: server.url, version: 4 });
  const open = new Set(["poison", ...Array.from({ length: 50 }, (_, i) => `good/${i}`)]);
  const refused: string[] = [];
  while (open.size > 0) {
    await l.ready(forever());
    await Promise.all(
      [...open].map(async (topic) => {
        const outcome = await l.publish(message(topic));
        if (outcome.result === "lost") return;
        open.delete(topic);
        if (outcome.result === "refused") refused.push(topic);
      }),
    );
  }
  assert.deepEqual(refused, ["poison"]);
  // One message at a time, until 500 have been acknowledged in one session.
  await l.ready(forever());
  const acknowledged = async (count: number) => {
    for (let n = 0; n < count; n++) await l.publish(message("good/1"));
  };
  assert.equal(l.inflightMax, 1);
  const { session } = l;
  await acknowledged(400);
  assert.equal(l.inflightMax, 1);
  await acknowledged(100);
  assert.deepEqual([l.inflightMax, l.session], [100, session]);
});

test("link – a taken-over session is reported with its remedy and not contested", {
  timeout: deadlineMs(30_000),
}, async (t) => {
  const server = await fakeBrokerFor(t, {
    version: 5,
    onConnect: (connection) => connection.disconnect(0x8e),
  });
  const { link: l, logger, clock } = link(t, { url: server.url, clientId: "twin" });
  await waitUntil("the log line", () => logger.text.includes("MQTT_CLIENT_ID"));
  await waitUntil("the pause", () => clock.pauses.length > 0);
  assert.ok((clock.pauses.at(-1) ?? 0) >= TAKEOVER_PAUSE_MIN_MS, `${clock.pauses.at(-1)} ms`);
  assert.equal(server.connects, 1);
  assert.match(l.state.lastError ?? "", /another client uses the client id "twin"/);
});

test("link – a packet too large for a broker that only says so when it is sent is not sent again", {
  timeout: deadlineMs(30_000),
}, async (t) => {
  const server = await fakeBrokerFor(t, {
    version: 5,
    onPublish: ({ packetBytes, packetId }, connection) => {
      if (packetBytes > 1000) connection.disconnect(0x95);
      else connection.ack(packetId);
    },
  });
  const { link: l } = link(t, { url: server.url });
  await l.ready(forever());
  assert.equal((await l.publish(message("big", "x".repeat(2000)))).result, "lost");
  await l.ready(forever());
  assert.equal((await l.publish(message("big", "x".repeat(2000)))).result, "oversize");
  assert.equal((await l.publish(message("small"))).result, "delivered");
});

test("link – a half-open connection is detected by its keep-alive", {
  skip,
  timeout: deadlineMs(30_000),
}, async (t) => {
  const server = await mosquittoFor(t);
  const { link: l } = link(t, { url: server.url, keepaliveS: 1 });
  await l.ready(forever());
  server.freeze();
  await waitUntil("the end of the session", () => !l.isConnected);
  server.thaw();
  await waitUntil("a new session", () => l.session === 2 && l.isConnected);
});

test("link – a wrong password is reported with its remedy, and no secret is logged", {
  skip,
  timeout: deadlineMs(30_000),
}, async (t) => {
  const server = await mosquittoFor(t, { passwords: { gateside: "right" } });
  const login = { username: "gateside", password: "hunter2" };
  const { link: l, logger } = link(t, { url: server.url, ...login });
  await waitUntil("the refusal", () => l.state.lastError !== null);
  assert.match(l.state.lastError ?? "", /MQTT_USERNAME|MQTT_PASSWORD/);
  assert.equal(l.state.url, server.url);
  assert.doesNotMatch(logger.text + JSON.stringify(l.state), /hunter2/);
  server.reload({ passwords: { gateside: "hunter2" } });
  assert.ok(await l.ready(forever()), "heals when the broker's password changes");
  assert.equal(l.state.lastError, null);
});

test("link – TLS: own CA and client certificate are accepted, another CA or none is rejected", {
  skip,
  timeout: deadlineMs(30_000),
}, async (t) => {
  const server = await mosquittoFor(t, { tls: { requireClientCert: true } });
  const pem = (name: "ca" | "otherCa" | "clientCert" | "clientKey") =>
    server.certificates?.read(name).toString() ?? "";
  const client = { cert: pem("clientCert"), key: pem("clientKey") };
  const good = link(t, { url: server.url, tls: { ca: pem("ca"), ...client } });
  const wrongCa = link(t, { url: server.url, tls: { ca: pem("otherCa"), ...client } });
  const noCert = link(t, { url: server.url, tls: { ca: pem("ca") } });
  const plain = link(t, { url: server.url.replace("mqtts:", "mqtt:") });
  await good.link.ready(forever());
  assert.equal((await good.link.publish(message("a"))).result, "delivered");
  await waitUntil("the wrong CA", () => wrongCa.link.state.lastError !== null);
  assert.match(wrongCa.link.state.lastError ?? "", /MQTT_CA_FILE/);
  await waitUntil("the missing certificate", () => noCert.link.state.lastError !== null);
  await waitUntil("the plain connection", () => plain.link.state.lastError !== null);
  assert.equal(wrongCa.link.session + noCert.link.session + plain.link.session, 0);
});

for (const [transport, options] of [
  ["TCP", {}],
  ["TLS", { tls: {} }],
  ["web sockets", { websockets: true }],
] as const) {
  test(`link – over ${transport} bursts of small and large messages, QoS 0 and 1, arrive complete and in order`, {
    skip,
    timeout: deadlineMs(30_000),
  }, async (t) => {
    const server = await mosquittoFor(t, { ...options, receiveMaximum: 1000 });
    const ca = server.certificates?.read("ca");
    const subscriber = await recordMessages(server.url, ca === undefined ? {} : { ca });
    t.after(() => subscriber.close());
    const { link: l } = link(t, {
      url: server.url,
      ...(ca === undefined ? {} : { tls: { ca: ca.toString() } }),
    });
    assert.ok(await l.ready(forever()));
    const texts = Array.from(
      { length: 600 },
      (_, n) => `${n} ${"é".repeat(n % 50 === 0 ? 60_000 : n)}`,
    );
    const outcomes = await Promise.all(
      texts.map((text, n) => l.publish({ ...message("burst", text), qos: n % 7 === 0 ? 0 : 1 })),
    );
    assert.ok(outcomes.every(({ result }) => result === "delivered"));
    await waitUntil("all of them", () => subscriber.messages.length >= texts.length);
    // A publish of QoS 0 does not wait for room in the window, so each kind has its own order.
    for (const qos of [0, 1]) {
      assert.deepEqual(
        subscriber.messages.filter((seen) => seen.qos === qos).map(({ text }) => text),
        texts.filter((_, n) => (n % 7 === 0 ? 0 : 1) === qos),
      );
    }
  });
}

test("link – MQTT 5 PUBACK reasons: not authorised is refused, no subscriber only if one is required", {
  skip,
  timeout: deadlineMs(30_000),
}, async (t) => {
  const server = await mosquittoFor(t, { acl: "topic readwrite open/#" });
  const { link: l } = link(t, { url: server.url });
  const strict = link(t, { url: server.url, requireSubscriber: true }).link;
  await l.ready(forever());
  await strict.ready(forever());
  assert.deepEqual(await l.publish(message("closed/a")), { result: "refused", code: 0x87 });
  assert.deepEqual(await l.publish(message("open/a")), { result: "delivered" });
  assert.deepEqual(await strict.publish(message("open/a")), { result: "refused", code: 0x10 });
  const subscriber = await recordMessages(server.url, { topics: ["open/#"] });
  t.after(() => subscriber.close());
  assert.deepEqual(await strict.publish(message("open/a")), { result: "delivered" });
});

test("link – the announced maximum packet size is exact to the byte, in both payload forms", {
  skip,
  timeout: deadlineMs(30_000),
}, async (t) => {
  const server = await mosquittoFor(t, { maxPacketSize: 400 });
  const { link: l } = link(t, { url: server.url });
  const subscriber = await recordMessages(server.url);
  t.after(() => subscriber.close());
  await l.ready(forever());
  const full = (bytes: number): Message => ({
    topic: "größe/µ",
    payload: Buffer.alloc(bytes, 0x78),
    qos: 1,
    retain: false,
    contentType: "application/json",
    userProperties: { id: "0123", kind: "accel", ü: "" },
    correlationData: Buffer.from([1, 2, 3]),
  });
  const fits: number[] = [];
  for (let bytes = 280; bytes < 360; bytes++) {
    const outcome = await l.publish(full(bytes));
    if (outcome.result === "delivered") fits.push(bytes);
    else assert.equal(outcome.result, "oversize");
  }
  const largest = Math.max(...fits);
  assert.equal(l.session, 1, "no packet broke the session");
  assert.deepEqual(await l.publish(full(largest + 1)), {
    result: "oversize",
    bytes: 401,
    limitBytes: 400,
  });
  const text: Message = { ...full(0), payload: "x".repeat(largest) };
  assert.deepEqual(await l.publish(text), { result: "delivered" });
  await subscriber.waitUntil((seen) => seen.length === fits.length + 1);
});

test("link – commands arrive with response topic and correlation data", {
  skip,
  timeout: deadlineMs(30_000),
}, async (t) => {
  const server = await mosquittoFor(t);
  const seen: InboundMessage[] = [];
  const { link: l } = link(
    t,
    { url: server.url, subscriptions: [{ topic: "agent/cmd", qos: 1 }] },
    { onMessage: (inbound) => seen.push(inbound) },
  );
  await l.ready(forever());
  const { default: mqtt } = await import("mqtt");
  const client = await mqtt.connectAsync(server.url, { protocolVersion: 5 });
  t.after(() => client.endAsync(true));
  await client.publishAsync("agent/cmd", "{}", {
    qos: 1,
    properties: { responseTopic: "reply/to", correlationData: Buffer.from("c1") },
  });
  await waitUntil("the command", () => seen.length === 1);
  assert.equal(seen[0]?.responseTopic, "reply/to");
  assert.equal(seen[0]?.correlationData?.toString(), "c1");
});

test("link – a broker that does not answer SUBSCRIBE gets readings all the same, and the session is then ended with the reason", {
  timeout: deadlineMs(30_000),
}, async (t) => {
  // The fake broker knows no SUBSCRIBE.
  const server = await fakeBrokerFor(t, { version: 5 });
  const subscriptions = [{ topic: "agent/cmd", qos: 1 }] as const;
  const { link: l, logger } = link(t, { url: server.url, subscriptions, ackTimeoutMs: 300 });
  await l.ready(forever());
  assert.deepEqual(await l.publish(message("a")), { result: "delivered" });
  await waitUntil("a second session", () => server.connects === 2 && l.isConnected);
  assert.match(logger.text, /did not respond to SUBSCRIBE within/);
});

for (const version of [5, 4] as const) {
  test(`link – MQTT ${version}: a SUBSCRIBE of which the broker refuses a topic grants the others`, {
    timeout: deadlineMs(30_000),
  }, async (t) => {
    const server = await fakeBrokerFor(t, {
      version,
      granted: (topic) => (topic === "theirs" ? 0x80 : 1),
    });
    const { link: l } = link(t, { url: server.url, version });
    assert.deepEqual(await l.subscribe(["ours"]), [], "no session yet");
    await l.ready(forever());
    assert.deepEqual(await l.subscribe(["ours", "theirs", "own"]), ["ours", "own"]);
    assert.deepEqual(await l.subscribe(["theirs"]), []);
    assert.ok(l.isConnected);
  });
}

test("link – close publishes the final message and disconnects without the will", {
  skip,
  timeout: deadlineMs(30_000),
}, async (t) => {
  for (const version of [4, 5] as const) {
    const server = await mosquittoFor(t);
    const subscriber = await recordMessages(server.url);
    t.after(() => subscriber.close());
    const { link: l, ended } = link(t, {
      url: server.url,
      version,
      will: () => ({ topic: "state", payload: "will", qos: 1, retain: true }),
    });
    await l.ready(forever());
    await l.close([{ topic: "state", payload: "stopped", qos: 1, retain: true }]);
    await ended;
    const probe = await recordMessages(server.url);
    t.after(() => probe.close());
    await probe.waitFor(({ topic }) => topic === "state");
    assert.deepEqual(
      subscriber.onTopic("state").map(({ text }) => text),
      ["stopped"],
    );
    assert.equal(await l.ready(forever()), false);
  }
});

test("link – a session that is ended with its will is followed by a new one", {
  skip,
  timeout: deadlineMs(30_000),
}, async (t) => {
  const server = await mosquittoFor(t);
  const subscriber = await recordMessages(server.url);
  t.after(() => subscriber.close());
  const { link: l, logger } = link(t, {
    url: server.url,
    will: () => ({ topic: "death", payload: "will", qos: 1, retain: false }),
  });
  await l.ready(forever());
  await l.leave(true, null);
  assert.equal((await subscriber.waitFor(({ topic }) => topic === "death")).text, "will");
  await waitUntil("a second session", () => l.session === 2);
  assert.equal(l.state.lastError, null);
  assert.doesNotMatch(logger.text, /no broker session/);
});

test("link – the will is published after kill -9", {
  skip,
  timeout: deadlineMs(30_000),
}, async (t) => {
  const server = await mosquittoFor(t);
  const subscriber = await recordMessages(server.url);
  t.after(() => subscriber.close());
  const script = `
    import { systemClock } from "./src/lib/clock.ts";
    import { silentLogger } from "./src/lib/logger.ts";
    import { MqttLink } from "./src/pipeline/link/mqtt-link.ts";
    const link = new MqttLink({ clock: systemClock, logger: silentLogger }, {
      name: "mqtt", urls: [${JSON.stringify(server.url)}], version: 5, clientId: "victim", inflight: 1,
      will: () => ({ topic: "state", payload: "offline", qos: 1, retain: true }),
    });
    const stop = new AbortController();
    void link.run(stop.signal);
    void link.ready(stop.signal).then(() => link.publish({ topic: "state", payload: "online", qos: 1, retain: true }));
  `;
  const child: ChildProcess = spawn(
    process.execPath,
    ["--import", "tsx", "--input-type=module", "-e", script],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
  t.after(() => child.kill("SIGKILL"));
  await subscriber.waitFor(({ text }) => text === "online", 15_000);
  child.kill("SIGKILL");
  await once(child, "exit");
  const will = await subscriber.waitFor(({ text }) => text === "offline");
  assert.equal(will.retain, true);
});

test("link – a will is requested for each CONNECT, and the owner learns if the last one was never sent", {
  skip,
  timeout: deadlineMs(30_000),
}, async (t) => {
  const port = await freePort();
  const asked: boolean[] = [];
  const { link: l } = link(t, {
    url: `mqtt://127.0.0.1:${port}`,
    will: (isUnused) => {
      asked.push(isUnused);
      return { topic: "w", payload: String(asked.length), qos: 1, retain: false };
    },
  });
  await waitUntil("three attempts", () => asked.length >= 3);
  const server = await mosquittoFor(t, { port });
  await l.ready(forever());
  const refusedAttempts = asked.length;
  assert.deepEqual(asked, [false, ...Array.from({ length: refusedAttempts - 1 }, () => true)]);
  await server.kill();
  await waitUntil("the loss", () => asked.length > refusedAttempts);
  assert.equal(asked[refusedAttempts], false, "that will went with a CONNECT");
});

test("link – a broker that returns gets a new session, and `ready` waits for the hook", {
  skip,
  timeout: deadlineMs(30_000),
}, async (t) => {
  const server = await mosquittoFor(t);
  const order: string[] = [];
  const { link: l } = link(
    t,
    { url: server.url },
    {
      onConnected: async () => {
        await l.publish(message("birth"));
        order.push("birth");
      },
      onDisconnected: () => order.push("gone"),
    },
  );
  await l.ready(forever());
  order.push("ready");
  await server.kill();
  await waitUntil("the loss", () => !l.isConnected);
  await server.restart();
  await l.ready(forever());
  order.push("ready");
  assert.deepEqual(order, ["birth", "ready", "gone", "birth", "ready"]);
  assert.equal(l.session, 2);
});
