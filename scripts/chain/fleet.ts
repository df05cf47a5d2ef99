/**
 * A fleet writing to one database: thin boxes, which publish as agents do, and some real agents → RabbitMQ (a cluster, quorum queue, MQTT plug-in) or
 * mosquitto → k collectors → PostgreSQL. A backlog is drained, then readings arrive at the fleet's normal rate: for each k, then with more and more
 * readings already stored, then with other settings of PostgreSQL. At the end every reading that was acknowledged to a box is looked up by its id.
 *
 *   npm run build && node --import tsx scripts/chain/fleet.ts [--broker rabbitmq|mosquitto] [--nodes 3] [--boxes 1000] [--agents 10]
 *     [--collectors 1,2,4] [--stored 5000000,20000000] [--stored-collectors 2] [--knob "synchronous_commit = off"]... [--backlog 40000]
 *     [--rate 833] [--seconds 20] [--arrivals 100]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startSimulator } from "../../src/simulator/server.ts";
import type { Simulator } from "../../src/simulator/simulator.ts";
import { startMosquitto } from "../../test/support/mosquitto.ts";
import { openPostgres, type Postgres } from "../../test/support/postgres.ts";
import { openRabbitmqCluster } from "../../test/support/rabbitmq.ts";
import { queueStands } from "./brokers.ts";
import { Fleet } from "./fleet-boxes.ts";
import { NewRows, realCount } from "./new-rows.ts";
import { Preload } from "./preload.ts";
import { ask, createAgent, Kept, program, treeCpuMs } from "./processes.ts";
import { createThinBox, plantTemplates } from "./thin-boxes.ts";

const { values: given } = parseArgs({
  options: {
    broker: { type: "string", default: "rabbitmq" },
    nodes: { type: "string", default: "3" },
    boxes: { type: "string", default: "1000" },
    agents: { type: "string", default: "10" },
    collectors: { type: "string", default: "1,2,4" },
    stored: { type: "string", default: "" },
    "stored-collectors": { type: "string", default: "2" },
    knob: { type: "string", multiple: true, default: [] },
    backlog: { type: "string", default: "40000" },
    rate: { type: "string", default: "833" },
    seconds: { type: "string", default: "20" },
    arrivals: { type: "string", default: "100" },
  },
});
/** Sensors of a thin box. */
const SENSORS = 50;
/** Between two stored readings of a stream, ms. */
const STEP_MS = 60_000;
/** Counted as lost if nothing has arrived for this long, ms. */
const ARRIVAL_MS = 60_000;
const isRabbitmq = given.broker === "rabbitmq";
const PARTS = ["collectors", "PostgreSQL", "broker"] as const;

const say = (text: string) => process.stdout.write(`${text}\n`);
const numbers = (list: string) => list.split(",").filter(Boolean).map(Number);

interface Broker {
  /** For boxes, over all nodes. */
  readonly mqttUrls: readonly string[];
  /** COLLECT_FROM. */
  readonly from: string;
  cpuMs(): number;
  close(): Promise<unknown>;
}

async function openBroker(): Promise<Broker> {
  if (!isRabbitmq) {
    const broker = await startMosquitto({
      receiveMaximum: 1000,
      config: ["max_queued_messages 0"],
    });
    return {
      mqttUrls: [broker.url],
      from: broker.url,
      cpuMs: () => treeCpuMs(broker.pid ?? 0),
      close: () => broker.close(),
    };
  }
  const nodes = await openRabbitmqCluster(Number(given.nodes));
  return {
    mqttUrls: nodes.map(({ mqttUrl }) => mqttUrl),
    from: nodes.map(({ amqpUrl }) => amqpUrl).join(","),
    cpuMs: () => nodes.reduce((sum, { pid }) => sum + (pid === undefined ? 0 : treeCpuMs(pid)), 0),
    close: () => Promise.all(nodes.map((node) => node.close())),
  };
}

/** What a run consists of, once it is set up. */
interface Stand {
  readonly fleet: Fleet;
  readonly rows: NewRows;
  readonly url: string;
  readonly postgres: Postgres;
  readonly broker: Broker;
}

