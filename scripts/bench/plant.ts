/** What every row that runs processes needs: gateway, broker, subscriber and the programs, all stopped at the end. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { type Mosquitto, startMosquitto } from "../../test/support/mosquitto.ts";
import { AgentProcess } from "./agent-process.ts";
import type { CannedPlan, CannedSensor } from "./canned-gateway.ts";
import { GatewayProcess } from "./gateway-process.ts";
import { sleep } from "./measure.ts";
import { MessageCounter } from "./message-counter.ts";
import { NodeRedProcess } from "./node-red.ts";

export interface BenchOptions {
  /** Directory of the built bundle. */
  readonly program: string;
  /** Scratch, on a disk (not in memory). */
  readonly directory: string;
  readonly isQuick: boolean;
  /** Sizes as in the targets, e.g. a store of 2 GB. */
  readonly isFull: boolean;
  /** Why there is no Node-RED to compare with; null if there is one. */
  readonly noNodeRed: string | null;
  readonly pairs: number;
  readonly say: (text: string) => void;
  /** More flags for Node, for profiles. */
  readonly nodeFlags?: readonly string[];
}

/** Commit window of the agent (200 ms) and its settlements, with room for a busy machine, ms. */
export const SETTLED_MS = 500;
export const MIDNIGHT_MS = Math.floor(Date.now() / 86_400_000) * 86_400_000;
export const DAY = new Date(MIDNIGHT_MS).toISOString().slice(0, 10);
const STEP_S = 400;

/** The load "round": 50 sensors with a day of 144 small records, 5 with waveforms of three axes. */
export function roundSensors(records: number, samples: number): CannedSensor[] {
  return [...small(50, 144), ...waveform(5, records, samples)];
}
export function small(count: number, records: number, cadenceS = 0): CannedSensor[] {
  return Array.from({ length: count }, (_, i) => {
    return { code: `${10_000 + i}`, kind: "rpm", records, samples: 0, cadenceS };
  });
}
export function waveform(
  count: number,
  records: number,
  samples: number,
  cadenceS = 0,
): CannedSensor[] {
  return Array.from({ length: count }, (_, i) => {
    return { code: `${90_000 + i}`, kind: "accel", records, samples, cadenceS };
  });
}

/** A day that is over two thirds full, with a running clock and room for what is added. */
export function dayPlan(
  sensors: readonly CannedSensor[],
  changes: Partial<CannedPlan> = {},
): CannedPlan {
  return {
    sensors,
    midnightMs: MIDNIGHT_MS,
    pastDays: 0,
    stepS: STEP_S,
    clockMs: 144 * STEP_S * 1000,
    lagMs: 0,
    ...changes,
  };
}

/**
 * Rounds are asked for over HTTP, and the audit log records each request in its own commit. A normal poll writes none, so in the
 * store under test such entries are ignored.
 */
function leaveRoundsOutOfAudit(dataDir: string): void {
  const db = new Sqlite(join(dataDir, "gateside.db"));
  try {
    // 0.1 has no audit log.
    const audit = db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'audit'").get();
    if (audit === undefined) return;
    db.exec(
      "CREATE TRIGGER IF NOT EXISTS audit_ignored BEFORE INSERT ON audit BEGIN SELECT RAISE(IGNORE); END",
    );
  } finally {
    db.close();
  }
}

let runs = 0;

export interface Plant {
  readonly gateway: GatewayProcess;
  readonly broker: Mosquitto;
  readonly sensors: readonly CannedSensor[];
  /** Size of the prepared days. */
  readonly bytes: number;
  readonly records: number;
  agent(env?: Readonly<Record<string, string>>, dataOf?: string): Promise<Watched<AgentProcess>>;
  /** While the broker is down; the subscriber is opened once it is back. */
  agentWithoutBroker(
    env?: Readonly<Record<string, string>>,
  ): Promise<{ readonly program: AgentProcess; readonly counter: () => Promise<MessageCounter> }>;
  nodeRed(): Promise<Watched<NodeRedProcess>>;
  /** Counts what is published below a first topic level. */
  subscriber(prefix: string): Promise<MessageCounter>;
}

/** A program and what a subscriber sees of it. */
export interface Watched<P> {
  readonly program: P;
  readonly counter: MessageCounter;
}

export async function withPlant<T>(
  options: BenchOptions,
  plan: CannedPlan,
  work: (plant: Plant) => Promise<T>,
): Promise<T> {
  const endings: (() => unknown)[] = [];
  runs += 1;
  const directory = join(options.directory, `run-${runs}`);
  mkdirSync(directory, { recursive: true });
  try {
    const broker = await startMosquitto({
      receiveMaximum: 1000,
      config: ["max_queued_messages 0", "max_inflight_messages 1000"],
    });
    endings.push(() => broker.close());
    const gateway = await GatewayProcess.start();
    endings.push(() => gateway.close());
    const { bytes, records } = await gateway.plan(plan);
    const watch = async (prefix: string) => {
      const counter = await MessageCounter.open(broker.url, prefix);
      endings.push(() => counter.close());
      return counter;
    };
    const startAgent = async (env?: Readonly<Record<string, string>>, dataOf?: string) => {
      const { program, nodeFlags } = options;
      const agent = await AgentProcess.start({
        ...common,
        program,
        directory: dataOf ?? join(directory, "agent"),
        brokerUrl: broker.url,
        ...(env === undefined ? {} : { env }),
        ...(nodeFlags === undefined ? {} : { nodeFlags }),
      });
      endings.push(() => agent.stop());
      leaveRoundsOutOfAudit(agent.dataDir);
      return agent;
    };
    const common = { gatewayUrl: gateway.url, sensors: plan.sensors };
    return await work({
      gateway,
      broker,
      sensors: plan.sensors,
      bytes,
      records,
      subscriber: watch,
      async agent(env, dataOf) {
        const counter = await watch(env?.["MQTT_TOPIC_PREFIX"] ?? "gateside");
        const program = await startAgent(env, dataOf);
        await sleep(1500);
        return { program, counter };
      },
      async agentWithoutBroker(env) {
        return { program: await startAgent(env), counter: () => watch("gateside") };
      },
      async nodeRed() {
        const counter = await watch("node-red");
        const red = await NodeRedProcess.start({
          ...common,
          directory: join(directory, "node-red"),
          brokerPort: broker.port,
        });
        endings.push(() => red.stop());
        await sleep(1500);
        return { program: red, counter };
      },
    });
  } finally {
    for (const end of endings.reverse()) await end();
  }
}

/** One line of the table. */
export interface Row {
  /** Number of the target. */
  readonly target: string;
  readonly what: string;
  readonly measured: number;
  readonly limit: number;
  /** At most the limit, or at least it. */
  readonly sense: "<=" | ">=";
  readonly digits?: number;
  readonly unit?: string;
  readonly note?: string;
}

export interface Outcome {
  readonly rows: readonly Row[];
  /** The figures behind the ratios. */
  readonly raw: unknown;
}
