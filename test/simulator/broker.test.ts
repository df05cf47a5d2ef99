import assert from "node:assert/strict";
import { connect as connectSocket } from "node:net";
import { test } from "node:test";
import { connectAsync } from "mqtt";
import { startBroker } from "../../src/simulator/broker.ts";

test("demo broker – a retained QoS 1 message reaches a later subscriber", async (t) => {
  const broker = await startBroker();
  t.after(() => broker.close());
  const options = { protocolVersion: 4, reconnectPeriod: 0 } as const;
  const publisher = await connectAsync(broker.url, options);
  await publisher.publishAsync("gateside/x/rpm", "1480", { qos: 1, retain: true });
  const subscriber = await connectAsync(broker.url, options);
  const message = new Promise<string>((resolve) => {
    subscriber.on("message", (topic, payload) => resolve(`${topic} ${payload.toString()}`));
  });
  await subscriber.subscribeAsync("gateside/#", { qos: 1 });
  assert.equal(await message, "gateside/x/rpm 1480");
  await publisher.endAsync();
  await subscriber.endAsync();
});

test("demo broker – invalid packets and connections beyond the limit do no harm; it closes while clients are connected", async (t) => {
  const broker = await startBroker({ connectionsMax: 2 });
  const socket = connectSocket(broker.port, "127.0.0.1");
  t.after(() => socket.destroy());
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.end("GET / HTTP/1.1\r\n\r\n");
  await closed;
  const client = await connectAsync(broker.url, { protocolVersion: 4, reconnectPeriod: 0 });
  client.on("error", () => {});
  const gone = new Promise<void>((resolve) => client.once("close", () => resolve()));
  await broker.close();
  await gone;
  assert.equal(client.connected, false);
});

test("demo broker – a port in use is reported", async (t) => {
  const broker = await startBroker();
  t.after(() => broker.close());
  await assert.rejects(startBroker({ port: broker.port }), /EADDRINUSE/);
});
