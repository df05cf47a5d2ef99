import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Lane } from "../../../src/core/delivery/delivery.ts";
import type { Message } from "../../../src/core/message.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createMetrics } from "../../../src/lib/metrics.ts";
import { createJsonEncoder } from "../../../src/pipeline/publish/formats/json.ts";
import type { LaneOptions } from "../../../src/pipeline/publish/leased-entries.ts";
import { Publisher } from "../../../src/pipeline/publish/publisher.ts";
import { fakeBrokerFor, mosquittoFor } from "../../support/brokers.ts";
import { deadlineMs } from "../../support/deadline.ts";
import { linkFor } from "../../support/link.ts";
import { MemoryOutbox, storedReading } from "../../support/memory-outbox.ts";
import { recordMessages, skipWithoutMosquitto as skip } from "../../support/mosquitto.ts";
import { waitUntil } from "../../support/wait-until.ts";

const NOW = Date.parse("2026-11-20T13:00:00Z");
const json = createJsonEncoder({
  prefix: "g",
  site: "s",
  source: fixedSite({ site: "s", sensors: [] }),
  withRaw: false,
});
const jsonLane: LaneOptions = { lane: "json", encode: json };
/** One topic per reading, for brokers that are watched message by message. */
const bySeq = (lane: Lane): LaneOptions => ({
  lane,
  encode: ({ reading, live }) => [
    { topic: `${lane}/${reading.seq}${live ? "/live" : ""}`, payload: "x", qos: 1, retain: false },
  ],
});

interface Setup {
  readonly url: string;
  readonly lanes?: readonly LaneOptions[];
  readonly version?: 4 | 5;
  readonly inflight?: number;
  readonly backlogRatePerS?: number;
  readonly outbox?: MemoryOutbox;
}

function start(t: TestContext, setup: Setup) {
  const outbox = setup.outbox ?? new MemoryOutbox();
  const metrics = createMetrics();
  const { url, version = 5, inflight = 100 } = setup;
  const { link, logger } = linkFor(t, { url, version, inflight }, { metrics });
  const publisher = new Publisher(
    { link, outbox, clock: systemClock, logger, metrics, gatewayNow: () => NOW },
    { lanes: setup.lanes ?? [jsonLane], backlogRatePerS: setup.backlogRatePerS ?? 0 },
  );
  const stop = new AbortController();
  const ended = publisher.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await ended;
  });
  return { outbox, logger, metrics, link, publisher, stop, ended };
}

const drained = (outbox: MemoryOutbox, lane: Lane = "json") =>
  waitUntil(`${lane} drained`, () => outbox.depth(lane).readings === 0);
const series = (from: number, count: number, sensor = "30007") =>
  Array.from({ length: count }, (_, i) => storedReading(from + i, { sensor }));
const sentOnce = (outbox: MemoryOutbox, lane: Lane = "json") => {
  const sent = outbox.settled.filter((s) => s.lane === lane && s.outcome === "sent");
  return sent.map(({ entry }) => entry.reading.seq).sort((a, b) => a - b);
};

test("publisher – connections cut at random while draining: every reading is acknowledged, none settled twice", {
  timeout: deadlineMs(30_000),
}, async (t) => {
  const acknowledged = new Set<string>();
  const server = await fakeBrokerFor(t, {
    version: 5,
    onPublish: ({ topic, packetId }, connection) => {
      const all = server.publishes.length;
      if (all % 777 === 0 && connection.number < 8) return connection.destroy();
      connection.ack(packetId);
      acknowledged.add(topic.replace("/live", ""));
    },
  });
  const outbox = new MemoryOutbox();
  outbox.add("json", series(0, 3000));
  start(t, { url: server.url, outbox, lanes: [bySeq("json")] });
  await drained(outbox);
  assert.ok(server.connects > 3);
  assert.equal(acknowledged.size, 3000);
  assert.deepEqual(
    sentOnce(outbox),
    series(0, 3000).map(({ seq }) => seq),
  );
});

test("publisher – a broker killed and restarted while draining gets everything in the end", {
  skip,
  timeout: deadlineMs(30_000),
}, async (t) => {
  const server = await mosquittoFor(t);
  const outbox = new MemoryOutbox();
  outbox.add("json", series(0, 30_000));
  const { link } = start(t, { url: server.url, outbox });
  await waitUntil("a start", () => outbox.settled.length > 2000);
  await server.kill();
  await waitUntil("the loss", () => !link.isConnected);
  assert.ok(outbox.depth("json").readings > 0, "killed before the end");
  await server.restart();
  await drained(outbox);
  assert.equal(sentOnce(outbox).length, 30_000);
});

