/** Every client of the product reaches a host at the end of a slow link whose name has an address that works and one that does not. */
import assert from "node:assert/strict";
import dns, { type LookupAddress } from "node:dns";
import { type TestContext, test } from "node:test";
import { requestAddress } from "../../src/cli/agent-request.ts";
import { open as openAmqp } from "../../src/collect/amqp/connection.ts";
import { brokerAddress } from "../../src/collect/broker-url.ts";
import { openConnection } from "../../src/collect/database/connection.ts";
import { MqttConnection } from "../../src/collect/mqtt/connection.ts";
import { messageOf } from "../../src/core/thrown.ts";
import { AnalyticsClient } from "../../src/features/discover/client.ts";
import { ModbusStates } from "../../src/features/nodes/modbus-states.ts";
import { failureKind } from "../../src/features/notify/delivery.ts";
import { email } from "../../src/features/notify/email.ts";
import { Heartbeat } from "../../src/features/notify/heartbeat.ts";
import { webhook } from "../../src/features/notify/webhook.ts";
import { acceptsConnections } from "../../src/lib/accepts-connections.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { giveAttemptsTime } from "../../src/lib/connecting.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { createMetrics } from "../../src/lib/metrics.ts";
import { createGatewayClient } from "../../src/pipeline/gateway/client.ts";
import { probeAddress } from "../../src/pipeline/link/probe-address.ts";
import { openTunnel } from "../../src/pipeline/link/tunnel.ts";
import { createWireNames } from "../../src/pipeline/wire/wire-names.ts";
import { deadlineMs } from "../support/deadline.ts";
import { freePort } from "../support/mosquitto.ts";
import { startSlowListener } from "../support/slow-listener.ts";
import { until } from "../support/wait-until.ts";

const NAME = "far.example";
/** The second one refuses. */
const ADDRESSES: LookupAddress[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];
const names = createWireNames({ word: "sensor", service: "SensorService.svc" });
const tls = { ca: null, cert: null, key: null };
const parts = { clock: systemClock, logger: silentLogger };
const sensor = { code: "1", type: 3, kinds: ["rpm" as const], channels: {} };
const mqtt = (url: string) => ({
  urls: [url],
  version: 5 as const,
  clientId: "box",
  name: "mqtt" as const,
  inflight: 1,
});

type Client = (at: string, signal: AbortSignal) => Promise<unknown>;

const CLIENTS: Readonly<Record<string, Client>> = {
  gateway(at, signal) {
    const client = createGatewayClient(
      { clock: systemClock, metrics: createMetrics() },
      {
        url: `http://${at}`,
        names,
        timeoutMs: deadlineMs(5_000),
        concurrency: 1,
        bodyBytesMax: 1_000_000,
      },
    );
    return client.read({ sensor, kind: "rpm", day: "2026-11-20" } as never, signal);
  },
  "broker of an uplink": (at, signal) => probeAddress(mqtt(`mqtt://${at}`), `mqtt://${at}`, signal),
  "broker over a web socket": (at, signal) =>
    probeAddress(mqtt(`ws://${at}`), `ws://${at}`, signal),
  "proxy of an uplink": (at) => openTunnel(`http://${at}`, "mqtt://broker.example:1883", 20_000),
  "web-hook": (at, signal) =>
    webhook(
      { url: `http://${at}/`, headers: {}, secret: null, ca: () => null, link: null },
      () => "plant-7",
    )([], signal),
  heartbeat: (at, signal) =>
    new Heartbeat({ ...parts, url: `http://${at}/`, everyMs: 1_000, isAlive: () => true }).test(
      signal,
    ),
  mail: (at, signal) =>
    email(
      { url: `smtp://${at}`, from: "a@b.example", to: ["c@d.example"], zone: "UTC", link: null },
      () => "plant-7",
    )([], signal),
  "analytics service": (at, signal) =>
    new AnalyticsClient(`http://${at}`, "token", names).devices(null, signal),
  "Modbus device": (at, signal) =>
    new ModbusStates().read(
      {
        via: "modbus",
        url: `tcp://${at}`,
        unit: 1,
        registers: [{ address: 1, type: "uint16", value: "v" }],
      },
      signal,
    ),
  "a command's agent": (at, signal) =>
    requestAddress(`http://${at}/`, { headers: {}, content: null, signal, certFile: null }),
  "broker of a collector": (at) =>
    new MqttConnection({
      address: brokerAddress(`mqtt://${at}`),
      tls,
      clientId: "c",
      onPublish() {},
      onClose() {},
    }).open(),
  "RabbitMQ of a collector": (at) => openAmqp(brokerAddress(`amqp://${at}`), tls),
  "database of a collector": (at) => openConnection(`postgres://user@${at}/gateside`, "test"),
};

/** The name has both addresses. */
function resolveBoth(t: TestContext): void {
  t.mock.method(dns, "lookup", (...words: unknown[]) => {
    const [, options] = words as [string, { readonly all?: boolean } | undefined];
    const done = words.at(-1) as (error: null, ...found: unknown[]) => void;
    const [first] = ADDRESSES;
    if (options?.all) done(null, ADDRESSES);
    else done(null, first?.address, first?.family);
  });
  const resolver = dns.Resolver.prototype;
  t.mock.method(resolver, "resolve4", (...words: unknown[]) =>
    (words.at(-1) as (error: null, found: string[]) => void)(null, ["127.0.0.1"]),
  );
  t.mock.method(resolver, "resolve6", (...words: unknown[]) =>
    (words.at(-1) as (error: null, found: string[]) => void)(null, ["::1"]),
  );
}

test("connecting – every client reaches a name with two addresses although a handshake takes a second", {
  timeout: deadlineMs(120_000),
}, async (t) => {
  giveAttemptsTime();
  resolveBoth(t);
  const [silent, greeting] = [await startSlowListener(t), await startSlowListener(t, true)];
  for (const [name, connect] of Object.entries(CLIENTS)) {
    const listener = name === "mail" ? greeting : silent;
    const before = listener.reached;
    await listener.hold();
    const failure = await connect(
      `${NAME}:${listener.port}`,
      AbortSignal.timeout(deadlineMs(15_000)),
    ).then(String, messageOf);
    // It hangs up on whoever has said something.
    await until(
      `${name} (${failure})`,
      () => listener.reached > before || undefined,
      deadlineMs(2_000),
    );
  }
  await silent.hold();
  assert.ok(await acceptsConnections(NAME, silent.port, 5_000));
});

test("connecting – the reason of every client names the addresses that were tried", {
  timeout: deadlineMs(60_000),
}, async (t) => {
  resolveBoth(t);
  const port = await freePort();
  for (const [name, connect] of Object.entries(CLIENTS)) {
    const said = await connect(`${NAME}:${port}`, AbortSignal.timeout(deadlineMs(15_000))).then(
      (result) => (typeof result === "string" ? result : JSON.stringify(result)),
      failureText,
    );
    for (const address of [`127.0.0.1:${port}: `, `[::1]:${port}: `])
      assert.ok(said.includes("(tried ") && said.includes(address), `${name}: ${said}`);
  }
});

/** As people are told: of a delivery by its kind, otherwise by its message. */
const failureText = (error: unknown) =>
  error instanceof AggregateError ? failureKind(error) : messageOf(error);
