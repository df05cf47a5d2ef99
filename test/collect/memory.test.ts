import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import {
  publishAll,
  READING_TOPIC,
  readingPayload,
  readUntil,
  skipWithoutBuild,
  startCollect,
} from "../support/collecting.ts";
import { deadlineMs } from "../support/deadline.ts";
import { skipWithoutMosquitto, startMosquitto } from "../support/mosquitto.ts";
import { openPostgres, skipWithoutPostgres } from "../support/postgres.ts";
import { openRabbitmq, skipWithoutRabbitmq } from "../support/rabbitmq.ts";

const skip = skipWithoutBuild || skipWithoutPostgres;
const GROWTH_MAX_MB = 200;
/** A full-size waveform: 589,824 samples, 3 MB of JSON. */
const SAMPLES = 589_824;
const COUNT = 40;
/** No box of ours sends so much. */
const GIANT_BYTES = 48 << 20;
const GIANTS = 3;
/** JSON that takes 20 times its bytes once parsed: too much of it in a message, and as much as a message may have. */
const DENSE = [1_300_000, 45_000].map((objects) => `[${"{},".repeat(objects)}0]`);
const DENSE_COUNT = 12;

/** Resident memory and its peak, MB. */
function memory(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const of = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
  return { now: of("VmRSS"), peak: of("VmHWM") };
}

async function publishGiants(mqttUrl: string): Promise<void> {
  const payload = Buffer.alloc(GIANT_BYTES, "[");
  for (let n = 0; n < GIANTS; n++)
    await publishAll(mqttUrl, [{ topic: "gateside/plant-7/100/rpm/history", payload }]);
}

async function publishDense(mqttUrl: string): Promise<void> {
  for (const raw of DENSE)
    for (let n = 0; n < DENSE_COUNT; n++) {
      const payload = readingPayload(n, { raw: "@" }).replace('"@"', raw);
      await publishAll(mqttUrl, [{ topic: READING_TOPIC, payload }]);
    }
}

async function publishWaveforms(mqttUrl: string): Promise<void> {
  const base64 = randomBytes(SAMPLES * 4).toString("base64");
  const time = new Date().toISOString();
  const waveform = (n: number) => ({
    topic: "gateside/plant-7/100/waveform/channel1",
    payload: JSON.stringify({
      v: 1,
      id: String(n),
      site: "plant-7",
      sensor: "100",
      time,
      channel: "channel1",
      samples: SAMPLES,
      base64,
    }),
  });
  for (let n = 0; n < COUNT; n += 10)
    await publishAll(
      mqttUrl,
      Array.from({ length: 10 }, (_, i) => waveform(n + i)),
    );
}

/**
 * A collector and then another: what is published between them waits for the second, as after an outage. Returns what
 * is told of the messages that no box of ours would send.
 */
async function check(t: TestContext, from: string, mqttUrl: string): Promise<unknown> {
  const postgres = await openPostgres();
  t.after(() => postgres.close());
  const url = await postgres.createDatabase("memory");
  const earlier = startCollect(from, url);
  t.after(() => void earlier.child.kill("SIGKILL"));
  await earlier.logged("connected", 60_000);
  assert.equal(await earlier.end(), 0);
  await publishGiants(mqttUrl);
  await publishDense(mqttUrl);
  await publishWaveforms(mqttUrl);
  const collect = startCollect(from, url);
  t.after(() => void collect.child.kill("SIGKILL"));
  await collect.logged("collecting");
  const pid = collect.child.pid ?? 0;
  const before = memory(pid).now;
  const sql = "SELECT count(*)::int AS count FROM waveform";
  await readUntil(
    async () => (await postgres.query<{ count: number }>(url, sql))[0]?.count,
    (count) => count === COUNT,
    90_000,
  );
  const { peak } = memory(pid);
  t.diagnostic(`${before.toFixed(0)} MB before, at most ${peak.toFixed(0)} MB`);
  assert.ok(peak - before < GROWTH_MAX_MB, `${before} MB grew to ${peak} MB`);
  assert.equal(await collect.end(), 0);
  const readings = await postgres.query(url, "SELECT count(*)::int AS count FROM reading");
  assert.deepEqual(readings, [{ count: DENSE_COUNT }]);
  const dense = await postgres.query(
    url,
    `SELECT reason, count(*)::int AS count FROM rejected WHERE bytes < ${GIANT_BYTES} GROUP BY reason`,
  );
  assert.deepEqual(dense, [{ reason: "too_large", count: DENSE_COUNT }]);
  return postgres.query(
    url,
    `SELECT reason, bytes::int, octet_length(payload) AS kept FROM rejected WHERE bytes >= ${GIANT_BYTES}`,
  );
}

test("memory – over AMQP, waiting full-size waveforms and larger messages cost a collector a bounded amount", {
  skip: skip || skipWithoutRabbitmq,
  timeout: deadlineMs(180_000),
}, async (t) => {
  const rabbit = await openRabbitmq();
  t.after(() => rabbit.close());
  const told = await check(t, rabbit.amqpUrl, rabbit.mqttUrl);
  const giant = { reason: "too_large", bytes: GIANT_BYTES, kept: 4096 };
  assert.deepEqual(told, Array(GIANTS).fill(giant));
});

test("memory – over MQTT, waiting full-size waveforms and larger messages cost a collector a bounded amount", {
  skip: skip || skipWithoutMosquitto,
  timeout: deadlineMs(180_000),
}, async (t) => {
  const broker = await startMosquitto({ config: ["max_inflight_messages 2000"] });
  t.after(() => broker.close());
  // The broker does not send what exceeds the collector's maximum packet size.
  assert.deepEqual(await check(t, broker.url, broker.url), []);
});
