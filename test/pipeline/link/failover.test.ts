import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { ownAddress } from "../../../src/core/addresses/own-address.ts";
import type { Will } from "../../../src/core/delivery/link.ts";
import type { Message } from "../../../src/core/message.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createMetrics } from "../../../src/lib/metrics.ts";
import { createJsonEncoder } from "../../../src/pipeline/publish/formats/json.ts";
import { Publisher } from "../../../src/pipeline/publish/publisher.ts";
import { deadlineMs } from "../../support/deadline.ts";
import { linkFor } from "../../support/link.ts";
import {
  freePort,
  type Mosquitto,
  recordMessages,
  skipWithoutMosquitto as skip,
  startMosquitto,
} from "../../support/mosquitto.ts";
import { append, mainOf, readingOf, START_MS, tempStore } from "../../support/temp-database.ts";
import { waitUntil } from "../../support/wait-until.ts";

function open(t: TestContext, urls: readonly string[], will?: (isUnused: boolean) => Will) {
  const options = { urls, clientId: "box", inflight: INFLIGHT };
  return linkFor(t, will === undefined ? options : { ...options, will });
}

const timeout = deadlineMs(60_000);
/** Readings before the first broker is killed, and again before the second. */
const EACH = 1000;
const INFLIGHT = 50;

test("failover – a dead first address is skipped; state and log name it once and the one in use", {
  skip,
  timeout,
}, async (t) => {
  const dead = `mqtt://127.0.0.1:${await freePort()}`;
  const broker = await startMosquitto();
  t.after(() => broker.close());
  const { link, logger, stop } = open(t, [dead, broker.url]);
  assert.ok(await link.ready(stop.signal));
  assert.equal(link.state.url, broker.url);
  assert.equal(link.state.lastError, null);
  assert.deepEqual(link.state.addresses, [
    { url: dead, lastError: "nothing accepts connections at that address and port" },
    { url: broker.url, lastError: null },
  ]);
  assert.equal(logger.lines.filter(({ message }) => message === "no broker session").length, 1);
});

test("failover – a client begins at its own address of the cluster, and returns to it once it is reachable again, unless it must stay until the session is lost", {
  skip,
  timeout,
}, async (t) => {
  const brokers = [await startMosquitto(), await startMosquitto()];
  for (const broker of brokers) t.after(() => broker.close());
  const urls = brokers.map(({ url }) => url);
  for (const returnsToOwn of [true, false]) {
    const clientId = `box-${returnsToOwn}`;
    const own = brokers[ownAddress(clientId, 2)];
    const other = brokers.find((broker) => broker !== own);
    assert.ok(own && other);
    const { link, stop } = linkFor(t, { urls, clientId, returnsToOwn, ownCheckMs: 20 });
    const at = (url: string) =>
      waitUntil(`a session at ${url}`, () => link.isConnected && link.state.url === url);
    assert.ok(await link.ready(stop.signal));
    assert.equal(link.state.url, own.url);
    await own.stop();
    await at(other.url);
    await own.restart();
    if (returnsToOwn) {
      await at(own.url);
      continue;
    }
    // Longer than the other link needed for its return.
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.equal(link.state.url, other.url);
    await other.stop();
    await at(own.url);
  }
});

test("failover – if all addresses are away each is reported once, and the first that returns is used", {
  skip,
  timeout,
}, async (t) => {
  const ports = [await freePort(), await freePort()];
  let attempts = 0;
  const { link, logger, stop } = open(
    t,
    ports.map((port) => `mqtt://127.0.0.1:${port}`),
    () => {
      attempts += 1;
      return { topic: "w", payload: "", qos: 1, retain: false };
    },
  );
  await waitUntil("the state to come", () => attempts >= 12);
  assert.equal(logger.lines.filter(({ message }) => message === "no broker session").length, 2);
  const broker = await startMosquitto({ port: ports[1] ?? 0 });
  t.after(() => broker.close());
  assert.ok(await link.ready(stop.signal));
  assert.equal(link.state.url, broker.url);
});

