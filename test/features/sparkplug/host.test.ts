import assert from "node:assert/strict";
import { createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { generate, parser } from "mqtt-packet";
import { ownAddress } from "../../../src/core/addresses/own-address.ts";
import { skipWithoutMosquitto, startMosquitto } from "../../support/mosquitto.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { rebirth, valueOf } from "./peer.ts";
import { metric, TestSite } from "./site.ts";
import { startTap } from "./tap.ts";

const skip = skipWithoutMosquitto;

async function withHost(t: TestContext) {
  const site = await TestSite.open(t);
  const tap = await startTap(site.broker.port);
  const { client, close } = await site.command();
  t.after(async () => {
    await site.stopAll();
    await close();
    await tap.close();
  });
  const raw = (payload: string, host = "scada") =>
    client.publishAsync(`spBv1.0/STATE/${host}`, payload, { qos: 1, retain: true });
  const state = (online: boolean, timestamp: number, host?: string) =>
    raw(JSON.stringify({ online, timestamp }), host);
  /** The node has asked for STATE, and a round trip has passed since. */
  const isWaiting = async (connection = 0) => {
    const sees = () => tap.connections[connection]?.packets.some((p) => p.cmd === "subscribe");
    await waitUntil("SUBSCRIBE", sees);
  };
  const ignored = async (count: number) => {
    const seen = () =>
      site.logs.filter(({ message }) => message.includes("host state was ignored")).length;
    await waitUntil(`${count} ignored states`, () => seen() >= count);
  };
  const start = () => site.run(site.node({ hostId: "scada", link: { url: tap.url } }));
  const births = (count: number) =>
    site.until((m) => m.filter(({ verb }) => verb === "DBIRTH").length === 2 * count);
  return { site, tap, raw, state, isWaiting, ignored, start, births };
}

test("sparkplug – no birth before the host is online: retained offline, malformed and foreign states do not count", {
  skip,
}, async (t) => {
  const { site, state, raw, ignored, start, births, tap } = await withHost(t);
  await state(false, 100);
  site.append(site.reading({ channel1: 1 }));
  start();
  // The retained offline, seen: then all kinds of states that say nothing.
  const isSubscribed = () => tap.connections[0]?.packets.some((p) => p.cmd === "subscribe");
  await waitUntil("SUBSCRIBE", isSubscribed);
  await raw("ONLINE");
  await raw('{"online":true}');
  await state(true, 99);
  await ignored(3);
  await state(true, 200, "other");
  assert.deepEqual(site.verbs(), []);
  assert.equal(site.outbox.depth("sparkplug").readings, 1);
  await state(true, 100);
  await births(1);
  assert.deepEqual(site.verbs().slice(0, 3), ["NBIRTH", "DBIRTH 30007", "DBIRTH 20871"]);
});

test("sparkplug – STATE is subscribed with QoS 1", { skip }, async (t) => {
  const { tap, start, isWaiting } = await withHost(t);
  start();
  await isWaiting();
  const packet = tap.connections[0]?.packets.find((p) => p.cmd === "subscribe");
  assert.ok(packet?.cmd === "subscribe");
  assert.deepEqual(packet.subscriptions.map(({ topic, qos }) => [topic, qos]).at(-1), [
    "spBv1.0/STATE/scada",
    1,
  ]);
});

test("sparkplug – a retained online releases the births at once", { skip }, async (t) => {
  const { state, start, births } = await withHost(t);
  await state(true, 100);
  start();
  await births(1);
});

test("sparkplug – a host that goes offline: NDEATH, disconnect, a new session that waits, births on return", {
  skip,
}, async (t) => {
  const { site, tap, state, isWaiting, start, births } = await withHost(t);
  await state(true, 100);
  start();
  await births(1);
  await state(false, 101);
  await site.until((m) => m.some(({ verb }) => verb === "NDEATH"));
  await isWaiting(1);
  const last = tap.connections[0]?.packets.slice(-2).map((p) => p.cmd);
  assert.deepEqual(last, ["publish", "disconnect"]);
  site.append(site.reading({ channel1: 7 }));
  assert.equal(site.of("NBIRTH").length, 1);
  assert.equal(site.of("DDATA").length, 0);
  await state(true, 102);
  await births(2);
  await site.until((m) => m.some(({ verb }) => verb === "DDATA"));
  const numbers = site.of("NBIRTH").map((m) => valueOf(metric(m, "bdSeq")));
  assert.deepEqual(numbers, [0, 1]);
  assert.ok(site.of("NDEATH").every((m) => valueOf(metric(m, "bdSeq")) === 0));
});

test("sparkplug – an offline older than the last online is ignored", { skip }, async (t) => {
  const { site, state, ignored, start, births, tap } = await withHost(t);
  await state(true, 100);
  start();
  await births(1);
  await state(false, 99);
  await ignored(1);
  site.append(site.reading({ channel1: 7 }));
  await site.until((m) => m.some(({ verb }) => verb === "DDATA"));
  assert.equal(site.of("NDEATH").length, 0);
  assert.equal(tap.connections.length, 1);
});

test("sparkplug – the age of states is remembered across reconnects", { skip }, async (t) => {
  const { site, state, raw, ignored, isWaiting, start, births, tap } = await withHost(t);
  await state(true, 100);
  start();
  await births(1);
  await raw("");
  tap.cut();
  await isWaiting(1);
  const before = site.logs.filter(({ message }) =>
    message.includes("host state was ignored"),
  ).length;
  await state(true, 50);
  await ignored(before + 1);
  assert.equal(site.of("NBIRTH").length, 1);
  await state(true, 100);
  await births(2);
});

test("sparkplug – what a host was sent shortly before it died is sent again when it returns", {
  skip,
}, async (t) => {
  const { site, state, start, births } = await withHost(t);
  await state(true, 100);
  start();
  await births(1);
  site.append(site.reading({ channel1: 7 }));
  await site.until((m) => m.some(({ verb }) => verb === "DDATA"));
  await state(false, 101);
  await state(true, 102);
  await births(2);
  await site.until((m) => m.filter(({ verb }) => verb === "DDATA").length === 2);
  const again = metric(site.of("DDATA")[1], "loop/channel1");
  assert.equal(valueOf(again), 7);
  assert.equal(again?.isHistorical, true);
});

test("sparkplug – history is sent oldest first to a host that returns, the newest reading it may have missed last", {
  skip,
}, async (t) => {
  const site = await TestSite.open(t);
  const { client, close } = await site.command();
  t.after(close);
  const state = (online: boolean, timestamp: number) =>
    client.publishAsync("spBv1.0/STATE/scada", JSON.stringify({ online, timestamp }), {
      qos: 1,
      retain: true,
    });
  await state(true, 100);
  const count = 40;
  for (let i = 0; i < count; i++) site.append(site.reading({ channel1: i }));
  // One record in a message, so slowly that the host dies in the middle of its backlog.
  site.run(site.node({ hostId: "scada", historyBatch: 1, backlogRatePerS: 20 }));
  await site.until((m) => m.filter(({ verb }) => verb === "DDATA").length >= 3);
  await state(false, 101);
  await site.until((m) => m.some(({ verb }) => verb === "NDEATH"));
  const before = site.of("DDATA").length;
  await state(true, 102);
  await site.until((m) => m.filter(({ verb }) => verb === "DDATA").length === before + count);
  const again = site.of("DDATA").slice(before);
  const metrics = again.map((message) => metric(message, "loop/channel1"));
  assert.deepEqual(
    metrics.map(valueOf),
    Array.from({ length: count }, (_, i) => i),
  );
  assert.ok(metrics.every((m) => m?.isHistorical));
});

test("sparkplug – a host that requests births is sent again what it was sent last", {
  skip,
}, async (t) => {
  const { site, state, start, births } = await withHost(t);
  await state(true, 100);
  start();
  await births(1);
  site.append(site.reading({ channel1: 7 }));
  await site.until((m) => m.some(({ verb }) => verb === "DDATA"));
  const { client, close } = await site.command();
  await client.publishAsync("spBv1.0/plant/NCMD/edge", rebirth());
  await close();
  await site.until((m) => m.filter(({ verb }) => verb === "DDATA").length === 2);
  assert.deepEqual(site.verbs().slice(3), [
    "DDATA 30007",
    "NBIRTH",
    "DBIRTH 30007",
    "DBIRTH 20871",
    "DDATA 30007",
  ]);
  assert.equal(metric(site.of("DDATA")[1], "loop/channel1")?.isHistorical, true);
});

test("sparkplug – a stop while waiting publishes nothing: no death without a birth", {
  skip,
}, async (t) => {
  const { site, tap, start, isWaiting } = await withHost(t);
  const stop = start();
  await isWaiting();
  await stop();
  const last = tap.connections[0]?.packets.at(-1);
  assert.ok(last === undefined || last.cmd !== "disconnect" || last.reasonCode === 0);
  assert.deepEqual(site.verbs(), []);
});

test("sparkplug – what the broker confirms after it reported the host offline is not delivered", {
  skip,
}, async (t) => {
  const site = await TestSite.open(t);
  const broker = await brokerThatLosesTheHost(t);
  site.append(site.reading({ channel1: 7 }));
  site.run(site.node({ hostId: "scada", hostHoldMs: 0, link: { url: broker.url, version: 4 } }));
  await broker.sessionAfterIt;
  assert.equal(broker.dataMessages, 1);
  assert.deepEqual(site.outbox.settled, []);
});

/** The host is online until data came; it goes offline just before the PINGRESP that would prove the data. */
async function brokerThatLosesTheHost(t: TestContext) {
  let dataMessages = 0;
  let connects = 0;
  let connectedAgain: () => void = () => {};
  const sessionAfterIt = new Promise<void>((resolve) => {
    connectedAgain = resolve;
  });
  const server = createServer((socket) => {
    const incoming = parser();
    const send = (packet: Parameters<typeof generate>[0]) => socket.write(generate(packet));
    const tell = (online: boolean, timestamp: number) =>
      send({
        cmd: "publish",
        topic: "spBv1.0/STATE/scada",
        payload: JSON.stringify({ online, timestamp }),
        qos: 0,
        dup: false,
        retain: true,
      });
    incoming.on("packet", (packet) => {
      if (packet.cmd === "connect") {
        connects += 1;
        if (connects === 2) connectedAgain();
        send({ cmd: "connack", returnCode: 0, sessionPresent: false });
      } else if (packet.cmd === "subscribe") {
        const granted = packet.subscriptions.map(({ qos }) => qos);
        send({ cmd: "suback", messageId: packet.messageId ?? 0, granted });
        if (connects === 1) tell(true, 100);
      } else if (packet.cmd === "publish") {
        if (packet.topic.includes("/DDATA/")) dataMessages += 1;
      } else if (packet.cmd === "pingreq") {
        if (dataMessages > 0) tell(false, 101);
        send({ cmd: "pingresp" });
      }
    });
    socket.on("data", (bytes) => incoming.parse(bytes));
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return {
    url: `mqtt://127.0.0.1:${address.port}`,
    sessionAfterIt,
    get dataMessages() {
      return dataMessages;
    },
  };
}

test("sparkplug – of several servers, the node goes on to the one where its host is online", {
  skip,
}, async (t) => {
  const site = await TestSite.open(t);
  const other = await startMosquitto();
  const here = await site.command();
  const there = await site.command(other.url);
  t.after(async () => {
    await site.stopAll();
    await Promise.all([here.close(), there.close()]);
    await other.close();
  });
  const state = ({ client }: typeof here, online: boolean, timestamp: number) =>
    client.publishAsync("spBv1.0/STATE/scada", JSON.stringify({ online, timestamp }), {
      qos: 1,
      retain: true,
    });
  // Its session there ended after the one that lives here began.
  await state(here, true, 100);
  await state(there, false, 200);
  const urls = [other.url, site.broker.url];
  const clientId = ["a", "b", "c", "d", "e"].find((id) => ownAddress(id, 2) === 0) ?? "";
  site.run(site.node({ hostId: "scada", hostWaitMinMs: 50, link: { urls, clientId } }));
  await site.until((m) => m.some(({ verb }) => verb === "NBIRTH"));
});
