import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import type { SessionLink } from "../../../src/core/delivery/link.ts";
import { NodeConnection } from "../../../src/features/sparkplug/sender.ts";
import { deadlineMs } from "../../support/deadline.ts";
import { skipWithoutMosquitto, startMosquitto } from "../../support/mosquitto.ts";
import { scriptWords } from "../../support/script-words.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { decode, valueOf } from "./peer.ts";
import { metric, TestSite } from "./site.ts";
import { startTap, type Tap } from "./tap.ts";

const skip = skipWithoutMosquitto;

async function tapped(t: TestContext, version: 4 | 5 = 5) {
  const site = await TestSite.open(t);
  const tap = await startTap(site.broker.port, version);
  // The node leaves first: its farewell goes through the tap.
  t.after(async () => {
    await site.stopAll();
    await tap.close();
  });
  const connect = (number: number) => {
    const packet = tap.connections[number]?.packets.find(({ cmd }) => cmd === "connect");
    assert.ok(packet?.cmd === "connect", `no CONNECT ${number}`);
    return packet;
  };
  const willBdSeq = (number: number) => {
    const payload = connect(number).will?.payload;
    assert.ok(payload !== undefined);
    const seen = decode(Buffer.from(payload));
    assert.equal(seen.seq, undefined);
    assert.deepEqual(
      seen.metrics.map((m) => [m.name, m.datatype]),
      [["bdSeq", 4]],
    );
    return valueOf(seen.metrics[0]);
  };
  return { site, tap, connect, willBdSeq };
}
const birthBdSeq = (site: TestSite) => site.of("NBIRTH").map((m) => valueOf(metric(m, "bdSeq")));

for (const version of [5, 4] as const) {
  test(`sparkplug – MQTT ${version}: a clean session with the node's death as its will, QoS 1, not retained`, {
    skip,
  }, async (t) => {
    const { site, tap, connect, willBdSeq } = await tapped(t, version);
    site.run(site.node({ link: { url: tap.url, version } }));
    await site.until((m) => m.length === 3);
    const packet = connect(0);
    assert.equal(packet.protocolVersion, version);
    assert.equal(packet.clean, true);
    assert.equal(packet.properties?.sessionExpiryInterval ?? 0, 0);
    assert.equal(packet.will?.topic, "spBv1.0/plant/NDEATH/edge");
    assert.equal(packet.will?.qos, 1);
    assert.equal(packet.will?.retain, false);
    assert.equal(willBdSeq(0), 0);
    assert.deepEqual(birthBdSeq(site), [0]);
  });

  test(`sparkplug – MQTT ${version}: NCMD and DCMD are subscribed with QoS 1 before the NBIRTH`, {
    skip,
  }, async (t) => {
    const { site, tap } = await tapped(t, version);
    site.run(site.node({ link: { url: tap.url, version } }));
    await site.until((m) => m.length === 3);
    const packets = tap.connections[0]?.packets ?? [];
    const subscribe = packets.findIndex(({ cmd }) => cmd === "subscribe");
    const publish = packets.findIndex(({ cmd }) => cmd === "publish");
    assert.ok(subscribe > 0 && subscribe < publish);
    const packet = packets[subscribe];
    assert.ok(packet?.cmd === "subscribe");
    assert.deepEqual(
      packet.subscriptions.map(({ topic, qos }) => [topic, qos]),
      [
        ["spBv1.0/plant/NCMD/edge", 1],
        ["spBv1.0/plant/DCMD/edge/#", 1],
      ],
    );
  });

  test(`sparkplug – MQTT ${version}: a clean stop publishes the NDEATH, then DISCONNECT`, {
    skip,
  }, async (t) => {
    const { site, tap } = await tapped(t, version);
    const stop = site.run(site.node({ link: { url: tap.url, version } }));
    await site.until((m) => m.length === 3);
    await stop();
    // Under MQTT 5 the broker sends the will too: two equal deaths.
    await site.until(
      (m) => m.filter(({ verb }) => verb === "NDEATH").length === (version === 5 ? 2 : 1),
    );
    const [own, second] = tap.connections[0]?.packets.slice(-2) ?? [];
    assert.ok(own?.cmd === "publish" && own.topic === "spBv1.0/plant/NDEATH/edge");
    assert.equal(own.qos, 0);
    assert.ok(second?.cmd === "disconnect");
    if (version === 5) assert.equal(second.reasonCode, 4);
    for (const death of site.of("NDEATH")) {
      assert.equal(valueOf(metric(death, "bdSeq")), 0);
      assert.equal(death.payload.seq, undefined);
      assert.equal(death.payload.metrics.length, 1);
    }
    assert.equal(tap.connections.length, 1);
  });
}

