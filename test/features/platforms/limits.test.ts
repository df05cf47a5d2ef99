/** What a platform documents as its limits holds for everything that a session of the built agent sends. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { test } from "node:test";
import { deadlineMs } from "../../support/deadline.ts";
import { startFakeBroker } from "../../support/fake-broker.ts";
import { skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../../support/plant.ts";
import { waitUntil } from "../../support/wait-until.ts";

const skip = skipWithoutBuild || skipWithoutMosquitto;
/** More messages after a connect than the limit lets through in a second. */
const SENSORS = Number(process.env["PLATFORM_SENSORS"] ?? 120);
const PER_SECOND = 100;
/** Of unacknowledged publishes per client, at AWS. */
const UNACKNOWLEDGED_MAX = 100;

test("aws-iot – everything a session sends keeps to 100 publishes a second, and arrives in one session", {
  skip,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const plant = await startPlant(t, {
    simulator: { sensors: SENSORS, cadenceS: { loop: 30, rpm: 30 }, historyDays: 0.002 },
  });
  // What this process reads late may have been sent in time.
  const loop = monitorEventLoopDelay({ resolution: 10 });
  loop.enable();
  t.after(() => loop.disable());
  const windowMs = () => 1000 - loop.max / 1e6;
  const last: number[] = [];
  const subscribed: string[] = [];
  let discarded = 0;
  // AWS IoT Core: "Publish requests that exceed that quota are discarded", without a PUBACK.
  const aws = await startFakeBroker({
    version: 5,
    granted: (topic) => {
      subscribed.push(topic);
      return 1;
    },
    onPublish: ({ packetId }, connection) => {
      const now = performance.now();
      while (last.length > 0 && now - (last[0] ?? 0) > windowMs()) last.shift();
      if (last.length >= PER_SECOND) {
        discarded += 1;
        return;
      }
      last.push(now);
      connection.ack(packetId);
    },
  });
  t.after(() => aws.close());
  const file = join(dirname(plant.siteFile), "uplinks.json");
  const uplinks = [
    { name: "cloud", url: aws.url, profile: "aws-iot", inflight: 1000, waveforms: "never" },
  ];
  writeFileSync(file, JSON.stringify({ uplinks }));
  plant.startAgent({ UPLINKS_FILE: file });
  const subjects = (level: string) =>
    new Set(
      aws.publishes
        .map(({ topic }) => topic.split("/"))
        .filter(([, , sensor, word]) => word === level && sensor !== "agent")
        .map(([, , sensor]) => sensor),
    ).size;
  await waitUntil(
    () => `descriptions and states of all: ${subjects("about")}, ${subjects("state")}`,
    () => subjects("about") === SENSORS && subjects("state") === SENSORS,
    100_000,
  );
  assert.equal(discarded, 0);
  assert.equal(aws.connects, 1);
  assert.ok(aws.unansweredMax <= UNACKNOWLEDGED_MAX);
  assert.deepEqual(subscribed, [], "where the policy does not allow it, AWS ends the session");
});
