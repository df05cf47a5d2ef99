/** The whole house for tests: simulator and real broker in this process' reach, the agent here or as the built program. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { startSimulator } from "../../src/simulator/server.ts";
import type { Simulator } from "../../src/simulator/simulator.ts";
import { programEnvironment } from "./fake-time.ts";
import { MORNING_ZONE } from "./morning.ts";
import {
  type Mosquitto,
  type MosquittoOptions,
  type RecordingSubscriber,
  recordMessages,
  type SubscriberOptions,
  startMosquitto,
} from "./mosquitto.ts";

/** As a package starts it: with the code cache that the runner has made. */
export const PROGRAM = join("dist", "launch.js");

/** What to give node:test as `skip`: the built program is needed. */
export const skipWithoutBuild: string | false = existsSync(PROGRAM)
  ? false
  : "dist/ is not built (npm run build)";

/** A moment of the first two machines' lives, ms UTC: both have run for two hours and go on for four. */
const BOTH_RUN_MS = Date.UTC(2026, 10, 24, 2, 25);

export interface PlantOptions {
  /** Unless told otherwise, its machines run at the start, and it is morning there. A test that gives the start gives it in UTC. */
  readonly simulator?: SimulatorOptions;
  readonly broker?: MosquittoOptions;
  /** Settings beside the addresses. */
  readonly env?: Readonly<Record<string, string>>;
  /** Site name; also in the topics. */
  readonly site?: string;
}

export interface BuiltAgent {
  readonly process: ChildProcess;
  /** JSON log lines so far. */
  readonly log: readonly Readonly<Record<string, unknown>>[];
  /** Base address of its HTTP side, once it listens. */
  readonly address: Promise<string>;
  /** Exit code, or the signal's name. */
  readonly ended: Promise<number | string>;
  stop(): Promise<number | string>;
  kill(): Promise<number | string>;
}

export interface Plant {
  readonly simulator: Simulator;
  readonly broker: Mosquitto;
  readonly dataDir: string;
  readonly siteFile: string;
  readonly env: Readonly<Record<string, string>>;
  subscribe(options?: SubscriberOptions): Promise<RecordingSubscriber>;
  startAgent(env?: Readonly<Record<string, string>>): BuiltAgent;
}

/** Everything is taken down when the test ends. */
export async function startPlant(t: TestContext, options: PlantOptions = {}): Promise<Plant> {
  const { plant, close } = await openPlant(options);
  t.after(close);
  return plant;
}

/** For several tests that share a plant. */
export async function openPlant(
  options: PlantOptions = {},
): Promise<{ readonly plant: Plant; readonly close: () => Promise<void> }> {
  const directory = mkdtempSync(join(tmpdir(), "gateside-plant-"));
  const zone = options.simulator?.startMs === undefined ? MORNING_ZONE : "UTC";
  const simulator = await startSimulator({
    zone,
    machinesStartMs: BOTH_RUN_MS,
    ...options.simulator,
  });
  const broker = await startMosquitto(options.broker);
  const agents: BuiltAgent[] = [];
  const subscribers: RecordingSubscriber[] = [];
  const close = async () => {
    for (const agent of agents) await agent.kill();
    for (const subscriber of subscribers) await subscriber.close();
    await broker.close();
    await simulator.close();
    rmSync(directory, { recursive: true, force: true });
  };
  const dataDir = join(directory, "data");
  const siteFile = join(directory, "site.json");
  writeFileSync(siteFile, JSON.stringify(simulator.siteFile(options.site ?? "plant")));
  const env = {
    GATEWAY_URL: simulator.url,
    GATEWAY_TIMEZONE: options.simulator?.zone ?? zone,
    MQTT_URL: broker.url,
    SITE_FILE: siteFile,
    DATA_DIR: dataDir,
    HTTP_PORT: "0",
    POLL_INTERVAL_S: "1",
    COMMIT_INTERVAL_S: "0",
    BACKFILL_DAYS: "0",
    DISK_FREE_MIN_MB: "0",
    ...options.env,
  };
  const plant: Plant = {
    simulator,
    broker,
    dataDir,
    siteFile,
    env,
    async subscribe(more = {}) {
      const subscriber = await recordMessages(broker.url, more);
      subscribers.push(subscriber);
      return subscriber;
    },
    startAgent(more = {}) {
      const agent = spawnAgent({ ...env, ...more }, directory);
      agents.push(agent);
      return agent;
    },
  };
  return { plant, close };
}

/**
 * Starts `gateside run` as a site would, with nothing of this process' environment but the path and the clock. `prefix`:
 * words before the command, such as those that run it elsewhere.
 */
export function spawnAgent(
  env: Readonly<Record<string, string>>,
  cwd: string,
  program: string = join(process.cwd(), PROGRAM),
  prefix: readonly string[] = [],
): BuiltAgent {
  const words = [...prefix, process.execPath, program, "run"];
  const child = spawn(words[0] as string, words.slice(1), {
    cwd,
    env: { ...programEnvironment(), ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const log: Record<string, unknown>[] = [];
  let found: (address: string) => void = () => {};
  let lost: (error: Error) => void = () => {};
  const address = new Promise<string>((resolve, reject) => {
    found = resolve;
    lost = reject;
  });
  address.catch(() => {}); // Whoever awaits it sees the reason.
  createInterface({ input: child.stdout }).on("line", (line) => {
    const entry: Record<string, unknown> = JSON.parse(line);
    log.push(entry);
    if (typeof entry["address"] === "string") found(entry["address"]);
  });
  const ended = new Promise<number | string>((resolve) => {
    child.once("exit", (code, signal) => {
      lost(new Error(`the agent ended (${code ?? signal}) before it listened`));
      resolve(code ?? signal ?? 0);
    });
  });
  const end = (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    return ended;
  };
  return {
    process: child,
    log,
    address,
    ended,
    stop: () => end("SIGTERM"),
    kill: () => end("SIGKILL"),
  };
}
