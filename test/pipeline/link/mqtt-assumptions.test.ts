/**
 * What writing PUBLISH packets beside mqtt.js relies on (src/pipeline/link/client-stream.ts). A new version of mqtt.js has to pass this before its number is
 * changed in package.json.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import mqtt from "mqtt";
import { type Packet, parser } from "mqtt-packet";
import type { Message } from "../../../src/core/message.ts";
import { ClientStream } from "../../../src/pipeline/link/client-stream.ts";
import { clientOptions, type MqttLinkOptions } from "../../../src/pipeline/link/link-options.ts";
import { publishPacketBytes } from "../../../src/pipeline/link/publish-writer.ts";
import { deadlineMs } from "../../support/deadline.ts";

const timeout = deadlineMs(20_000);
const MESSAGE: Message = { topic: "t", payload: "x", qos: 1, retain: false };

/** A server that answers CONNECT, SUBSCRIBE and PINGREQ and keeps every packet in the order it came. */
async function peer(t: TestContext) {
  const packets: Packet[] = [];
  let socket: Socket | null = null;
  const server = createServer((opened) => {
    socket = opened;
    const read = parser({ protocolVersion: 5 });
    opened.on("data", (chunk: Buffer) => read.parse(chunk));
    opened.on("error", () => opened.destroy());
    read.on("packet", (packet) => {
      packets.push(packet);
      if (packet.cmd === "connect") opened.write(Buffer.from([0x20, 3, 0, 0, 0]));
      if (packet.cmd === "pingreq") opened.write(Buffer.from([0xd0, 0]));
      if (packet.cmd === "subscribe") {
        const id = packet.messageId ?? 0;
        opened.write(Buffer.from([0x90, 4, id >> 8, id & 255, 0, 1]));
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    socket?.destroy();
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const options: MqttLinkOptions = {
    name: "mqtt",
    urls: [`mqtt://127.0.0.1:${port}`],
    version: 5,
    clientId: "x",
    inflight: 10,
  };
  const client = mqtt.connect(clientOptions(options, options.urls[0] ?? "", null));
  t.after(() => client.end(true));
  const path = new ClientStream(client, 5, () => false);
  await new Promise((resolve) => client.once("connect", resolve));
  return { client, path, packets, answer: (bytes: number[]) => socket?.write(Buffer.from(bytes)) };
}

test("mqtt.js – the installed version is exactly the one these tests were run with", () => {
  const declared: unknown = JSON.parse(readFileSync("package.json", "utf8")).dependencies.mqtt;
  const installed: unknown = JSON.parse(
    readFileSync("node_modules/mqtt/package.json", "utf8"),
  ).version;
  assert.equal(declared, installed);
});

test("mqtt.js – a PUBACK for a publish it has not sent is reported with its reason and does no harm", {
  timeout,
}, async (t) => {
  const { client, path, answer } = await peer(t);
  let trouble: unknown = null;
  client.on("error", (error) => {
    trouble = error;
  });
  const id = path.send(MESSAGE, false, publishPacketBytes(MESSAGE, 5), null);
  const received = new Promise<Packet>((resolve) => {
    client.on("packetreceive", (packet) => {
      if (packet.cmd === "puback") resolve(packet);
    });
  });
  answer([0x40, 4, id >> 8, id & 255, 0x10, 0]);
  const packet = await received;
  assert.ok(packet.cmd === "puback");
  assert.equal(packet.messageId, id);
  assert.equal(packet.reasonCode, 0x10);
  await client.subscribeAsync("still/there", { qos: 1 });
  assert.equal(trouble, null);
  assert.ok(client.connected);
});

test("mqtt.js – it takes its identifiers from the provider, so none of them belongs to a publish of ours", {
  timeout,
}, async (t) => {
  const { client, path, packets } = await peer(t);
  const ids = [1, 2, 3].map(() => path.send(MESSAGE, false, publishPacketBytes(MESSAGE, 5), null));
  await client.subscribeAsync("a", { qos: 1 });
  assert.deepEqual(ids, [1, 2, 3]);
  const subscribe = packets.find(({ cmd }) => cmd === "subscribe");
  assert.ok((subscribe?.messageId ?? 0) >= 65_000);
});

test("mqtt.js – what it writes follows what was flushed before, and nothing of its own is queued behind", {
  timeout,
}, async (t) => {
  const { client, path, packets } = await peer(t);
  const send = () => path.send(MESSAGE, false, publishPacketBytes(MESSAGE, 5), null);
  send();
  path.flush();
  const subscribed = client.subscribeAsync("a", { qos: 1 });
  send();
  path.flush();
  const answered = new Promise((resolve) => {
    client.on("packetreceive", ({ cmd }) => {
      if (cmd === "pingresp") resolve(null);
    });
  });
  let isSent = false;
  client.on("packetsend", ({ cmd }) => {
    isSent ||= cmd === "pingreq";
  });
  client.sendPing();
  assert.ok(isSent, "packetsend comes within the call: pings are matched by it");
  send();
  path.flush();
  await Promise.all([subscribed, answered]);
  await client.endAsync();
  assert.deepEqual(
    packets.map(({ cmd }) => cmd),
    ["connect", "publish", "subscribe", "publish", "pingreq", "publish", "disconnect"],
  );
});

test("mqtt.js – its stream exists at once and shows every byte that arrives", {
  timeout,
}, async (t) => {
  const { client, answer } = await peer(t);
  const seen: Buffer[] = [];
  client.stream.on("data", (chunk: Buffer) => seen.push(chunk));
  const received = new Promise((resolve) => client.once("message", resolve));
  answer([0x30, 5, 0, 1, 0x61, 0, 0x62]);
  await received;
  assert.deepEqual(Buffer.concat(seen), Buffer.from([0x30, 5, 0, 1, 0x61, 0, 0x62]));
});
