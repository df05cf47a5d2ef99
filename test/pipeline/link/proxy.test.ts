/** What a plant's firewall leaves open: a proxy that opens tunnels, and port 443 with ALPN. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer as createSilent } from "node:net";
import { type TestContext, test } from "node:test";
import { createServer } from "node:tls";
import type { MqttLinkOptions } from "../../../src/pipeline/link/link-options.ts";
import { probeAddress } from "../../../src/pipeline/link/probe-address.ts";
import { isReachable } from "../../../src/pipeline/link/return-to-own.ts";
import { mosquittoFor } from "../../support/brokers.ts";
import { deadlineMs } from "../../support/deadline.ts";
import { startForwardProxy } from "../../support/forward-proxy.ts";
import { linkFor } from "../../support/link.ts";
import {
  freePort,
  type Mosquitto,
  recordMessages,
  skipWithoutMosquitto as skip,
} from "../../support/mosquitto.ts";
import { waitUntil } from "../../support/wait-until.ts";

const LOGIN = "plant:p4ss/word-of:the-proxy";
const NEVER = new AbortController().signal;
const timeout = deadlineMs(30_000);

const optionsFor = (server: Pick<Mosquitto, "url" | "certificates">): MqttLinkOptions => ({
  name: "mqtt",
  urls: [server.url],
  version: 5,
  clientId: "box",
  inflight: 100,
  ...(server.certificates === null
    ? {}
    : { tls: { ca: readFileSync(server.certificates.caFile, "utf8") } }),
});

async function failureOf(options: MqttLinkOptions): Promise<string> {
  const result = await probeAddress(options, options.urls[0] ?? "", NEVER);
  return "failure" in result ? result.failure.text : "no failure";
}

/** A proxy with a log-in, and its address with that log-in as a setting holds it. */
async function proxyFor(t: TestContext) {
  const names = { "broker.plant.example": "127.0.0.1" };
  const { asked, port } = await startForwardProxy(t, LOGIN, names);
  const proxy = new URL(`http://127.0.0.1:${port}`);
  const [user = "", ...password] = LOGIN.split(":");
  proxy.username = user;
  proxy.password = encodeURIComponent(password.join(":"));
  return { asked, port, url: proxy.href };
}

for (const [transport, setUp] of [
  ["TCP", {}],
  ["TLS", { tls: {} }],
  ["web sockets", { websockets: true }],
  ["web sockets over TLS", { websockets: true, tls: {} }],
] as const) {
  test(`link – over ${transport} through a proxy, messages of any size arrive`, {
    skip,
    timeout,
  }, async (t) => {
    const port = await freePort();
    const server = await mosquittoFor(t, { ...setUp, config: [`listener ${port} 127.0.0.1`] });
    const proxy = await proxyFor(t);
    const plain = `mqtt://127.0.0.1:${port}`;
    await waitUntil("the second listener", () => isReachable(plain));
    const subscriber = await recordMessages(plain);
    t.after(() => subscriber.close());
    const { link, ended } = linkFor(t, { ...optionsFor(server), proxy: proxy.url });
    assert.ok(await link.ready(NEVER));
    const texts = Array.from({ length: 50 }, (_, n) => `${n} ${"é".repeat(n * 1000)}`);
    await Promise.all(
      texts.map((payload) => link.publish({ topic: "a", payload, qos: 1, retain: false })),
    );
    await subscriber.waitUntil((messages) => messages.length >= texts.length);
    assert.deepEqual(
      subscriber.messages.map(({ text }) => text),
      texts,
    );
    assert.deepEqual(proxy.asked, [`CONNECT 127.0.0.1:${server.port}`]);
    await link.close();
    await ended;
  });
}

test("link – through a proxy the broker's certificate is verified for the broker's name", {
  skip,
  timeout,
}, async (t) => {
  const server = await mosquittoFor(t, { tls: {} });
  const proxy = await proxyFor(t);
  const options = { ...optionsFor(server), proxy: proxy.url };
  const url = server.url.replace("127.0.0.1", "localhost");
  assert.equal(await failureOf({ ...options, urls: [url] }), "no failure");
  assert.match(
    await failureOf({
      ...options,
      urls: [server.url.replace("127.0.0.1", "broker.plant.example")],
    }),
    /is for localhost, .*not for broker/,
  );
  const { tls: _, ...untrusting } = options;
  assert.match(await failureOf(untrusting), /MQTT_CA_FILE/);
});

