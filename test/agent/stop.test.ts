import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openAgent } from "../../src/agent/agent.ts";
import { bindSite, loadSettings } from "../../src/config/settings.ts";
import { loadSite } from "../../src/config/site.ts";
import type { Clock } from "../../src/core/ports.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { startSimulator } from "../../src/simulator/server.ts";
import { deadlineMs } from "../support/deadline.ts";
import { startFakeBroker } from "../support/fake-broker.ts";
import { MORNING_ZONE } from "../support/morning.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { tempDirectory } from "../support/temp-database.ts";
import { waitUntil } from "../support/wait-until.ts";

/** Contract section 2: ten seconds, on the machine for which deadlines are chosen. */
const END_MAX_MS = deadlineMs(9_000);

async function openHouse(t: TestContext, mqttUrl: string, clock: Clock = systemClock) {
  const simulator = await startSimulator({ zone: MORNING_ZONE });
  t.after(() => simulator.close());
  const { site } = loadSite(JSON.stringify(simulator.siteFile("plant")), "site.json");
  const { settings, faults } = loadSettings(
    {
      GATEWAY_URL: simulator.url,
      GATEWAY_TIMEZONE: MORNING_ZONE,
      MQTT_URL: mqttUrl,
      DATA_DIR: join(tempDirectory(t), "data"),
      HTTP_PORT: "off",
      BACKFILL_DAYS: "0",
      DISK_FREE_MIN_MB: "0",
    },
    { cwd: "." },
  );
  assert.ok(settings && site, JSON.stringify(faults));
  const logger = new RecordingLogger();
  const agent = await openAgent({ settings: bindSite(settings, site.site), site, logger, clock });
  return { agent, logger };
}

test("stop – a broker that stops acknowledging delays the agent by at most ten seconds", {
  timeout: deadlineMs(60_000),
}, async (t) => {
  const topics: string[] = [];
  let isDeaf = false;
  const broker = await startFakeBroker({
    version: 5,
    onPublish: ({ topic, packetId }, connection) => {
      topics.push(topic);
      if (!isDeaf) connection.ack(packetId);
      if (topics.length > 5) isDeaf = true;
    },
  });
  t.after(() => broker.close());
  const { agent } = await openHouse(t, broker.url);
  const stop = new AbortController();
  const ended = agent.run(stop.signal);
  await waitUntil("20 messages", () => topics.length >= 20, 20_000);
  const startedAt = performance.now();
  stop.abort("SIGTERM");
  await ended;
  const tookMs = performance.now() - startedAt;
  assert.ok(tookMs < END_MAX_MS, `${Math.round(tookMs)} ms`);
});

test("stop – an internal error is reported, and everything is closed before the process ends", {
  timeout: deadlineMs(60_000),
}, async (t) => {
  const broker = await startFakeBroker({ version: 5 });
  t.after(() => broker.close());
  let isBroken = false;
  const clock: Clock = {
    ...systemClock,
    sleep: (ms, signal) => {
      if (!isBroken || ms <= 1000) return systemClock.sleep(ms, signal);
      isBroken = false;
      return Promise.reject(new Error("the clock fell off the wall"));
    },
  };
  const { agent, logger } = await openHouse(t, broker.url, clock);
  const startedAt = performance.now();
  const ended = agent.run(new AbortController().signal);
  ended.catch(() => {});
  await waitUntil("a session with the broker", () => broker.connects === 1);
  isBroken = true;
  await assert.rejects(ended, /the clock fell off the wall/);
  assert.ok(performance.now() - startedAt < END_MAX_MS);
  const line = logger.lines.find(({ message }) => message === "agent stopping after a fault");
  assert.equal(line?.level, "error");
  assert.equal(logger.lines.at(-1)?.message, "agent stopped");
});
