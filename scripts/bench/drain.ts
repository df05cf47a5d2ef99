/**
 * Outbox drain compared with bare mqtt.js, QoS 1, window 100, 200-byte payloads, both in one run over one real mosquitto.
 * The drain is the real one: SQLite outbox with synchronous FULL, encoder, publisher, link, settlement.
 * Target 4 of `npm run bench`.
 */

import { setTimeout as pause } from "node:timers/promises";
import mqtt from "mqtt";
import type { Lane } from "../../src/core/delivery/delivery.ts";
import type { Message } from "../../src/core/message.ts";
import { fixedSite } from "../../src/core/site-source.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { createMetrics } from "../../src/lib/metrics.ts";
import { MqttLink } from "../../src/pipeline/link/mqtt-link.ts";
import { createJsonEncoder } from "../../src/pipeline/publish/formats/json.ts";
import { Publisher } from "../../src/pipeline/publish/publisher.ts";
import type { Store } from "../../src/pipeline/store/store.ts";
import { startMosquitto } from "../../test/support/mosquitto.ts";
import { append, readingOf, START_MS, tempStore } from "../../test/support/temp-database.ts";
import { median } from "./measure.ts";
import type { BenchOptions, Outcome } from "./plant.ts";

const WINDOW = 100;
const LANE: Lane = "json";
const SENSORS = 50;
const VERSION = 4;

interface Speed {
  readonly perS: number;
  /** CPU of this process per message, µs: steadier than the rate on a busy machine. */
  readonly cpuUs: number;
}

function stopwatch(count: number): () => Speed {
  const cpu = process.cpuUsage();
  const start = performance.now();
  return () => {
    const { user, system } = process.cpuUsage(cpu);
    return { perS: count / ((performance.now() - start) / 1000), cpuUs: (user + system) / count };
  };
}

/** Messages per second of a client that refills its window on each acknowledgement. */
async function publishBare(
  url: string,
  version: 4 | 5,
  messages: readonly Message[],
): Promise<Speed> {
  const client = await mqtt.connectAsync(url, { protocolVersion: version, reconnectPeriod: 0 });
  const stop = stopwatch(messages.length);
  await new Promise<void>((resolve) => {
    let sent = 0;
    let done = 0;
    const send = () => {
      const message = messages[sent++];
      if (!message) return;
      const { topic, payload, contentType, userProperties } = message;
      const properties =
        version === 5 && contentType && userProperties
          ? { contentType, userProperties: { ...userProperties } }
          : {};
      client.publish(topic, String(payload), { qos: 1, properties }, () => {
        done += 1;
        if (done === messages.length) resolve();
        else send();
      });
    };
    for (let i = 0; i < WINDOW; i++) send();
  });
  const speed = stop();
  await client.endAsync();
  return speed;
}

/** Messages per second from the store to the last settlement on disk. */
async function drain(url: string, version: 4 | 5, store: Store): Promise<Speed> {
  const count = store.outbox.depth(LANE).readings;
  const link = new MqttLink(
    { clock: systemClock, logger: silentLogger },
    {
      name: "mqtt",
      urls: [url],
      version,
      clientId: "gateside-bench",
      inflight: WINDOW,
    },
  );
  const stop = new AbortController();
  const linkEnded = link.run(stop.signal);
  await link.ready(stop.signal);
  const publisher = new Publisher(
    {
      link,
      outbox: store.outbox,
      clock: systemClock,
      logger: silentLogger,
      metrics: createMetrics(),
      gatewayNow: () => systemClock.now(),
    },
    { lanes: [{ lane: LANE, encode: encoder() }], backlogRatePerS: 0 },
  );
  const watch = stopwatch(count);
  const publisherEnded = publisher.run(stop.signal);
  while (publisher.delivered < count) await systemClock.sleep(1);
  stop.abort();
  // The publisher ends when its last settlement is on disk.
  await publisherEnded;
  const speed = watch();
  await linkEnded;
  if (store.outbox.depth(LANE).readings > 0) throw new Error("not everything was settled");
  return speed;
}

function encoder() {
  return createJsonEncoder({
    prefix: "g",
    site: "bench",
    source: fixedSite({ site: "s", sensors: [] }),
    withRaw: false,
  });
}

/** Readings whose messages are about 200 bytes long. */
async function fill(store: Store, count: number, round: number): Promise<Message[]> {
  for (let sensor = 0; sensor < SENSORS; sensor++) {
    const from = START_MS + (round * count + 1) * 1000;
    const readings = Array.from({ length: count / SENSORS }, (_, i) =>
      readingOf(String(1000 + sensor), from + i * 1000, {
        values: { rpm: 9 },
        units: { rpm: "rpm" },
        attributes: {},
      }),
    );
    await append(store, readings);
  }
  await store.readings.flush();
  const encode = encoder();
  const entries = store.outbox.lease(LANE, "backlog", count);
  const messages = entries.flatMap((entry) => [...encode(entry)]);
  store.outbox.release(LANE);
  return messages;
}

export async function drainRows({ isQuick, pairs, say }: BenchOptions): Promise<Outcome> {
  const count = isQuick ? 20_000 : 50_000;
  const cleanups: (() => void | Promise<void>)[] = [];
  // Announces a receive maximum above the window, so that it limits neither side.
  const broker = await startMosquitto({ receiveMaximum: 2 * WINDOW });
  const store = tempStore({ after: (fn) => void cleanups.push(fn) }, { bufferMaxMb: 1024 });
  const seen: { readonly bare: Speed; readonly ours: Speed }[] = [];
  let payloadBytes = 0;
  try {
    for (let round = 0; round <= Math.max(5, pairs); round++) {
      const messages = await fill(store, count, round);
      payloadBytes = Buffer.byteLength(String(messages[0]?.payload));
      const bare = await publishBare(broker.url, VERSION, messages);
      await pause(200);
      const ours = await drain(broker.url, VERSION, store);
      // The first pair warms up.
      if (round > 0) seen.push({ bare, ours });
      say(`bare ${show(bare)}, drain ${show(ours)}`);
    }
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup();
    await broker.close();
  }
  type Side = "ours" | "bare";
  const rate = (side: Side) => median(seen.map((pair) => pair[side].perS / pair.bare.perS));
  const cpu = (side: Side) => median(seen.map((pair) => pair[side].cpuUs / pair.bare.cpuUs));
  const perS = (side: Side) => median(seen.map((pair) => pair[side].perS)).toFixed(0);
  const what = `outbox drain / bare mqtt.js, QoS 1, window ${WINDOW}, ${payloadBytes} B, FULL (messages a second)`;
  return {
    rows: [
      {
        target: "4",
        what,
        measured: rate("ours"),
        limit: 0.85,
        sense: ">=",
        note: `${perS("ours")} : ${perS("bare")}; CPU ${cpu("ours").toFixed(2)} times`,
      },
    ],
    raw: { count, seen },
  };
}

const show = ({ perS, cpuUs }: Speed) => `${Math.round(perS)}/s ${cpuUs.toFixed(1)} us`;
