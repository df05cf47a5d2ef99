/**
 * Outbox drain against bare mqtt.js, QoS 1, window 100, 200-byte payloads, both in one run over one real mosquitto.
 * Prints the median of the ratios of at least five pairs. Usage: node --import tsx scripts/bench/drain.ts [messages] [pairs]
 */
import mqtt from "mqtt";
import type { Lane, Message, OutboxEntry, StoredReading } from "../../src/core/ports.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { createMetrics } from "../../src/lib/metrics.ts";
import { createJsonEncoder } from "../../src/publish/json.ts";
import { MqttLink } from "../../src/publish/mqtt-link.ts";
import { Publisher } from "../../src/publish/publisher.ts";
import { MemoryOutbox, storedReading } from "../../test/support/memory-outbox.ts";
import { startMosquitto } from "../../test/support/mosquitto.ts";

const WINDOW = 100;
const LANE: Lane = "json";
const VERSION = 4;

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Messages a second of a client that refills its window in each acknowledgement. */
async function bare(url: string, messages: readonly Message[]): Promise<number> {
  const client = await mqtt.connectAsync(url, { protocolVersion: VERSION, reconnectPeriod: 0 });
  const start = performance.now();
  await new Promise<void>((resolve) => {
    let sent = 0;
    let done = 0;
    const send = () => {
      const message = messages[sent++];
      if (!message) return;
      client.publish(message.topic, Buffer.from(message.payload), { qos: 1 }, () => {
        done += 1;
        if (done === messages.length) resolve();
        else send();
      });
    };
    for (let i = 0; i < WINDOW; i++) send();
  });
  const rate = messages.length / ((performance.now() - start) / 1000);
  await client.endAsync();
  return rate;
}

/** Messages a second of link, publisher and encoder over an outbox. */
async function drain(url: string, readings: readonly StoredReading[]): Promise<number> {
  const outbox = new MemoryOutbox();
  const link = new MqttLink(
    { clock: systemClock, logger: silentLogger },
    { name: "mqtt", url, version: VERSION, clientId: "gateside-bench", inflight: WINDOW },
  );
  const stop = new AbortController();
  const publisher = new Publisher(
    {
      link,
      outbox,
      clock: systemClock,
      logger: silentLogger,
      metrics: createMetrics(),
      gatewayNow: () => systemClock.now(),
    },
    { lanes: [{ lane: LANE, encode: encoder() }], backlogRatePerS: 0 },
  );
  const ended = [link.run(stop.signal), publisher.run(stop.signal)];
  await link.ready(stop.signal);
  const start = performance.now();
  outbox.add(LANE, readings);
  while (outbox.depth(LANE).readings > 0) await outbox.changed(LANE, AbortSignal.timeout(1000));
  const rate = readings.length / ((performance.now() - start) / 1000);
  stop.abort();
  await Promise.all(ended);
  return rate;
}

function encoder() {
  return createJsonEncoder({ prefix: "gateside", site: "bench", sensors: [], withRaw: false });
}

async function main(): Promise<void> {
  const count = Number(process.argv[2] ?? 50_000);
  const pairs = Math.max(5, Number(process.argv[3] ?? 7));
  const readings = Array.from({ length: count }, (_, i) =>
    storedReading(i, { values: '{"c":1}', units: '{"c":"A"}' }),
  );
  const encode = encoder();
  const entries: OutboxEntry[] = readings.map((reading) => ({ reading, live: false }));
  const messages = entries.flatMap((entry) => [...encode(entry)]);
  const payloadBytes = Buffer.byteLength(String(messages[0]?.payload));
  const broker = await startMosquitto();
  const ratios: number[] = [];
  try {
    await bare(broker.url, messages);
    await drain(broker.url, readings);
    for (let i = 0; i < pairs; i++) {
      const bareRate = await bare(broker.url, messages);
      const drainRate = await drain(broker.url, readings);
      ratios.push(drainRate / bareRate);
      process.stdout.write(
        `bare ${Math.round(bareRate)}/s, drain ${Math.round(drainRate)}/s, ratio ${(drainRate / bareRate).toFixed(2)}\n`,
      );
    }
  } finally {
    await broker.close();
  }
  process.stdout.write(
    `median ratio ${median(ratios).toFixed(2)} over ${pairs} pairs of ${count} messages of ${payloadBytes} bytes\n`,
  );
}

void main();
