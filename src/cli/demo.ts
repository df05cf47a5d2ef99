import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openAgent } from "../agent/agent.ts";
import { bindSite, loadSettings, type Settings } from "../config/settings.ts";
import type { Clock } from "../core/ports.ts";
import type { Site } from "../core/site.ts";
import { codeOf } from "../core/thrown.ts";
import { systemClock } from "../lib/clock.ts";
import { openLog, silentLogger } from "../lib/logger.ts";
import { MqttLink } from "../pipeline/link/mqtt-link.ts";
import { startBroker } from "../simulator/broker.ts";
import { diagnosedSite } from "../simulator/diagnosed-site.ts";
import { startSimulator } from "../simulator/server.ts";
import type { CommandContext, TextSink } from "./command.ts";
import { readingLine } from "./reading-line.ts";

/** The plant's time runs this much faster, so that something happens while a person watches. */
const SPEED = 20;
const SENSORS = 14;
/** Days of history to fill the trends with. */
const HISTORY_DAYS = 1;
/**
 * A plant and a moment of its machines' lives at which both run for hours to come, and a bearing of the pump has half an hour left:
 * at whatever hour the demo is started, it has something to show.
 */
const MACHINES = { seed: 123, growthDays: 2, machinesStartMs: Date.UTC(2026, 10, 18, 1, 50) };

/** Simulator, broker, agent and dashboard in one process; prints readings as they reach a subscriber. */
export async function run({ flags, stdout, stderr, signal }: CommandContext): Promise<number> {
  const seconds = flags.number("seconds", { min: 1, max: 86_400 });
  const port = flags.number("port", { min: 0, max: 65_535, isInteger: true }) ?? 8080;
  const dataDir = mkdtempSync(join(tmpdir(), "gateside-demo-"));
  // A read that is under way ends later than the agent, and says so in there.
  process.once("exit", () => rmSync(dataDir, { recursive: true, force: true }));
  const ending = new AbortController();
  const end = () => ending.abort("demo ended");
  signal.addEventListener("abort", end, { once: true });
  const timer = seconds === null ? null : setTimeout(end, seconds * 1000);
  const simulator = await startSimulator({
    sensors: SENSORS,
    speed: SPEED,
    zone: "UTC",
    historyDays: HISTORY_DAYS + 1,
    ...MACHINES,
  });
  const broker = await startBroker();
  const site = diagnosedSite(simulator.siteFile("demo"));
  try {
    const agent = await openWithFreePort(
      port,
      { simulator: simulator.url, broker: broker.url, dataDir, site },
      stderr,
    );
    stdout.write(
      `\nGateside demo: a simulated plant of ${site.sensors.length} sensors, ${SPEED} times as fast as real time.\n` +
        `  dashboard  ${agent.address}/\n` +
        `  broker     ${broker.url}  (MQTT 3.1.1, topics gateside/demo/#)\n` +
        `  gateway    ${simulator.url}\n` +
        `The times below are plant time (UTC): it began at the real time and runs ${SPEED} times as fast, so it\n` +
        `is ahead of this machine's clock.\n` +
        `Press Ctrl-C to stop; nothing is left behind. Readings as a subscriber sees them:\n\n`,
    );
    const subscriber = await subscribe(broker.url, site, stdout);
    await agent.run(ending.signal);
    await subscriber.close();
    return 0;
  } finally {
    if (timer !== null) clearTimeout(timer);
    signal.removeEventListener("abort", end);
    await broker.close();
    await simulator.close();
  }
}

interface DemoPlace {
  readonly simulator: string;
  readonly broker: string;
  readonly dataDir: string;
  readonly site: Site;
}

/**
 * The agent uses the plant's time too: with a real-time clock, the plant's day would run ahead of the box, sensors
 * would appear silent, and the gateway's clock would appear wrong.
 */
export function fastClock(base: Clock, speed: number): Clock {
  const startMs = base.now();
  const startMonotonic = base.monotonic();
  return {
    // Whole, like every clock: times with fractions cannot be stored.
    now: () => Math.round(startMs + (base.monotonic() - startMonotonic) * speed),
    monotonic: () => base.monotonic() * speed,
    sleep: (ms, signal) => base.sleep(ms / speed, signal),
  };
}

/** The usual port if it is free, otherwise any. */
async function openWithFreePort(port: number, place: DemoPlace, stderr: TextSink) {
  const { logger, view: log } = openLog("warn", Date.now);
  const parts = {
    site: place.site,
    logger,
    log,
    clock: fastClock(systemClock, SPEED),
  };
  try {
    return await openAgent({
      ...parts,
      settings: demoSettings(port, place),
      isPortRequired: true,
    });
  } catch (error) {
    if (codeOf(error) !== "EADDRINUSE" || port === 0) throw error;
    stderr.write(`port ${port} is in use; the dashboard uses another one\n`);
    return openAgent({ ...parts, settings: demoSettings(0, place) });
  }
}

function demoSettings(port: number, { simulator, broker, dataDir, site }: DemoPlace): Settings {
  const { settings, faults } = loadSettings(
    {
      GATEWAY_URL: simulator,
      GATEWAY_TIMEZONE: "UTC",
      MQTT_URL: broker,
      MQTT_VERSION: "4",
      DATA_DIR: dataDir,
      POLL_INTERVAL_S: "40",
      BACKFILL_DAYS: String(HISTORY_DAYS),
      PUBLISH_FORMATS: "json,plain",
      PUBLISH_MACHINES: "true",
      HTTP_PORT: String(port),
      DISK_FREE_MIN_MB: "0",
      // Hours until full are in plant time, twenty of which pass in one real hour.
      BUFFER_MAX_MB: "32768",
    },
    { cwd: dataDir },
  );
  if (settings === null) throw new Error(faults.map((fault) => fault.problem).join("; "));
  return bindSite(settings, site.site);
}

/** Only live topics and states: the day's history would scroll everything else away. */
async function subscribe(url: string, site: Site, stdout: TextSink) {
  const names = new Map(site.sensors.map((sensor) => [sensor.code, sensor.name ?? ""]));
  const link = new MqttLink(
    {
      clock: systemClock,
      logger: silentLogger,
      hooks: {
        onMessage({ payload }) {
          const line = readingLine(payload.toString(), names, stdout.columns ?? null);
          if (line !== null) stdout.write(`${line}\n`);
        },
      },
    },
    {
      name: "mqtt",
      urls: [url],
      version: 4,
      clientId: "gateside-demo-subscriber",
      inflight: 1,
      needsSubscriptions: true,
      subscriptions: site.sensors.flatMap(({ code, kinds }) =>
        kinds.map((kind) => ({ topic: `gateside/${site.site}/${code}/${kind}`, qos: 1 as const })),
      ),
    },
  );
  const stop = new AbortController();
  const ended = link.run(stop.signal);
  await link.ready(stop.signal);
  return {
    async close(): Promise<void> {
      await link.close();
      await ended;
    },
  };
}
