/** Bands of records that come together, as on a first start or after an outage, with the built agent. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { deadlineMs } from "../support/deadline.ts";
import { envelope, type GatewayCall, utcDay, wireTime } from "../support/fake-gateway.ts";
import { payloadOf, startFakeSite } from "../support/fake-site.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild } from "../support/plant.ts";
import { until } from "../support/wait-until.ts";

const RECORDS = 60;
/** Readings that a baseline takes. */
const LEARNED = 20;
const DAY_MS = 86_400_000;
/** Noon by the gateway's clock, whatever the hour here: all records are of one day. */
const NOON_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS + DAY_MS / 2;
const samples = Array.from({ length: 512 }, (_, n) => Math.round(1000 * Math.sin(n / 3)));

test("bands – each record of a response gets them, many in one commit; the one that completes a baseline of a band is kept", {
  skip: skipWithoutBuild || skipWithoutMosquitto,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const startedAt = Date.now();
  const records = Array.from({ length: RECORDS }, (_, n) => ({
    calibration: 0.001,
    channel1: samples,
    channel2: samples,
    sample_rate: 3200,
    recording_reason: 2,
    time_data: wireTime(NOON_MS - (n + 1) * 60_000),
  }));
  const answer = ({ body }: GatewayCall) => ({
    headers: { date: new Date(NOON_MS + Date.now() - startedAt).toUTCString() },
    body: envelope(body["date"] === utcDay(NOON_MS) ? records : []),
  });
  const location = { company: 1, area: 1, machine: 40, point: 1 };
  const site = await startFakeSite(t, {
    answer,
    sensors: [{ code: "100", type: 3, kinds: ["accel"], location }],
    // One reading a commit would take minutes.
    env: { BACKFILL_DAYS: "0", COMMIT_INTERVAL_S: "3" },
  });
  const path = join(site.directory, "site.json");
  const custom = [{ name: "hf", from: 400, to: 700, unit: "Hz", of: "accel" }];
  const machines = [{ id: 40, bands: { custom } }];
  const baseline = { readings: LEARNED, deviations: 4 };
  const alarms = [{ name: "change", select: { kinds: ["bands"] }, baseline }];
  const content = { ...JSON.parse(readFileSync(path, "utf8")), machines, alarms };
  writeFileSync(path, JSON.stringify(content));
  const agent = site.startAgent();
  const ids = (kind: string, id: (reading: Record<string, unknown>) => unknown) =>
    site.messages.messages
      .filter(({ topic }) => topic.includes(`/100/${kind}`))
      .map((message) => String(id(payloadOf(message))));
  const ofBands = () =>
    ids("bands", ({ attributes }) => (attributes as Record<string, unknown>)["record_id"]);
  await until("bands of each record", () => ofBands().length >= RECORDS || undefined, 30_000);
  assert.deepEqual(ofBands().toSorted(), ids("accel", ({ id }) => id).toSorted());
  const inOrder = site.messages.messages
    .filter(({ topic }) => /\/100\/accel(\/history)?$/.test(topic))
    .map(payloadOf)
    .sort((a, b) => Date.parse(String(a["time"])) - Date.parse(String(b["time"])));
  const list = `${await agent.address}/api/v1/sensors/100/measurements?kept=true`;
  const { measurements } = (await (await fetch(list)).json()) as {
    readonly measurements: readonly { reading: string; kept: readonly { why: string }[] }[];
  };
  const completing = measurements.flatMap(({ reading, kept }) =>
    kept.some(({ why }) => why === "baseline") ? [reading] : [],
  );
  assert.deepEqual(completing, [inOrder[LEARNED - 1]?.["id"]]);
});