test("publisher – if the store fails to record deliveries they are sent again, and none is lost", {
  timeout: deadlineMs(30_000),
}, async (t) => {
  const server = await fakeBrokerFor(t, { version: 5 });
  const outbox = new MemoryOutbox();
  outbox.failure = new Error("disk full");
  outbox.add("json", series(0, 10));
  const { logger } = start(t, { url: server.url, outbox, lanes: [bySeq("json")] });
  await drained(outbox);
  assert.equal(sentOnce(outbox).length, 10);
  assert.ok(server.publishes.length > 10);
  assert.match(logger.text, /could not be recorded/);
});

test("publisher – of waveforms at most four are in flight, so that a reading never waits for many of them", {
  timeout: deadlineMs(30_000),
}, async (t) => {
  const held: (() => void)[] = [];
  const server = await fakeBrokerFor(t, {
    version: 5,
    onPublish: ({ topic, packetId }, connection) => {
      if (topic === "probe") connection.ack(packetId);
      else held.push(() => connection.ack(packetId));
    },
  });
  const outbox = new MemoryOutbox();
  outbox.add("waveform", series(0, 10));
  const lanes = [{ ...bySeq("waveform"), isBackground: true }];
  const { link } = start(t, { url: server.url, outbox, lanes });
  const probe: Message = { topic: "probe", payload: "x", qos: 1, retain: false };
  for (const inFlight of [4, 5, 6]) {
    await waitUntil("the next one", () => held.length >= inFlight);
    // What was sent with it has arrived before this one.
    await link.publish(probe);
    assert.equal(held.length, inFlight);
    held[inFlight - 4]?.();
  }
});

test("publisher – a topic the broker refuses does not block others, is counted, and is reported once", {
  skip,
  timeout: deadlineMs(30_000),
}, async (t) => {
  const server = await mosquittoFor(t, {
    acl: "topic write g/s/open/#\ntopic read #",
  });
  const subscriber = await recordMessages(server.url);
  t.after(() => subscriber.close());
  const outbox = new MemoryOutbox();
  outbox.add("json", [...series(0, 20, "closed"), ...series(100, 500, "open")]);
  const { metrics, logger } = start(t, { url: server.url, outbox });
  await waitUntil("the open ones", () => sentOnce(outbox).length === 500);
  await subscriber.waitUntil((seen) => seen.length === 500);
  await waitUntil("the refusals", () => outbox.settled.length === 520);
  assert.equal(outbox.depth("json").readings, 20, "refused ones stay");
  const text = await metrics.deliveryFailures.get();
  assert.deepEqual(
    text.values.filter(({ value }) => value > 0).map(({ labels, value }) => [labels.reason, value]),
    [["not_authorized", 20]],
  );
  assert.equal(
    logger.lines.filter(({ level }) => level === "error").length,
    2,
    "one line per topic, live and history",
  );
});

test("publisher – a message over the packet limit is not sent, is counted once, and is tried after a reconnect", {
  skip,
  timeout: deadlineMs(30_000),
}, async (t) => {
  const server = await mosquittoFor(t, { maxPacketSize: 1000 });
  const outbox = new MemoryOutbox();
  const big = storedReading(1, { values: `{"x":"${"y".repeat(2000)}"}` });
  outbox.add("json", [big, ...series(2, 10, "small")]);
  const { metrics, logger, link } = start(t, { url: server.url, outbox });
  await waitUntil("the small ones", () => sentOnce(outbox).length === 10);
  assert.equal(outbox.depth("json").readings, 1);
  link.renew("test");
  await waitUntil("the second try", () => {
    return outbox.settled.filter(({ outcome }) => outcome === "oversize").length >= 2;
  });
  const { values } = await metrics.deliveryFailures.get();
  assert.deepEqual(
    values.filter(({ value }) => value > 0).map(({ labels, value }) => [labels.reason, value]),
    [["oversize", 1]],
  );
  assert.equal(
    logger.lines.filter(({ message }) => message.includes("exceeds the broker's packet limit"))
      .length,
    1,
  );
});

