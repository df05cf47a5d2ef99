/** Two collectors find the same message that cannot be delivered: the second one removes it after the first one has. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect as connectTcp, createServer, type Socket } from "node:net";
import { test } from "node:test";
import { connect } from "amqplib";
import { AmqpSource } from "../../src/collect/amqp/amqp-source.ts";
import { brokerAddress } from "../../src/collect/broker-url.ts";
import { Inbox } from "../../src/collect/inbox.ts";
import { DEFAULT_TOPIC, SiteTopics } from "../../src/collect/site-topics.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { publishAll, READING_TOPIC, readingPayload } from "../support/collecting.ts";
import { deadlineMs } from "../support/deadline.ts";
import { openRabbitmq, skipWithoutRabbitmq } from "../support/rabbitmq.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { waitUntil } from "../support/wait-until.ts";

const QUEUE = "gateside-collect-gateside";
/** A frame with `basic.get`, its reserved member and the queue; the next octet is `no-ack`. */
const GET = Buffer.concat([Buffer.from([0, 60, 0, 70, 0, 0, QUEUE.length]), Buffer.from(QUEUE)]);

test("amqp – a sound message that is removed instead of one that cannot be delivered outlasts its connection", {
  skip: skipWithoutRabbitmq,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const rabbit = await openRabbitmq();
  t.after(() => rabbit.close());
  const sockets = new Set<Socket>();
  let beforeRemoval: (() => Promise<void>) | null = removeFirst;
  const way = createServer((near) => {
    const far = connectTcp(Number(new URL(rabbit.amqpUrl).port), "127.0.0.1");
    sockets.add(near);
    near.on("data", (bytes) => {
      const at = bytes.indexOf(GET);
      if (at === -1 || bytes[at + GET.length] !== 1 || beforeRemoval === null) far.write(bytes);
      else void beforeRemoval().then(() => far.write(bytes));
    });
    far.pipe(near);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const)
      one.on("error", () => other.destroy()).on("close", () => other.destroy());
  }).listen(0, "127.0.0.1");
  t.after(() => way.close());
  await once(way, "listening");

  /** What the other collector does; the broker ends its connection as it does ours. */
  async function removeFirst(): Promise<void> {
    beforeRemoval = null;
    const other = await connect(rabbit.amqpUrl);
    other.on("error", () => {});
    const ended = new Promise((resolve) => other.once("close", resolve));
    const channel = await other.createChannel();
    channel.on("error", () => {});
    await channel.get(QUEUE, { noAck: true }).catch(() => {});
    await ended;
    await publishAll(rabbit.mqttUrl, [{ topic: READING_TOPIC, payload: readingPayload(1) }]);
  }

  const inbox = new Inbox();
  const options = {
    addresses: [
      brokerAddress(
        rabbit.amqpUrl.replace(/:\d+(?=\/|$)/, `:${(way.address() as AddressInfo).port}`),
      ),
    ],
    tls: { ca: null, cert: null, key: null },
    group: "gateside",
    prefix: "gateside",
    topics: new SiteTopics("gateside", DEFAULT_TOPIC),
    reconnectSpreadS: 0,
  };
  const logger = new RecordingLogger();
  const source = new AmqpSource({ inbox, clock: systemClock, logger }, options);
  const stop = new AbortController();
  const running = source.run(stop.signal);
  t.after(async () => {
    stop.abort();
    for (const socket of sockets) socket.destroy();
    await running;
  });
  await waitUntil("not connected", () => source.isConnected, 60_000);
  await publishAll(rabbit.mqttUrl, [
    { topic: READING_TOPIC.padEnd(256, "x"), payload: readingPayload(0) },
  ]);
  await waitUntil(
    () => `nothing arrives: ${logger.text}`,
    () => inbox.length === 1,
    90_000,
  );
  for (const socket of sockets) socket.destroy();
  await waitUntil("the connection does not end", () => !source.isConnected);
  await waitUntil("not connected again", () => source.isConnected, 60_000);
  const [kept, ...more] = await inbox.take(10, 1 << 20, AbortSignal.abort());
  assert.equal(kept?.payload.toString(), readingPayload(1));
  assert.equal(more.length, 0);
});
