/**
 * The whole chain under faults: simulated gateways → agents → broker → collectors → PostgreSQL. Every fault is injected at least once, in random order,
 * and again until the time is over. At the end every reading that a gateway served is looked up in the database by its id.
 *
 *   npm run build && node --import tsx scripts/chain/run.ts [--broker mosquitto|rabbitmq] [--nodes 3] [--seconds 60] [--boxes 3] [--collectors 2]
 *     [--seed 1] [--only "PART OF A FAULT'S NAME"] [--faults N] [--harm] [--cells 1] [--database single|synchronous|asynchronous|balanced|pooled|restored|patroni|patroni-synchronous]
 *
 * As root, PostgreSQL gets a small file system of its own, which one of the faults fills. With several cells, each has its own prefix, collectors and
 * database over one broker.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { DAY_MS, MINUTE_MS } from "../../src/core/time-units.ts";
import { startSimulator } from "../../src/simulator/server.ts";
import type { Simulator } from "../../src/simulator/simulator.ts";
import type { Relay } from "../chaos/relay.ts";
import {
  type CabledBroker,
  cabledMosquitto,
  cabledRabbitmq,
  openRelay,
  queueStands,
} from "./brokers.ts";
import type { CabledDatabase, Fault } from "./cabled-database.ts";
import { DATABASES, type DatabaseKind, openDatabase } from "./databases.ts";
import { harmFaults } from "./harm.ts";
import { ask, createAgent, Kept, program } from "./processes.ts";
import { judge, type Verdict } from "./verdict.ts";

const { values: given } = parseArgs({
  options: {
    broker: { type: "string", default: "mosquitto" },
    nodes: { type: "string", default: "3" },
    seconds: { type: "string", default: "60" },
    boxes: { type: "string", default: "3" },
    collectors: { type: "string", default: "2" },
    seed: { type: "string", default: "1" },
    only: { type: "string" },
    cells: { type: "string", default: "1" },
    database: { type: "string", default: "single" },
    /** Boxes have the rights that deploy/ ships, and one of them uses its own against the others; poison, dropped tables. */
    harm: { type: "boolean", default: false },
    /** So many, drawn by the seed; all by default. */
    faults: { type: "string" },
  },
});
const kind = DATABASES.find((one) => one === given.database);
/** PostgreSQL's file system: a cluster, its log and some room. */
const DISK_BYTES = 400 << 20;

/** A prefix with its own database. */
interface Cell {
  readonly prefix: string;
  readonly name: string;
}
const cells = Array.from(
  { length: Number(given.cells) },
  (_, n): Cell => ({ prefix: n === 0 ? "gateside" : `cell-${n}`, name: `chain${n}` }),
);