test("publisher – after an outage the newest of each sensor goes live first, then the backlog oldest first", {
  skip,
  timeout: deadlineMs(30_000),
}, async (t) => {
  const server = await mosquittoFor(t);
  const subscriber = await recordMessages(server.url);
  t.after(() => subscriber.close());
  const outbox = new MemoryOutbox();
  const sensors = ["a", "b", "c"];
  const mixed = Array.from({ length: 300 }, (_, i) =>
    storedReading(i, { sensor: sensors[i % 3] ?? "a" }),
  );
  outbox.add("json", mixed);
  const { metrics } = start(t, { url: server.url, outbox, inflight: 7 });
  await subscriber.waitUntil((seen) => seen.length === 300);
  const topics = subscriber.messages.map(({ topic }) => topic);
  assert.deepEqual(topics.slice(0, 3).sort(), ["g/s/a/loop", "g/s/b/loop", "g/s/c/loop"]);
  assert.ok(topics.slice(3).every((topic) => topic.endsWith("/history")));
  for (const sensor of sensors) {
    const seen = subscriber.onTopic(`g/s/${sensor}/loop/history`);
    const times = seen.map(({ text }) => JSON.parse(text).time);
    assert.deepEqual(times, [...times].sort());
  }
  assert.equal(subscriber.messages[0]?.retain, true);
  assert.equal(subscriber.messages[0]?.contentType, "application/json");
  assert.equal(subscriber.messages[9]?.retain, false);
  const freshness = await metrics.freshness.get();
  const count = freshness.values.find(({ metricName }) => metricName?.endsWith("_count"));
  assert.equal(count?.value, 3, "only live readings count");
});

test("publisher – a new reading waits for at most one window of a running backlog", {
  timeout: deadlineMs(30_000),
}, async (t) => {
  const window = 10;
  const waits: number[] = [];
  let addedAt = -1;
  const outbox = new MemoryOutbox();
  const server = await fakeBrokerFor(t, {
    version: 5,
    connackProperties: [0x21, 0, window],
    onPublish: ({ topic, packetId }, connection) => {
      const all = server.publishes.length;
      if (topic.endsWith("/live")) {
        if (addedAt >= 0) waits.push(all - addedAt - 1);
        addedAt = -1;
      } else if (addedAt < 0 && all % 100 === 0) {
        addedAt = all;
        outbox.add("json", [storedReading(100_000 + all, { sensor: `new${all}` })]);
      }
      setImmediate(() => connection.ack(packetId));
    },
  });
  outbox.add("json", series(0, 2000));
  start(t, { url: server.url, outbox, lanes: [bySeq("json")] });
  await drained(outbox);
  assert.ok(waits.length >= 15, `${waits.length} measured`);
  assert.ok(Math.max(...waits) <= 2 * window, `waits: ${waits.join(" ")}`);
  assert.equal(server.unansweredMax, window, "the window is full, and never more");
});

test("publisher – waveforms never go ahead of scalars", {
  timeout: deadlineMs(30_000),
}, async (t) => {
  const server = await fakeBrokerFor(t, { version: 5 });
  const outbox = new MemoryOutbox();
  outbox.add("waveform", series(0, 40));
  outbox.add("json", series(0, 2000));
  const lanes = [bySeq("json"), { ...bySeq("waveform"), isBackground: true }];
  start(t, { url: server.url, outbox, lanes });
  await drained(outbox, "waveform");
  const firstWaveform = server.publishes.findIndex(({ topic }) => topic.startsWith("waveform"));
  assert.equal(firstWaveform, 2000);
});

test("publisher – at most four waveforms wait for their acknowledgement, whatever the window", {
  timeout: deadlineMs(30_000),
}, async (t) => {
  const open: (() => void)[] = [];
  let most = 0;
  const server = await fakeBrokerFor(t, {
    version: 5,
    onPublish({ packetId }, connection) {
      open.push(() => connection.ack(packetId));
      most = Math.max(most, open.length);
    },
  });
  const outbox = new MemoryOutbox();
  outbox.add("waveform", series(0, 12));
  start(t, { url: server.url, outbox, lanes: [{ ...bySeq("waveform"), isBackground: true }] });
  while (server.publishes.length < 12) {
    await waitUntil("four, or the rest", () => open.length >= 4 || server.publishes.length === 12);
    open.shift()?.();
  }
  assert.equal(most, 4);
  for (const acknowledge of open) acknowledge();
  await drained(outbox, "waveform");
});

test("publisher – MQTT_BACKLOG_RATE limits the backlog, not live readings", {
  timeout: deadlineMs(30_000),
}, async (t) => {
  const server = await fakeBrokerFor(t, { version: 5 });
  const outbox = new MemoryOutbox();
  outbox.add("json", series(0, 61));
  const startedAt = performance.now();
  start(t, { url: server.url, outbox, lanes: [bySeq("json")], backlogRatePerS: 100 });
  await waitUntil("the first", () => server.publishes.length > 5);
  outbox.add("json", [storedReading(1000, { sensor: "new" })]);
  await waitUntil("the new one", () =>
    server.publishes.some(({ topic }) => topic === "json/1000/live"),
  );
  assert.ok(server.publishes.length < 62, "live is not held back until the backlog has gone");
  await drained(outbox);
  // 60 history messages less a burst of 10, at 100 a second.
  const seconds = (performance.now() - startedAt) / 1000;
  assert.ok(seconds > 0.45, `${seconds} s`);
});