test("failover – a drain over two brokers that are killed in turn loses nothing, and the session returns", {
  skip,
  timeout,
}, async (t) => {
  const brokers = [await startMosquitto(), await startMosquitto()];
  for (const broker of brokers) t.after(() => broker.close());
  const [first, second] = brokers as [Mosquitto, Mosquitto];
  const heard = await Promise.all(
    brokers.map(({ url }) => recordMessages(url, { reconnect: true })),
  );
  for (const subscriber of heard) t.after(() => subscriber.close());
  const store = tempStore(t, { uplinks: mainOf("json") });
  const ids = new Set<string>();
  const add = async (from: number, count: number) => {
    const readings = Array.from({ length: count }, (_, i) =>
      readingOf("1", START_MS + (from + i) * 1000),
    );
    for (const { id } of readings) ids.add(id);
    await append(store, readings);
  };
  await add(0, EACH);
  const { link, logger } = open(t, [first.url, second.url]);
  const publisher = new Publisher(
    {
      link,
      outbox: store.outbox,
      clock: systemClock,
      logger,
      metrics: createMetrics(),
      gatewayNow: Date.now,
    },
    {
      lanes: [
        {
          lane: "json",
          encode: createJsonEncoder({
            source: fixedSite({ site: "s", sensors: [] }),
            prefix: "g",
            site: "s",
            withRaw: false,
          }),
        },
      ],
      backlogRatePerS: 0,
    },
  );
  const stop = new AbortController();
  const ended = publisher.run(stop.signal);
  const arrived = new Set<string>();
  const looked = heard.map(() => 0);
  const arrivedCount = () => {
    for (const [index, { messages }] of heard.entries()) {
      for (const { text } of messages.slice(looked[index]))
        arrived.add(/"id":"([^"]+)"/.exec(text)?.[1] ?? "");
      looked[index] = messages.length;
    }
    arrived.delete("");
    return arrived.size;
  };
  // What a broker has acknowledged with QoS 1 and not yet sent to the subscriber dies with it: it keeps nothing on disk here.
  let doomed = 0;
  const kill = async (broker: Mosquitto) => {
    doomed += INFLIGHT + Math.max(0, publisher.delivered - arrivedCount());
    await broker.kill();
  };
  await waitUntil("200 deliveries", () => publisher.delivered >= 200);
  await kill(first);
  await waitUntil("the second broker", () => link.isConnected && link.state.url === second.url);
  await waitUntil("an empty outbox", () => store.outbox.depth("json").readings === 0);
  await add(EACH, EACH);
  await first.restart();
  // A subscriber that has not returned yet would miss what the agent sends to a broker that acknowledges it.
  await waitUntil("the subscriber at the first broker", async () => {
    await heard[0]?.publish("probe", "");
    return heard[0]?.onTopic("probe").length !== 0;
  });
  await waitUntil("deliveries at the second", () => publisher.delivered >= EACH + 200);
  await kill(second);
  await waitUntil("the first broker", () => link.isConnected && link.state.url === first.url);
  await waitUntil("an empty outbox", () => store.outbox.depth("json").readings === 0);
  stop.abort();
  await ended;
  await waitUntil(
    "what the brokers did not take with them",
    () => arrivedCount() >= ids.size - doomed,
  );
  const missing = [...ids].filter((id) => !arrived.has(id));
  assert.ok(doomed < EACH, "the subscribers kept up");
  assert.ok(missing.length <= doomed, `${missing.length} missing, ${doomed} may be`);
});

test("failover – each CONNECT has its own will, also when it goes to the next address", {
  skip,
  timeout,
}, async (t) => {
  const brokers = [await startMosquitto(), await startMosquitto()];
  for (const broker of brokers) t.after(() => broker.close());
  const [first, second] = brokers as [Mosquitto, Mosquitto];
  const heard = await recordMessages(second.url);
  t.after(() => heard.close());
  let number = 0;
  const { link, stop } = open(t, [first.url, second.url], () => {
    number += 1;
    return { topic: "death", payload: String(number), qos: 1, retain: false };
  });
  assert.ok(await link.ready(stop.signal));
  // A Sparkplug host that went away is left with the will, and waited for at the next server in the list.
  await link.leave(true, null);
  await waitUntil("the state to come", () => link.isConnected && link.state.url === second.url);
  link.renew("the cable is out");
  assert.equal((await heard.waitFor(({ topic }) => topic === "death")).text, "2");
  await waitUntil("the state to come", () => link.isConnected && link.state.url === first.url);
  const message: Message = { topic: "a", payload: "x", qos: 1, retain: false };
  assert.deepEqual(await link.publish(message), { result: "delivered" });
});
