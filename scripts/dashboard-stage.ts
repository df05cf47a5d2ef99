/** A plant with some days of history, in which a bearing is about to fail, behind a real agent: what the pictures show. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startBroker } from "../src/simulator/broker.ts";
import { diagnosedSite } from "../src/simulator/diagnosed-site.ts";
import { machineState } from "../src/simulator/machines.ts";
import { withDefaults } from "../src/simulator/options.ts";
import { createPlant } from "../src/simulator/plant.ts";
import { startSimulator } from "../src/simulator/server.ts";
import { spawnAgent } from "../test/support/plant.ts";

const ZONE = "Europe/Berlin";
const DAYS = 4;
const SENSORS = 14;
const GROWTH_DAYS = DAYS + 4;
const BATTERY_LOW_V = 3.2;
const SEEDS_MAX = 5_000;
/** The backfill has ended if nothing new was stored for this long. */
const STEADY_MS = 10_000;
/** On a busy machine; pictures of half a history would show no finding. */
const FILL_MS_MAX = 600_000;

/** What can go wrong on it, for good. */
export interface Failures {
  stopBroker(): Promise<void>;
  stopGateway(): Promise<void>;
}

/** @param use gets the address of the dashboard */
export async function onStage(
  use: (address: string, failures: Failures) => Promise<void>,
): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "gateside-pictures-"));
  const simulator = await startSimulator({
    zone: ZONE,
    seed: seedWithDefects(Date.now()),
    sensors: SENSORS,
    historyDays: DAYS + 1,
    growthDays: GROWTH_DAYS,
    cadenceS: { accel: 1800, loop: 60, current: 120, currentV2: 120, rpm: 120, dryContact: 120 },
  });
  const broker = await startBroker();
  const ending = { broker: once(() => broker.close()), simulator: once(() => simulator.close()) };
  const siteFile = join(directory, "site.json");
  const site = simulator.siteFile("plant-7");
  const sensors = site.sensors.map((sensor) =>
    sensor.kinds.includes("loop") ? { ...sensor, batteryLowV: BATTERY_LOW_V } : sensor,
  );
  writeFileSync(siteFile, JSON.stringify({ ...diagnosedSite(site), sensors }));
  const agent = spawnAgent(
    {
      GATEWAY_URL: simulator.url,
      GATEWAY_TIMEZONE: ZONE,
      MQTT_URL: broker.url,
      MQTT_VERSION: "4",
      SETUP_ENABLED: "true",
      SITE_FILE: siteFile,
      DATA_DIR: join(directory, "data"),
      HTTP_PORT: "0",
      POLL_INTERVAL_S: "2",
      BACKFILL_DAYS: String(DAYS),
    },
    directory,
  );
  try {
    const address = await agent.address;
    await filled(address);
    await use(address, {
      stopBroker: () => ending.broker(),
      stopGateway: () => ending.simulator(),
    });
  } finally {
    await agent.stop();
    await ending.broker();
    await ending.simulator();
    rmSync(directory, { recursive: true, force: true });
  }
}

function once(act: () => Promise<unknown>): () => Promise<void> {
  let done: Promise<unknown> | null = null;
  return async () => void (await (done ??= act()));
}

/** A plant whose pump is about to fail today and whose fan is beginning to, both running, so that there is something to see. */
function seedWithDefects(nowMs: number): number {
  for (let seed = 1; seed < SEEDS_MAX; seed++) {
    const options = withDefaults({ seed, sensors: SENSORS, growthDays: GROWTH_DAYS });
    const machines = [...new Set(createPlant(options).sensors.map(({ machine }) => machine))];
    const [pump, fan] = machines.map((machine) => machineState(machine, nowMs));
    if (pump === undefined || fan === undefined) break;
    // Its bearing, so that a finding has evidence in the envelope.
    if (machines[0]?.defect !== "bearing") continue;
    const isFailing = pump.isRunning && pump.severity > 0.8 && pump.severity < 0.95;
    const isAgeing = fan.isRunning && fan.severity > 0.3 && fan.severity < 0.5;
    if (isFailing && isAgeing) return seed;
  }
  return 1;
}

/** Resolves once the history has been read. */
async function filled(address: string): Promise<void> {
  const startedAt = performance.now();
  let known = -1;
  let steadySince = startedAt;
  while (performance.now() - startedAt < FILL_MS_MAX) {
    const answer = await fetch(`${address}/api/v1/status`);
    const { buffer } = (await answer.json()) as {
      buffer: { readings: number; lanes: Record<string, { readings: number }> };
    };
    const waiting = Object.values(buffer.lanes).reduce((sum, { readings }) => sum + readings, 0);
    // A few new ones come all the time.
    if (buffer.readings > known + 25 || waiting > 25) {
      known = buffer.readings;
      steadySince = performance.now();
    }
    if (buffer.readings > 1_000 && performance.now() - steadySince > STEADY_MS) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error(`the history was not read within ${FILL_MS_MAX / 1000} s`);
}
