import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../lib/clock.ts";
import { agentSocketPath } from "../lib/paths.ts";
import { startBroker } from "../simulator/broker.ts";
import { startSimulator } from "../simulator/server.ts";
import { requestSocket } from "./agent-request.ts";
import type { CommandContext } from "./command.ts";
import { runAgent } from "./run.ts";

/**
 * Maximum time for both runs, ms: the installation waits for them. A second run starts only in the first half of it.
 */
const TRAINING_MS = 6_000;
const RUNS = 2;
const CHECK_MS = 100;
/** A run ends after this many consecutive checks without a message in between. */
const QUIET_LOOKS = 5;
/** One sensor of each kind with little data: which code runs matters, not how often. */
const SENSORS = 7;
const CADENCE_S = {
  accel: 7200,
  current: 1200,
  currentV2: 1200,
  accCurrent: 1200,
  loop: 1200,
  rpm: 1200,
};
/** Requested once each: what monitoring and browsers request from most boxes. */
const PAGES = ["/healthz", "/metrics", "/api/v1/status", "/api/v1/sensors", "/"];

/**
 * Runs the agent twice on its own directory, beside a simulated gateway and a broker on loopback, so that the
 * compiled code can be cached (lib/code-cache.ts): first with an empty store, a day's backlog and HTTP requests, then
 * with the store that the first run left. A slow machine gets less far in this time; what it has compiled by then is
 * still worth caching. Returns 1 if the agent did not respond.
 */
export async function run({ flags, stdout, stderr, signal }: CommandContext): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), "gateside-train-"));
  const servers: { close(): Promise<void> }[] = [];
  const startedAt = performance.now();
  try {
    const simulator = await startSimulator({
      sensors: SENSORS,
      zone: "UTC",
      historyDays: 1,
      cadenceS: CADENCE_S,
    });
    servers.push(simulator);
    const broker = await startBroker();
    servers.push(broker);
    const env = {
      GATEWAY_URL: simulator.url,
      GATEWAY_TIMEZONE: "UTC",
      MQTT_URL: broker.url,
      MQTT_VERSION: "4",
      SITE_FILE: join(directory, "site.json"),
      DATA_DIR: join(directory, "data"),
      HTTP_PORT: "0",
      BACKFILL_DAYS: "1",
      DISK_FREE_MIN_MB: "0",
      LOG_LEVEL: "error",
    };
    writeFileSync(env.SITE_FILE, JSON.stringify(simulator.siteFile("training")));
    for (let runs = 0; runs < RUNS; runs++) {
      if (runs > 0 && performance.now() > startedAt + TRAINING_MS / 2) break;
      const end = new AbortController();
      const context = { flags, env, cwd: directory, stdout, stderr };
      const both = AbortSignal.any([signal, end.signal]);
      const ended = runAgent({ ...context, signal: both });
      // An agent that cannot start exits during this wait.
      const stop = () => end.abort("trained");
      ended.then(stop, stop);
      const until = startedAt + TRAINING_MS;
      const hasAnswered = await watch(env.DATA_DIR, until, both).catch(() => false);
      stop();
      if ((await ended) !== 0 || !hasAnswered) return 1;
    }
    return 0;
  } finally {
    for (const server of servers.reverse()) await server.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Waits until the agent has sent everything, or the time is up; false if it did not respond. */
async function watch(dataDir: string, endAt: number, signal: AbortSignal): Promise<boolean> {
  const ask = (path: string) =>
    requestSocket(agentSocketPath(dataDir), path, { headers: {}, content: null, signal });
  let quiet = 0;
  let last = 0;
  while (performance.now() < endAt && quiet < QUIET_LOOKS && !signal.aborted) {
    await systemClock.sleep(CHECK_MS, signal);
    const count = sum((await ask("/metrics"))?.text ?? "", "gateside_delivered_total");
    quiet = count > 0 && count === last ? quiet + 1 : 0;
    last = count;
  }
  const responses = await Promise.all(PAGES.map(ask));
  return responses[0]?.status === 200;
}

function sum(metrics: string, name: string): number {
  return metrics
    .split("\n")
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(" "))), 0);
}