/** A small seeded generator, so that a campaign can be repeated. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A file system of its own, or null if this user may not mount one. */
function mountDisk(directory: string): string | null {
  if (process.getuid?.() !== 0) return null;
  const disk = join(directory, "disk");
  mkdirSync(disk);
  const { status } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${DISK_BYTES}`, "tmpfs", disk]);
  return status === 0 ? disk : null;
}

/** The relay drops all bytes for a while, or refuses connections. */
async function cut(cables: readonly Relay[], isSilent: boolean, ms: number): Promise<void> {
  for (const cable of cables)
    if (isSilent) cable.silence();
    else cable.shut();
  await sleep(ms);
  for (const cable of cables)
    if (isSilent) cable.heal();
    else cable.open();
}

async function main(kind: DatabaseKind): Promise<number> {
  const random = seeded(Number(given.seed));
  const directory = mkdtempSync(join(tmpdir(), "gateside-chain-"));
  chmodSync(directory, 0o755);
  const disk = mountDisk(directory);
  const endings: (() => unknown)[] = [
    () => rmSync(directory, { recursive: true, force: true }),
    () => disk && spawnSync("umount", ["-l", disk]),
  ];
  const end = async () => {
    for (const one of endings.splice(0).reverse()) await one();
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => void end().finally(() => process.exit(1)));
  try {
    const database = await openDatabase(kind, {
      disk,
      names: cells.map(({ name }) => name),
      random,
    });
    endings.push(() => database.close());
    const broker =
      given.broker === "rabbitmq"
        ? await cabledRabbitmq(Number(given.nodes), random, given.harm)
        : await cabledMosquitto(given.harm);
    endings.push(() => broker.close());
    const collectors = cells.flatMap(({ prefix, name }) =>
      Array.from({ length: Number(given.collectors) }, () => {
        const words = ["--from", broker.from, "--to", database.to(name), "--prefix", prefix];
        if (given.harm) words.push("--keep-days", "35");
        return new Kept(() => program(["collect", ...words]));
      }),
    );
    endings.push(() => Promise.all(collectors.map((kept) => kept.end("SIGKILL"))));
    for (const cell of cells) await subscribed(database, broker, cell);
    const { simulators, agents, gatewayCables } = await startBoxes(broker, directory, endings);
    const faults: Fault[] = [
      ...processFaults(agents, collectors, random),
      ...broker.faults,
      ...database.faults,
      ...cableFaults(gatewayCables, broker, database, random),
      ...(given.harm ? harmOf(broker, database, collectors, random) : []),
    ];
    const counts = await inflict(faults, random);
    progress("comparing");
    const boxes = simulators.map((simulator, box) => ({ simulator, site: siteOf(box) }));
    const names = cells.map(({ name }) => name);
    return report(await judge(database, names, boxes), counts, simulators.length);
  } finally {
    await end();
  }
}

/** The collectors' queue or subscription must exist before the first message: brokers keep nothing for an unknown group. */
async function subscribed(
  database: CabledDatabase,
  broker: CabledBroker,
  { name, prefix }: Cell,
): Promise<void> {
  if (given.broker !== "rabbitmq")
    return until(
      database.url(name),
      "SELECT count(*) FROM collector_session",
      Number(given.collectors),
    );
  const queue = `gateside-collect-gateside${prefix === "gateside" ? "" : `-${prefix}`}`;
  await queueStands(broker.from.split(",")[0] ?? "", queue);
}

const siteOf = (box: number) => `plant-${box}`;
function cellOf(box: number): Cell {
  const cell = cells[box % cells.length];
  if (cell === undefined) throw new Error("no cells");
  return cell;
}

async function startBoxes(broker: CabledBroker, directory: string, endings: (() => unknown)[]) {
  const simulators: Simulator[] = [];
  const agents: Kept[] = [];
  const gatewayCables: Relay[] = [];
  for (let box = 0; box < Number(given.boxes); box++) {
    const simulator = await startSimulator({
      sensors: 4,
      seed: 100 + box,
      zone: "UTC",
      speed: 20,
      historyDays: 1,
      // A young day, whatever the hour: what counts is what is read while things break.
      startMs: Math.floor(Date.now() / DAY_MS) * DAY_MS + 10 * MINUTE_MS,
      waveform: { samples: 1024 },
    });
    endings.push(() => simulator.close());
    simulators.push(simulator);
    const cable = await openRelay(simulator.port);
    endings.push(() => cable.close());
    gatewayCables.push(cable);
    const agent = createAgent({
      simulator,
      site: siteOf(box),
      home: join(directory, `box${box}`),
      brokerUrl: broker.boxUrl,
      env: {
        ...broker.boxEnv(siteOf(box), cellOf(box).prefix),
        MQTT_TOPIC_PREFIX: cellOf(box).prefix,
        GATEWAY_URL: simulator.url.replace(`:${simulator.port}`, `:${new URL(cable.url).port}`),
      },
    });
    endings.push(() => agent.end("SIGKILL"));
    agents.push(agent);
  }
  return { simulators, agents, gatewayCables };
}

function processFaults(
  agents: readonly Kept[],
  collectors: readonly Kept[],
  random: () => number,
): Fault[] {
  const pick = (list: readonly Kept[]) => list[Math.floor(random() * list.length)];
  return [
    ["kill -9 of an agent", async () => pick(agents)?.kill()],
    ["kill -9 of a collector", async () => pick(collectors)?.kill()],
    ["kill -9 of all collectors", () => Promise.all(collectors.map((c) => c.kill()))],
  ];
}

function cableFaults(
  gateways: readonly Relay[],
  broker: CabledBroker,
  database: CabledDatabase,
  random: () => number,
): Fault[] {
  const hops: [string, readonly Relay[]][] = [
    ["gateway and agent", gateways],
    ["agent and broker", broker.boxCables],
    ["broker and collector", broker.collectorCables],
    ["collector and PostgreSQL", database.cables],
  ];
  const cuts = hops.map(
    ([hop, cables]): Fault => [
      `network cut between ${hop}`,
      () => cut(cables, random() < 0.5, 1000 + random() * 5000),
    ],
  );
  return [
    ...cuts,
    ["all boxes back at once after 15 s", () => cut(broker.boxCables, false, 15_000)],
  ];
}

const startedMs = performance.now();
/** What is done when, to standard error. */
function progress(what: string): void {
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(0);
  process.stderr.write(`${seconds.padStart(5)} s  ${what}\n`);
}

/** Rounds of every fault in random order until the time is over, at least one. Returns how often each was injected. */
async function inflict(
  faults: readonly Fault[],
  random: () => number,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const named = faults.filter(([name]) => given.only === undefined || name.includes(given.only));
  const drawn = [...named].sort(() => random() - 0.5);
  const chosen = given.faults === undefined ? drawn : drawn.slice(0, Number(given.faults));
  const endAt = Date.now() + Number(given.seconds) * 1000;
  do {
    const round = [...chosen].sort(() => random() - 0.5);
    for (const [name, act] of round) {
      if (counts.size === chosen.length && Date.now() > endAt) break;
      await sleep(1500 + random() * 3500);
      progress(name);
      await act();
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  } while (Date.now() < endAt);
  return counts;
}

function harmOf(
  broker: CabledBroker,
  database: CabledDatabase,
  collectors: readonly Kept[],
  random: () => number,
): Fault[] {
  return cells.flatMap((cell) => {
    const all = Array.from({ length: Number(given.boxes) }, (_, box) => box);
    const victims = all.filter((box) => cellOf(box) === cell).map(siteOf);
    return harmFaults(broker, database, cell, victims, collectors, random);
  });
}

/** Prints what was done and what came of it; the exit code. */
function report(verdict: Verdict, faults: ReadonlyMap<string, number>, boxes: number): number {
  const { lost, doubled, invented, wrongSensor, wrongUnit, changed, wrongHours } = verdict;
  for (const [name, count] of faults)
    process.stdout.write(`${String(count).padStart(4)} × ${name}\n`);
  process.stdout.write(
    `${given.broker}, database ${given.database}, cells ${cells.length}, boxes ${boxes}, readings served ${verdict.served}, in the database ${verdict.stored}: lost by the database itself ${verdict.byDatabase}, lost ${lost}, doubled ${doubled}, invented ${invented}, wrong sensor ${wrongSensor}, wrong unit ${wrongUnit}, changed ${changed}, wrong hours ${wrongHours}\n`,
  );
  const wrong = [lost, doubled, invented, wrongSensor, wrongUnit, changed, wrongHours];
  return wrong.every((count) => count === 0) ? 0 : 1;
}

async function until(url: string, sql: string, wanted: number): Promise<void> {
  for (;;) {
    const rows = await ask<{ count: string }>(url, sql).catch(() => []);
    if (Number(rows[0]?.count) === wanted) return;
    await sleep(100);
  }
}

if (kind === undefined) throw new Error(`--database is one of ${DATABASES.join(", ")}`);
process.exitCode = await main(kind);