/** Waits until everything acknowledged to thin boxes is stored. */
async function arrived({ fleet, rows }: Stand): Promise<void> {
  let last = -1;
  let lastAt = Date.now();
  for (;;) {
    const count = await rows.count();
    if (count >= fleet.delivered.size) return;
    if (count !== last) lastAt = Date.now();
    last = count;
    if (Date.now() - lastAt > ARRIVAL_MS) {
      const whole = await rows.count(true);
      if (whole >= fleet.delivered.size) return;
      throw new Error(`only ${whole} of ${fleet.delivered.size} have arrived`);
    }
    await sleep(250);
  }
}

/** The collectors of a phase. They keep running over phases with the same number, so that they look streams up only once. */
class Collectors {
  readonly #stand: Stand;
  #kept: Kept[] = [];

  constructor(stand: Stand) {
    this.#stand = stand;
  }

  get pids(): readonly number[] {
    return this.#kept.map(({ pid }) => pid);
  }

  async be(k: number, messages: number): Promise<void> {
    if (this.#kept.length === k) return;
    await this.end("SIGTERM");
    const { broker, url, fleet } = this.#stand;
    this.#kept = Array.from(
      { length: k },
      () => new Kept(() => program(["collect"], { COLLECT_FROM: broker.from, COLLECT_TO: url })),
    );
    // Each looks up the streams that it sees for the first time.
    await fleet.burst(messages);
    await arrived(this.#stand);
  }

  /** While stopped, they keep what they know and receive nothing. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    for (const pid of this.pids) process.kill(pid, signal);
  }

  async end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    if (signal === "SIGKILL") this.signal("SIGCONT");
    await Promise.all(this.#kept.map((kept) => kept.end(signal)));
    this.#kept = [];
  }
}

/** Drains a backlog, then receives readings at the fleet's rate; one line of the table. */
async function measure(
  stand: Stand,
  collectors: Collectors,
  stored: number,
  note: string,
): Promise<void> {
  const { fleet, rows, url, postgres, broker } = stand;
  collectors.signal("SIGSTOP");
  const publishing = broker.cpuMs();
  const published = await fleet.burst(Number(given.backlog));
  const publishUs = ((broker.cpuMs() - publishing) * 1000) / Number(given.backlog);
  const total = async () => (await rows.count()) + (await realCount(url));
  const costs = () => ({
    collectors: collectors.pids.reduce((sum, pid) => sum + treeCpuMs(pid), 0),
    PostgreSQL: treeCpuMs(postgres.pid),
    broker: broker.cpuMs(),
  });
  const before = await total();
  const begun = costs();
  const draining = performance.now();
  collectors.signal("SIGCONT");
  await arrived(stand);
  const seconds = (performance.now() - draining) / 1000;
  const ended = costs();
  // Including those of the real agents, which arrive in the meantime.
  const drained = (await total()) - before;
  const us = PARTS.map((part) => Math.round(((ended[part] - begun[part]) * 1000) / drained));
  const sinceMs = Date.now();
  const paced = await fleet.pace(Number(given.rate), Number(given.seconds));
  await arrived(stand);
  const { p50, p99 } = await rows.delays(sinceMs);
  say(
    `| ${stored} | ${collectors.pids.length}${note} | ${Math.round(published)} (${Math.round(publishUs)} µs) | ${Math.round(drained / seconds)} | ${us.join(" | ")} | ${Math.round(paced)} | ${p50} / ${p99} |`,
  );
}

async function startAgents(directory: string, broker: Broker) {
  const simulators: Simulator[] = [];
  const agents: Kept[] = [];
  for (let n = 0; n < Number(given.agents); n++) {
    const simulator = await startSimulator({
      sensors: 4,
      seed: 500 + n,
      zone: "UTC",
      historyDays: 1,
    });
    simulators.push(simulator);
    agents.push(
      createAgent({
        simulator,
        site: `real-${n}`,
        home: join(directory, `real-${n}`),
        brokerUrl: broker.mqttUrls.join(","),
        env: { POLL_INTERVAL_S: "10", ...(isRabbitmq ? { MQTT_VERSION: "4" } : {}) },
      }),
    );
  }
  return { simulators, agents };
}

/** The queue, or the group's subscription, must exist before the first message. */
async function subscribe(url: string, broker: Broker): Promise<void> {
  const first = new Kept(() =>
    program(["collect"], { COLLECT_FROM: broker.from, COLLECT_TO: url }),
  );
  if (isRabbitmq) await queueStands(broker.from.split(",")[0] ?? "");
  else {
    const sql = "SELECT 1 FROM collector_session";
    while ((await ask(url, sql).catch(() => [])).length === 0) await sleep(100);
    // The name is taken a moment before the subscription is granted.
    await sleep(3000);
  }
  await first.end("SIGTERM");
}

async function main(): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), "gateside-fleet-"));
  const plant = await plantTemplates(SENSORS);
  const streams = plant.streams.length;
  const boxes = Array.from({ length: Number(given.boxes) }, (_, n) =>
    createThinBox(plant, `thin-${n}`, `${Date.now()}`),
  );
  const postgres = await openPostgres({
    isDurable: true,
    config: [
      "shared_buffers = 1GB",
      "max_wal_size = 4GB",
      "wal_compression = on",
      "track_commit_timestamp = on",
    ],
  });
  const ends: (() => unknown)[] = [
    () => rmSync(directory, { recursive: true, force: true }),
    () => postgres.close(),
  ];
  try {
    const broker = await openBroker();
    ends.push(() => broker.close());
    const url = await postgres.createDatabase("fleet");
    await subscribe(url, broker);
    const preload = new Preload(url, { boxes, streams, stepMs: STEP_MS, untilMs: Date.now() });
    let stored = await preload.upTo(1);
    const fleet = new Fleet(isRabbitmq ? 4 : 5);
    ends.push(() => fleet.close());
    const { seconds, refused } = await fleet.connect(
      boxes,
      broker.mqttUrls,
      Number(given.arrivals),
    );
    const refusals = [...refused].map(([text, count]) => `${count} × ${text}`).join(", ");
    say(
      `${boxes.length} thin boxes of ${streams} sensors and kinds connected in ${seconds.toFixed(1)} s, refused: ${refusals || "none"}`,
    );
    const { simulators, agents } = await startAgents(directory, broker);
    ends.push(() => Promise.all(simulators.map((simulator) => simulator.close())));
    ends.push(() => Promise.all(agents.map((kept) => kept.end("SIGKILL"))));
    const rows = new NewRows(url);
    await rows.mark();
    const stand: Stand = { fleet, rows, url, postgres, broker };
    const collectors = new Collectors(stand);
    ends.push(() => collectors.end("SIGKILL"));
    say(
      `| stored before | k | published/s (broker's CPU) | drained/s | ${PARTS.map((part) => `${part}, µs`).join(" | ")} | steady/s | delay p50 / p99, ms |`,
    );
    say(`|${" --- |".repeat(6 + PARTS.length)}`);
    const warm = boxes.length * streams;
    for (const k of numbers(given.collectors)) {
      await collectors.be(k, warm);
      await measure(stand, collectors, stored, "");
    }
    const k = Number(given["stored-collectors"]);
    for (const wanted of numbers(given.stored)) {
      stored = await preload.upTo(wanted);
      await collectors.be(k, warm);
      await measure(stand, collectors, stored, "");
    }
    for (const knob of given.knob) {
      await collectors.be(k, warm);
      await ask(url, `ALTER SYSTEM SET ${knob}`);
      await ask(url, "SELECT pg_reload_conf()");
      await measure(stand, collectors, stored, `, ${knob}`);
      await ask(url, "ALTER SYSTEM RESET ALL");
      await ask(url, "SELECT pg_reload_conf()");
    }
    return await verdict(stand);
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

/** Compares by id what was acknowledged to a box with what is in the database. */
async function verdict({ fleet, rows, url }: Stand): Promise<number> {
  const stored = await rows.ids();
  const lost = [...fleet.delivered].filter((id) => !stored.has(id)).length;
  const invented = [...stored.keys()].filter((id) => !fleet.delivered.has(id)).length;
  const doubled = [...stored.values()].filter((count) => count > 1).length;
  const [rejected] = await ask<{ n: string }>(url, "SELECT count(*) AS n FROM rejected");
  say(
    `readings of thin boxes ${fleet.delivered.size}, of real agents ${await realCount(url)}: lost ${lost}, duplicated ${doubled}, invented ${invented}, rejected ${rejected?.n}`,
  );
  return lost + doubled + invented + Number(rejected?.n) === 0 ? 0 : 1;
}

process.exitCode = await main();
