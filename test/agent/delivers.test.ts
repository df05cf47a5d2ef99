/** The mission in one look, which is left when every feature is gone: readings of a simulated gateway arrive at a broker, each once. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { openAgent } from "../../src/agent/agent.ts";
import { bindSite, loadSettings } from "../../src/config/settings.ts";
import { loadSite } from "../../src/config/site.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { startSimulator } from "../../src/simulator/server.ts";
import { deadlineMs } from "../support/deadline.ts";
import { startFakeBroker } from "../support/fake-broker.ts";
import { MORNING_ZONE } from "../support/morning.ts";
import { tempDirectory } from "../support/temp-database.ts";
import { waitUntil } from "../support/wait-until.ts";

const READINGS = 50;

test("delivers – readings of the simulator arrive at the broker, each once", {
  timeout: deadlineMs(60_000),
}, async (t) => {
  const simulator = await startSimulator({ zone: MORNING_ZONE });
  t.after(() => simulator.close());
  const ids: string[] = [];
  const broker = await startFakeBroker({
    version: 5,
    onPublish({ packet, packetId, topic }, connection) {
      const [, id] = /"id":"([0-9a-f]{32})"/.exec(packet.toString("latin1")) ?? [];
      // A waveform has the id of its reading.
      if (id !== undefined && !topic.includes("/waveform")) ids.push(id);
      connection.ack(packetId);
    },
  });
  t.after(() => broker.close());
  const { site } = loadSite(JSON.stringify(simulator.siteFile("plant")), "site.json");
  const environment = {
    GATEWAY_URL: simulator.url,
    GATEWAY_TIMEZONE: MORNING_ZONE,
    MQTT_URL: broker.url,
    DATA_DIR: join(tempDirectory(t), "data"),
    HTTP_PORT: "off",
    BACKFILL_DAYS: "0",
    DISK_FREE_MIN_MB: "0",
  };
  const { settings, faults } = loadSettings(environment, { cwd: "." });
  assert.ok(settings && site, JSON.stringify(faults));
  const agent = await openAgent({
    settings: bindSite(settings, site.site),
    site,
    logger: silentLogger,
  });
  const stop = new AbortController();
  const ended = agent.run(stop.signal);
  await waitUntil("readings", () => ids.length >= READINGS, 20_000);
  stop.abort("done");
  await ended;
  assert.equal(new Set(ids).size, ids.length);
});
