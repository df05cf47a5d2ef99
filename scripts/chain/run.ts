/**
 * The whole chain under faults: simulated gateways → agents → broker → collectors → PostgreSQL. Every fault is injected at least once, in random order,
 * and again until the time is over. At the end every reading that a gateway served is looked up in the database by its id.
 *
 *   npm run build && node --import tsx scripts/chain/run.ts [--broker mosquitto|rabbitmq] [--nodes 3] [--seconds 60] [--boxes 3] [--collectors 2]
 *     [--seed 1] [--only "PART OF A FAULT'S NAME"]
 *
 * As root, PostgreSQL gets a small file system of its own, which one of the faults fills.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startSimulator } from "../../src/simulator/server.ts";
import type { Simulator } from "../../src/simulator/simulator.ts";
import { openPostgres, type Postgres } from "../../test/support/postgres.ts";
import { Expectations } from "../chaos/expectation.ts";
import type { Relay } from "../chaos/relay.ts";
import {
  type CabledBroker,
  cabledMosquitto,
  cabledRabbitmq,
  openRelay,
  queueStands,
} from "./brokers.ts";
import { ask, createAgent, Kept, program } from "./processes.ts";

const { values: given } = parseArgs({
  options: {
    broker: { type: "string", default: "mosquitto" },
    nodes: { type: "string", default: "3" },
    seconds: { type: "string", default: "60" },
    boxes: { type: "string", default: "3" },
    collectors: { type: "string", default: "2" },
    seed: { type: "string", default: "1" },
    only: { type: "string" },
  },
});
/** After the last fault everything must have arrived within this time, ms. */
const SETTLE_MS = 300_000;
/** PostgreSQL's file system: a cluster, its log and some room. */
const DISK_BYTES = 400 << 20;

type Fault = readonly [string, () => Promise<unknown>];

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