for (const [name, options] of [
  ["TLS", { tls: {} }],
  ["web sockets", { websockets: true }],
] as const) {
  test(`sparkplug – over ${name} the node is born and its bdSeq is kept`, { skip }, async (t) => {
    const broker = await startMosquitto(options);
    t.after(() => broker.close());
    const site = await TestSite.open(t);
    const ca = broker.certificates && readFileSync(broker.certificates.caFile, "utf8");
    const node = site.node({ link: { url: broker.url, ...(ca ? { tls: { ca } } : {}) } });
    const stop = site.run(node);
    site.append(site.reading({ channel1: 1 }));
    await site.settled(1);
    await stop();
    assert.equal(site.savedBdSeq, 0);
  });
}

test("sparkplug – each CONNECT has the next bdSeq, and its NBIRTH the same", {
  skip,
}, async (t) => {
  const { site, tap, willBdSeq } = await tapped(t);
  site.savedBdSeq = 254;
  site.run(site.node({ link: { url: tap.url } }));
  for (const count of [1, 2, 3]) {
    await site.until((m) => m.filter(({ verb }) => verb === "NBIRTH").length === count);
    if (count < 3) tap.cut();
  }
  assert.deepEqual([willBdSeq(0), willBdSeq(1), willBdSeq(2)], [255, 0, 1]);
  assert.deepEqual(birthBdSeq(site), [255, 0, 1]);
  assert.equal(site.savedBdSeq, 1);
  // Never two at once: the old connection is over before the next one begins.
  assert.equal(tap.connections.filter(({ isOpen }) => isOpen).length, 1);
});

test("sparkplug – a refused TCP attempt uses no bdSeq", { skip }, async (t) => {
  const { site, tap } = await tapped(t);
  const node = site.node({ link: { url: tap.url } });
  site.run(node);
  await site.until((m) => m.length === 3);
  const connectedAt = node.state.since ?? 0;
  await tap.refuse(true);
  const before = site.attempts;
  await waitUntil("three attempts", () => site.attempts >= before + 3);
  // The state says since when it is down, however often it tried since.
  assert.equal(node.state.isConnected, false);
  assert.ok(connectedAt > 0 && (node.state.since ?? 0) >= connectedAt);
  await tap.refuse(false);
  await site.until((m) => m.filter(({ verb }) => verb === "NBIRTH").length === 2);
  assert.deepEqual(birthBdSeq(site), [0, 1]);
});

test("sparkplug – a restarted process continues with the next bdSeq", { skip }, async (t) => {
  const { site } = await tapped(t);
  const stop = site.run(site.node());
  await site.until((m) => m.length === 3);
  await stop();
  site.run(site.node());
  await site.until((m) => m.filter(({ verb }) => verb === "NBIRTH").length === 2);
  assert.deepEqual(birthBdSeq(site), [0, 1]);
});

test("sparkplug – a killed process is declared dead by its will, QoS 1, with the bdSeq of its NBIRTH", {
  skip,
}, async (t) => {
  const { site } = await tapped(t);
  const program = [...scriptWords("test/features/sparkplug/killed-node.ts"), site.broker.url];
  const child = spawn(process.execPath, program, { stdio: "ignore" });
  await site.until((m) => m.some(({ verb }) => verb === "DBIRTH"), 20_000);
  child.kill("SIGKILL");
  await site.until((m) => m.some(({ verb }) => verb === "NDEATH"));
  const [death] = site.of("NDEATH");
  assert.equal(death?.qos, 1);
  assert.equal(death?.retain, false);
  assert.equal(valueOf(metric(death, "bdSeq")), 41);
  assert.deepEqual(birthBdSeq(site), [41]);
});

