/** Others fill the disk, and the gateway shows hours at once: what the connected broker takes is not given up. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { metricOf, untilMetric } from "../support/agent-answers.ts";
import { deadlineMs } from "../support/deadline.ts";
import { envelope, type GatewayCall, utcDay, wireTime } from "../support/fake-gateway.ts";
import { payloadOf, startFakeSite } from "../support/fake-site.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild } from "../support/plant.ts";
import { fillDisk, smallDisk, WITHOUT_MOUNT } from "../support/small-disk.ts";

const COUNT = 2000;
const STEP_MS = 30_000;
const DAY_MS = 86_400_000;
/** Eight in the evening by the gateway's clock, whatever the hour here: all records are of one day. */
const START_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS;
const GATEWAY_MS = START_MS + 20 * 3_600_000;
const LEFT_BYTES = 300_000;

test("a disk that others fill while the gateway shows hours at once – every reading arrives, none is given up", {
  skip: skipWithoutBuild || skipWithoutMosquitto,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const disk = smallDisk(t);
  if (disk === null) return t.skip(WITHOUT_MOUNT);
  const startedAt = Date.now();
  let shown = 20;
  const answer = ({ operation, body }: GatewayCall) => {
    const headers = { date: new Date(GATEWAY_MS + Date.now() - startedAt).toUTCString() };
    const isToday = operation === "getRPMData" && body["date"] === utcDay(START_MS);
    const records = Array.from({ length: isToday ? shown : 0 }, (_, n) => ({
      RPM: 1000 + n / 1000,
      remark: "x".repeat(2500),
      time_data: wireTime(START_MS + (n + 1) * STEP_MS),
    }));
    return { headers, body: envelope(records) };
  };
  const site = await startFakeSite(t, {
    answer,
    sensors: [{ code: "100", type: 40, kinds: ["rpm"] }],
    env: {
      ALARMS_ENABLED: "false",
      BUFFER_MAX_MB: "64",
      BACKFILL_DAYS: "0",
      POLL_INTERVAL_S: "1",
      COMMIT_INTERVAL_S: "0",
      DATA_DIR: join(disk, "data"),
    },
  });
  const agent = site.startAgent();
  const arrived = () =>
    new Set(
      site.messages.messages
        .filter(({ topic }) => /\/rpm(\/history)?$/.test(topic))
        .map((message) => payloadOf(message)["id"]),
    );
  await site.messages.waitUntil(() => arrived().size === 20, deadlineMs(20_000));
  const giveBack = fillDisk(disk, LEFT_BYTES);
  shown = COUNT;
  // 5 MB of records through a third of a megabyte.
  await site.messages.waitUntil(() => arrived().size >= COUNT / 4, deadlineMs(60_000));
  giveBack();
  await site.messages.waitUntil(() => arrived().size === COUNT, deadlineMs(60_000));
  await untilMetric(agent, "gateside_outbox_readings", (value) => value === 0, 40_000);
  for (const reason of ["disk_full", "buffer_full"])
    assert.equal(await metricOf(agent, `gateside_dropped_total{reason="${reason}"}`), 0);
  assert.ok(!site.messages.messages.some(({ topic }) => topic.endsWith("/agent/gap")));
  assert.equal(await agent.stop(), 0);
});