test("link – a proxy that refuses, is away or has no way on says so, with its remedy and without its password", {
  skip,
  timeout,
}, async (t) => {
  const server = await mosquittoFor(t);
  const proxy = await proxyFor(t);
  const options = optionsFor(server);
  const nobody = await freePort();
  const wrong = `http://plant:wr0ng-p4ssword@127.0.0.1:${proxy.port}`;
  const refused = await failureOf({ ...options, proxy: wrong });
  assert.match(refused, /user name and password.*407.*MQTT_PROXY/);
  assert.doesNotMatch(refused, /wr0ng/);
  assert.match(
    await failureOf({ ...options, proxy: wrong, uplink: "cloud" }),
    /"proxy" \(uplink cloud in UPLINKS_FILE\)/,
  );
  assert.match(
    await failureOf({ ...options, proxy: `http://127.0.0.1:${nobody}` }),
    /nothing accepts connections at the proxy's address.*MQTT_PROXY/,
  );
  const away = { ...options, urls: [`mqtt://127.0.0.1:${nobody}`], proxy: proxy.url };
  assert.match(await failureOf(away), /no connection to 127\.0\.0\.1:\d+ \(HTTP 502\)/);
  assert.equal(await isReachable(server.url, proxy.url), true);
  assert.equal(await isReachable(away.urls[0] ?? "", proxy.url), false);
});

test("link – the connection to a proxy that refuses a tunnel is closed, though the proxy keeps it open", {
  timeout,
}, async (t) => {
  const refusing = createSilent();
  await new Promise<void>((resolve) => refusing.listen(0, "127.0.0.1", resolve));
  t.after(() => void refusing.close());
  const closed = new Promise<void>((resolve) => {
    refusing.once("connection", (socket) => {
      socket.on("error", () => {}).on("close", () => resolve());
      t.after(() => void socket.destroy());
      socket.once("data", () => socket.write("HTTP/1.1 403 Forbidden\r\n\r\n"));
    });
  });
  const { port } = refusing.address() as AddressInfo;
  const options = optionsFor({ url: "mqtt://127.0.0.1:1", certificates: null });
  const failure = await failureOf({ ...options, proxy: `http://127.0.0.1:${port}` });
  assert.match(failure, /refuses a tunnel.*HTTP 403/);
  await closed;
});

test("link – an attempt that is aborted while the proxy is silent ends at once", {
  timeout,
}, async (t) => {
  const silent = createSilent();
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  t.after(() => void silent.close());
  const proxy = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const options = optionsFor({ url: "mqtt://127.0.0.1:1", certificates: null });
  const aborting = new AbortController();
  const asked = new Promise<void>((resolve) => {
    silent.once("connection", (socket) => {
      socket.on("error", () => {});
      t.after(() => void socket.destroy());
      resolve();
    });
  });
  const probing = probeAddress({ ...options, proxy }, options.urls[0] ?? "", aborting.signal);
  await asked;
  aborting.abort();
  assert.deepEqual(await probing, { failure: { text: "stopped", needsHands: false } });
  assert.match(
    await failureOf({ ...options, proxy, connectTimeoutMs: 50 }),
    /the proxy did not answer in time/,
  );
});

test("link – a broker behind ALPN is reached with its protocol, and another one is a refusal that says so", {
  skip,
  timeout,
}, async (t) => {
  const server = await mosquittoFor(t);
  const { certificates } = await mosquittoFor(t, { tls: {} });
  assert.ok(certificates);
  // As AWS IoT Core on port 443: what follows TLS depends on the protocol asked for.
  const front = createServer(
    {
      cert: certificates.read("serverCert"),
      key: certificates.read("serverKey"),
      ALPNProtocols: ["x-amzn-mqtt-ca"],
    },
    (socket) => {
      socket.on("error", () => {});
      if (socket.alpnProtocol !== "x-amzn-mqtt-ca") return socket.destroy();
      const onward = connect(server.port, "127.0.0.1").on("error", () => {});
      socket.pipe(onward).pipe(socket);
    },
  );
  front.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  t.after(() => void front.close());
  const url = `mqtts://127.0.0.1:${(front.address() as AddressInfo).port}`;
  const options = optionsFor({ url, certificates });
  const proxy = await proxyFor(t);
  assert.equal(await failureOf({ ...options, alpn: ["x-amzn-mqtt-ca"] }), "no failure");
  assert.equal(
    await failureOf({ ...options, alpn: ["x-amzn-mqtt-ca"], proxy: proxy.url }),
    "no failure",
  );
  assert.notEqual(await failureOf(options), "no failure");
  assert.match(await failureOf({ ...options, alpn: ["mqtt"] }), /check MQTT_ALPN/);
});