test("sparkplug – what the broker never proved to have is sent again as historical, after the next births", {
  skip,
}, async (t) => {
  const { site, tap } = await tapped(t);
  site.run(site.node({ link: { url: tap.url } }));
  await site.until((m) => m.length === 3);
  await birthsProven(tap);
  tap.swallow(true);
  const lost = [1, 2, 3].map((channel1) => site.reading({ channel1 }));
  site.append(...lost);
  await written(tap, 4);
  assert.equal(site.outbox.settled.length, 0, "nothing is settled on QoS 0 alone");
  tap.swallow(false);
  tap.cut();
  await site.settled(3);
  const second = site.verbs().slice(3);
  assert.deepEqual(second.slice(0, 4), ["NDEATH", "NBIRTH", "DBIRTH 30007", "DBIRTH 20871"]);
  const metrics = site.of("DDATA").flatMap(({ payload }) => payload.metrics);
  assert.deepEqual(metrics.map(valueOf).sort(), [1, 2, 3]);
  assert.ok(metrics.every((m) => m.isHistorical));
});

test("sparkplug – nothing is sent twice over a link that holds, and everything is settled once proven", {
  skip,
}, async (t) => {
  const { site } = await tapped(t);
  const readings = Array.from({ length: 400 }, (_, i) => site.reading({ channel1: i }));
  site.append(...readings);
  site.run(site.node());
  await site.settled(400);
  const values = site
    .of("DDATA")
    .flatMap(({ payload }) => payload.metrics.map((m) => Number(valueOf(m))));
  assert.deepEqual(
    values.sort((a, b) => a - b),
    readings.map((_, i) => i),
  );
  const historical = site.of("DDATA").flatMap(({ payload }) => payload.metrics);
  assert.equal(historical.filter((m) => !m.isHistorical).length, 1, "the newest alone is live");
});

test("sparkplug – after a broken session births are sent at once, and data after a delay for hosts to return", {
  skip,
}, async (t) => {
  const { site, tap } = await tapped(t);
  site.run(site.node({ reconnectGraceMs: 400, link: { url: tap.url } }));
  await site.until((m) => m.length === 3);
  // Not from the arrival of the births, which a busy machine delays.
  const cutAt = Date.now();
  tap.cut();
  site.append(site.reading({ channel1: 1 }));
  await site.until((m) => m.some(({ verb }) => verb === "DDATA"));
  assert.equal(site.of("NBIRTH").length, 2);
  assert.ok((site.of("DDATA")[0]?.at ?? 0) - cutAt >= 400);
});

test("sparkplug – a stop with a frozen broker stays within its time limit and settles nothing", {
  skip,
}, async (t) => {
  const { site, tap } = await tapped(t);
  const stop = site.run(site.node({ link: { url: tap.url } }));
  await site.until((m) => m.length === 3);
  await birthsProven(tap);
  site.broker.freeze();
  site.append(site.reading({ channel1: 1 }));
  await written(tap, 4);
  const startedAt = performance.now();
  await stop();
  assert.ok(performance.now() - startedAt < deadlineMs(5000));
  assert.equal(site.outbox.settled.length, 0);
  assert.equal(site.outbox.depth("sparkplug").readings, 1);
  site.broker.thaw();
});

/** Resolves when the broker has answered the ping after the births: no data is sent before that. */
async function birthsProven(tap: Tap): Promise<void> {
  const isAnswered = () => tap.connections[0]?.received.some(({ cmd }) => cmd === "pingresp");
  await waitUntil("a response to the ping after the births", isAnswered);
}

/** Resolves when the first connection has sent so many PUBLISH packets. */
async function written(tap: Tap, count: number): Promise<void> {
  const sent = () => tap.connections[0]?.packets.filter((p) => p.cmd === "publish").length ?? 0;
  await waitUntil(`${count} PUBLISH packets`, () => sent() >= count);
}

test("sparkplug – once its session is over, a connection neither proves nor sends, and leaves the next session alone", async () => {
  const asked: string[] = [];
  const ask = (what: string) => () => {
    asked.push(what);
    return Promise.resolve(true);
  };
  const link = {
    publish: ask("publish"),
    prove: ask("prove"),
    renew: ask("renew"),
    leave: ask("leave"),
  };
  const connection = new NodeConnection(link as unknown as SessionLink);
  const askAll = async () => {
    const sent = await connection.publish("t", Buffer.of(1), false);
    connection.cut("stopped");
    await connection.disconnect(true, null);
    return [sent, await connection.prove()];
  };
  await askAll();
  assert.deepEqual(asked.splice(0), ["publish", "renew", "leave", "prove"]);
  connection.close();
  assert.deepEqual(await askAll(), [{ result: "lost" }, false]);
  assert.deepEqual(asked, []);
});
