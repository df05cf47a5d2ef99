/** A first start that is larger than the buffer, over a connected broker: the built agent reads it in parts and gives up nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { metricOf, untilMetric } from "../support/agent-answers.ts";
import { deadlineMs } from "../support/deadline.ts";
import { envelope, type GatewayCall, utcDay, wireTime } from "../support/fake-gateway.ts";
import { payloadOf, startFakeSite } from "../support/fake-site.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild } from "../support/plant.ts";
import { waitUntil } from "../support/wait-until.ts";

const COUNT = 3000;
const STEP_MS = 20_000;
const DAY_MS = 86_400_000;
/** Eight in the evening by the gateway's clock, whatever the hour here: all records are of one day. */
const START_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS;
const GATEWAY_MS = START_MS + 20 * 3_600_000;
/** The agent holds an uplink that has acknowledged nothing for half a minute for one that does not deliver. */
const SILENCE_MS = 10_000;

test("a first start of twice the buffer over a connected broker – every reading arrives, none is given up", {
  skip: skipWithoutBuild || skipWithoutMosquitto,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const startedAt = Date.now();
  const isOnline = () => site.messages.messages.some(({ topic }) => topic.endsWith("/agent/state"));
  let isHeld = false;
  const answer = ({ operation, body }: GatewayCall) => {
    const headers = { date: new Date(GATEWAY_MS + Date.now() - startedAt).toUTCString() };
    const isToday = operation === "getRPMData" && body["date"] === utcDay(START_MS) && isOnline();
    // From now on the broker takes nothing, so the buffer fills however slow the agent is.
    if (isToday && !isHeld) site.broker.freeze();
    isHeld ||= isToday;
    const records = Array.from({ length: isToday ? COUNT : 0 }, (_, n) => ({
      RPM: 1000 + n / 1000,
      remark: "x".repeat(2500),
      time_data: wireTime(START_MS + (n + 1) * STEP_MS),
    }));
    return { headers, body: envelope(records) };
  };
  const site = await startFakeSite(t, {
    answer,
    sensors: ["100", "200"].map((code) => ({ code, type: 40, kinds: ["rpm"] })),
    env: {
      ALARMS_ENABLED: "false",
      BUFFER_MAX_MB: "8",
      BACKFILL_DAYS: "0",
      POLL_INTERVAL_S: "1",
      COMMIT_INTERVAL_S: "0",
    },
  });
  const agent = site.startAgent();
  const isPaused = () =>
    agent.log.some(({ msg }) => /reading pauses until there is space/.test(String(msg)));
  // A few deliveries now and then, on a machine that takes longer than usual.
  const breathing = setInterval(() => {
    site.broker.thaw();
    setTimeout(() => {
      if (isHeld && !isPaused()) site.broker.freeze();
    }, 100);
  }, SILENCE_MS);
  t.after(() => clearInterval(breathing));
  await waitUntil("the agent says that reading pauses", isPaused, 60_000);
  clearInterval(breathing);
  site.broker.thaw();
  const isAll = (value: number) => value >= 2 * COUNT;
  await untilMetric(agent, 'gateside_readings_total{kind="rpm"}', isAll, 60_000);
  await untilMetric(agent, "gateside_outbox_readings", (value) => value === 0, 40_000);
  const arrived = () =>
    new Set(
      site.messages.messages
        .filter(({ topic }) => /\/rpm(\/history)?$/.test(topic))
        .map((message) => payloadOf(message)["id"]),
    );
  await site.messages.waitUntil(() => arrived().size === 2 * COUNT, deadlineMs(20_000));
  assert.equal(await metricOf(agent, 'gateside_dropped_total{reason="buffer_full"}'), 0);
  assert.equal(await agent.stop(), 0);
});
