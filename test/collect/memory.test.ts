import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { publishAll, readUntil, skipWithoutBuild, startCollect } from "../support/collecting.ts";
import { deadlineMs } from "../support/deadline.ts";
import { skipWithoutMosquitto, startMosquitto } from "../support/mosquitto.ts";
import { openPostgres, skipWithoutPostgres } from "../support/postgres.ts";
import { openRabbitmq, skipWithoutRabbitmq } from "../support/rabbitmq.ts";

const skip = skipWithoutBuild || skipWithoutPostgres;
const GROWTH_MAX_MB = 200;
/** A full-size waveform: 589,824 samples, 3 MB of JSON. */
const SAMPLES = 589_824;
const COUNT = 40;

/** Resident memory and its peak, MB. */
function memory(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const of = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
  return { now: of("VmRSS"), peak: of("VmHWM") };
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

/** A collector and then another: what is published between them waits for the second, as after an outage. */
async function check(t: TestContext, from: string, mqttUrl: string): Promise<void> {
  const postgres = await openPostgres();
  t.after(() => postgres.close());
  const url = await postgres.createDatabase("memory");
  const earlier = startCollect(from, url);
  t.after(() => void earlier.child.kill("SIGKILL"));
  await earlier.logged("connected", 60_000);
  assert.equal(await earlier.end(), 0);
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
}

test("memory – over AMQP, waiting full-size waveforms cost a collector a bounded amount", {
  skip: skip || skipWithoutRabbitmq,
  timeout: deadlineMs(180_000),
}, async (t) => {
  const rabbit = await openRabbitmq();
  t.after(() => rabbit.close());
  await check(t, rabbit.amqpUrl, rabbit.mqttUrl);
});

test("memory – over MQTT, waiting full-size waveforms cost a collector a bounded amount", {
  skip: skip || skipWithoutMosquitto,
  timeout: deadlineMs(180_000),
}, async (t) => {
  const broker = await startMosquitto({ config: ["max_inflight_messages 2000"] });
  t.after(() => broker.close());
  await check(t, broker.url, broker.url);
});