test("publisher – an entry of several messages is removed when all are acknowledged, and kept when one is lost", {
  timeout: deadlineMs(30_000),
}, async (t) => {
  const seen: string[] = [];
  const server = await fakeBrokerFor(t, {
    version: 5,
    onPublish: ({ topic, packetId }, connection) => {
      seen.push(topic);
      if (topic === "c" && connection.number === 1) connection.destroy();
      else connection.ack(packetId);
    },
  });
  const three = (): Message[] =>
    ["a", "b", "c"].map((topic) => ({ topic, payload: "", qos: 1, retain: true }));
  const outbox = new MemoryOutbox();
  outbox.add("plain", [storedReading(1)]);
  start(t, { url: server.url, outbox, lanes: [{ lane: "plain", encode: three }] });
  await drained(outbox, "plain");
  assert.deepEqual(seen, ["a", "b", "c", "a", "b", "c"]);
  assert.deepEqual(
    outbox.settled.map(({ outcome }) => outcome),
    ["kept", "sent"],
  );
});

test("publisher – stopping waits for messages in flight and settles them", {
  timeout: deadlineMs(30_000),
}, async (t) => {
  let ack = () => {};
  const server = await fakeBrokerFor(t, {
    version: 5,
    onPublish: ({ packetId }, connection) => {
      ack = () => connection.ack(packetId);
    },
  });
  const outbox = new MemoryOutbox();
  outbox.add("json", [storedReading(1)]);
  const { stop, ended } = start(t, { url: server.url, outbox });
  await waitUntil("the publish", () => server.publishes.length === 1);
  let hasEnded = false;
  const end = ended.then(() => {
    hasEnded = true;
  });
  stop.abort();
  // In these turns of the event loop a publisher that does not wait would end.
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(!hasEnded);
  ack();
  await end;
  assert.deepEqual(sentOnce(outbox), [1]);
});

test("publisher – MQTT 3.1.1, unusual codes, and a reading that arrives at an idle lane", {
  skip,
  timeout: deadlineMs(30_000),
}, async (t) => {
  const server = await mosquittoFor(t);
  const subscriber = await recordMessages(server.url);
  t.after(() => subscriber.close());
  const { outbox, link } = start(t, { url: server.url, version: 4 });
  await link.ready(new AbortController().signal);
  for (const sensor of ["a/b+c#", "größe 😀", "\u0001x"]) {
    outbox.add("json", [storedReading(1, { sensor })]);
    const live = await subscriber.waitFor(({ text }) => JSON.parse(text).sensor === sensor, 500);
    assert.equal(live.topic.split("/").length, 4);
    await drained(outbox);
  }
  assert.deepEqual(
    subscriber.messages.map(({ topic }) => topic),
    ["g/s/a_b_c_/loop", "g/s/größe 😀/loop", "g/s/_x/loop"],
  );
});

test("publisher – a disk that cannot be read keeps its readings and affects nothing else; only a damaged text is dropped", {
  skip,
  timeout: deadlineMs(30_000),
}, async (t) => {
  const { url } = await mosquittoFor(t);
  const outbox = new MemoryOutbox();
  outbox.add("waveform", [storedReading(1), storedReading(2), storedReading(3)]);
  outbox.add("json", [storedReading(4)]);
  let failures = 2;
  const encode: LaneOptions["encode"] = ({ reading }) => {
    if (reading.seq === 2) throw new SyntaxError("Unexpected token");
    if (failures > 0) {
      failures -= 1;
      throw Object.assign(new Error("disk I/O error"), { isRetryable: true });
    }
    return [{ topic: `w/${reading.seq}`, payload: "x", qos: 1, retain: false }];
  };
  const { logger, metrics } = start(t, {
    url,
    outbox,
    lanes: [jsonLane, { lane: "waveform", encode, isBackground: true }],
  });
  await drained(outbox, "json");
  await drained(outbox, "waveform");
  const outcomes = (seq: number) =>
    outbox.settled.filter(({ entry }) => entry.reading.seq === seq).map(({ outcome }) => outcome);
  assert.deepEqual(outcomes(2), ["skipped"]);
  for (const seq of [1, 3, 4]) assert.equal(outcomes(seq).at(-1), "sent");
  assert.match(logger.text, /a stored reading is damaged/);
  assert.match(logger.text, /cannot be read at the moment/);
  const values = (await metrics.deliveryFailures.get()).values;
  assert.equal(values.find(({ labels }) => labels.reason === "damaged")?.value, 1);
});