async function fillDisk(disk: string, postgres: Postgres, ms: number): Promise<void> {
  const ballast = join(disk, "ballast");
  const { bavail, bsize } = statfsSync(disk);
  spawnSync("dd", [
    "if=/dev/zero",
    `of=${ballast}`,
    "bs=1M",
    `count=${Math.ceil((bavail * bsize) / 2 ** 20)}`,
  ]);
  await sleep(ms);
  rmSync(ballast);
  // Without room for its log, PostgreSQL exits.
  if (!postgres.isRunning) postgres.start();
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

async function main(): Promise<number> {
  const random = seeded(Number(given.seed));
  const directory = mkdtempSync(join(tmpdir(), "gateside-chain-"));
  chmodSync(directory, 0o755);
  const disk = mountDisk(directory);
  const endings: (() => unknown)[] = [
    () => rmSync(directory, { recursive: true, force: true }),
    () => disk && spawnSync("umount", ["-l", disk]),
  ];
  try {
    const postgres = await openPostgres({
      isDurable: true,
      config: ["max_wal_size = 64MB", "min_wal_size = 32MB"],
      ...(disk === null ? {} : { below: disk }),
    });
    endings.push(() => postgres.close());
    const broker =
      given.broker === "rabbitmq"
        ? await cabledRabbitmq(Number(given.nodes), random)
        : await cabledMosquitto();
    endings.push(() => broker.close());
    const url = await postgres.createDatabase("chain");
    const databaseCable = await openRelay(postgres.port);
    endings.push(() => databaseCable.close());
    const to = url.replace(`:${postgres.port}`, `:${new URL(databaseCable.url).port}`);
    const collectors = Array.from(
      { length: Number(given.collectors) },
      () => new Kept(() => program(["collect", "--from", broker.from, "--to", to])),
    );
    endings.push(() => Promise.all(collectors.map((kept) => kept.end("SIGKILL"))));
    await subscribed(url, broker);
    const { simulators, agents, gatewayCables } = await startBoxes(broker, directory, endings);
    const faults: Fault[] = [
      ...processFaults(agents, collectors, postgres, random),
      ...broker.faults,
      ...cableFaults(gatewayCables, broker, databaseCable, random),
    ];
    if (disk !== null)
      faults.push([
        "full disk of PostgreSQL",
        () => fillDisk(disk, postgres, 3000 + random() * 4000),
      ]);
    const counts = await inflict(faults, random);
    return await verdict(url, simulators, counts);
  } finally {
    for (const end of endings.reverse()) await end();
  }
}

/** The collectors' queue or subscription must exist before the first message: brokers keep nothing for an unknown group. */
async function subscribed(url: string, broker: CabledBroker): Promise<void> {
  if (given.broker !== "rabbitmq")
    return until(url, "SELECT count(*) FROM collector_session", Number(given.collectors));
  await queueStands(broker.from.split(",")[0] ?? "");
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
      speed: 5,
      historyDays: 1,
    });
    endings.push(() => simulator.close());
    simulators.push(simulator);
    const cable = await openRelay(simulator.port);
    endings.push(() => cable.close());
    gatewayCables.push(cable);
    const agent = createAgent({
      simulator,
      site: `plant-${box}`,
      home: join(directory, `box${box}`),
      brokerUrl: broker.boxUrl,
      env: {
        ...broker.boxEnv,
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
  postgres: Postgres,
  random: () => number,
): Fault[] {
  const pick = (list: readonly Kept[]) => list[Math.floor(random() * list.length)];
  return [
    ["kill -9 of an agent", async () => pick(agents)?.kill()],
    ["kill -9 of a collector", async () => pick(collectors)?.kill()],
    ["kill -9 of all collectors", () => Promise.all(collectors.map((c) => c.kill()))],
    [
      "crash of PostgreSQL",
      async () => {
        postgres.crash();
        await sleep(500 + random() * 2500);
        postgres.start();
      },
    ],
    [
      "restart of PostgreSQL",
      async () => {
        postgres.stop();
        postgres.start();
      },
    ],
  ];
}

function cableFaults(
  gateways: readonly Relay[],
  broker: CabledBroker,
  database: Relay,
  random: () => number,
): Fault[] {
  const hops: [string, readonly Relay[]][] = [
    ["gateway and agent", gateways],
    ["agent and broker", broker.boxCables],
    ["broker and collector", broker.collectorCables],
    ["collector and PostgreSQL", [database]],
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

/** Rounds of every fault in random order until the time is over, at least one. Returns how often each was injected. */
async function inflict(
  faults: readonly Fault[],
  random: () => number,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const chosen = faults.filter(([name]) => given.only === undefined || name.includes(given.only));
  const endAt = Date.now() + Number(given.seconds) * 1000;
  do {
    const round = [...chosen].sort(() => random() - 0.5);
    for (const [name, act] of round) {
      if (counts.size === chosen.length && Date.now() > endAt) break;
      await sleep(1500 + random() * 3500);
      await act();
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  } while (Date.now() < endAt);
  return counts;
}

/** Waits until everything shown so far has arrived, then compares. */
async function verdict(
  url: string,
  simulators: readonly Simulator[],
  faults: ReadonlyMap<string, number>,
): Promise<number> {
  const expectations = simulators.map((simulator) => new Expectations(simulator, 0));
  const must = new Set(expectations.flatMap((expectation) => [...expectation.now().must.keys()]));
  const deadline = Date.now() + SETTLE_MS;
  let stored = await idsOf(url);
  const missing = () => [...must].filter((id) => !stored.has(id));
  while (missing().length > 0 && Date.now() < deadline) {
    await sleep(1000);
    stored = await idsOf(url);
  }
  const may = new Set(expectations.flatMap((expectation) => [...expectation.now().may.keys()]));
  const lost = missing().length;
  const invented = [...stored.keys()].filter((id) => !may.has(id)).length;
  const doubled = [...stored.values()].filter((count) => count > 1).length;
  for (const [name, count] of faults)
    process.stdout.write(`${String(count).padStart(4)} × ${name}\n`);
  process.stdout.write(
    `${given.broker}, boxes ${simulators.length}, readings served ${must.size}, in the database ${stored.size}: lost ${lost}, duplicated ${doubled}, invented ${invented}\n`,
  );
  return lost + doubled + invented === 0 ? 0 : 1;
}

async function idsOf(url: string): Promise<Map<string, number>> {
  const rows = await ask<{ id: string; count: string }>(
    url,
    "SELECT id, count(*) FROM reading GROUP BY id",
  );
  return new Map(rows.map(({ id, count }) => [id, Number(count)]));
}

async function until(url: string, sql: string, wanted: number): Promise<void> {
  for (;;) {
    const rows = await ask<{ count: string }>(url, sql).catch(() => []);
    if (Number(rows[0]?.count) === wanted) return;
    await sleep(100);
  }
}

process.exitCode = await main();
