/** Alarm events that wait in a full buffer while the broker is away, with the built agent: each arrives, or a gap tells of it. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Relay } from "../../scripts/chaos/relay.ts";
import { metricOf, untilMetric } from "../support/agent-answers.ts";
import { deadlineMs } from "../support/deadline.ts";
import { envelope, type GatewayCall, utcDay, wireTime } from "../support/fake-gateway.ts";
import { payloadOf, startFakeSite } from "../support/fake-site.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild } from "../support/plant.ts";
import { until } from "../support/wait-until.ts";

const CHANGES = 2000;
const STEP_MS = 20_000;
const DAY_MS = 86_400_000;
/** Eight in the evening by the gateway's clock, whatever the hour here: all records are of one day. */
const START_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS;
const GATEWAY_MS = START_MS + 20 * 3_600_000;

test("a full buffer without a broker – each of its alarm events arrives once the broker returns, or is told in a gap", {
  skip: skipWithoutBuild || skipWithoutMosquitto,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const startedAt = Date.now();
  let shown = 0;
  const answer = ({ operation, body }: GatewayCall) => {
    const headers = { date: new Date(GATEWAY_MS + Date.now() - startedAt).toUTCString() };
    if (operation !== "getRPMData" || body["date"] !== utcDay(START_MS))
      return { headers, body: envelope([]) };
    // One sensor passes its limit at every other record; the other's records fill the buffer.
    const isQuiet = body["sensorCode"] === "200";
    const records = Array.from({ length: isQuiet ? shown : CHANGES }, (_, n) => ({
      RPM: isQuiet ? 1000 + n / 1000 : n % 2 === 0 ? 3500 : 1000,
      ...(isQuiet ? { remark: "x".repeat(3000) } : {}),
      time_data: wireTime(START_MS + (n + 1) * STEP_MS),
    }));
    return { headers, body: envelope(records) };
  };
  const sensors = ["100", "200"].map((code) => ({ code, type: 40, kinds: ["rpm"] }));
  const site = await startFakeSite(t, {
    answer,
    sensors,
    env: { BUFFER_MAX_MB: "8", BACKFILL_DAYS: "0", POLL_INTERVAL_S: "1", COMMIT_INTERVAL_S: "0" },
  });
  const path = join(site.directory, "site.json");
  const alarms = [{ name: "speed", select: { values: ["rpm"] }, high: 3000, hysteresis: 100 }];
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), alarms }));
  const relay = new Relay(site.broker.port);
  await relay.listen();
  t.after(() => relay.close());
  relay.shut();
  const agent = site.startAgent({ MQTT_URL: relay.url });
  // As many readings as events, and more again: the buffer is full several times over.
  const stored = (count: number) =>
    untilMetric(agent, 'gateside_readings_total{kind="rpm"}', (value) => value >= count);
  for (const count of [0, CHANGES, 2 * CHANGES]) {
    shown = count;
    await stored(CHANGES + count);
  }
  assert.ok((await metricOf(agent, 'gateside_dropped_total{reason="buffer_full"}')) > 0);
  const pending = await metricOf(agent, "gateside_outbox_readings");
  assert.ok(pending > 0);

  relay.open();
  await untilMetric(agent, "gateside_outbox_readings", (value) => value === 0, 40_000);
  const onTopic = (end: string) =>
    site.messages.messages.filter(({ topic }) => topic.endsWith(end)).map(payloadOf);
  // Not those of silent sensors.
  const arrived = () => {
    const events = onTopic("/agent/event").filter(({ alarm }) => alarm === "speed");
    return new Set(events.map(({ id }) => String(id))).size;
  };
  const told = () =>
    onTopic("/agent/gap")
      .filter(({ kind }) => kind === "event")
      .reduce((sum, { count }) => sum + Number(count), 0);
  await until(
    "each event, sent or told",
    () => {
      const all = arrived() + told();
      assert.ok(all <= CHANGES, `${arrived()} arrived, ${told()} are told as lost`);
      return all === CHANGES || undefined;
    },
    20_000,
  ).catch((cause: unknown) => {
    throw new Error(`of ${CHANGES} events ${arrived()} arrived, ${told()} are told`, { cause });
  });
  const gaps = onTopic("/agent/gap").reduce((sum, { count }) => sum + Number(count), 0);
  assert.equal(gaps, await metricOf(agent, 'gateside_dropped_total{reason="buffer_full"}'));
  assert.equal(await agent.stop(), 0);
});
