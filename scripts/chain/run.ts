/**
 * The whole chain under faults: simulated gateways → agents → broker → collectors → PostgreSQL. Every fault is injected at least once, in random order,
 * and again until the time is over. At the end every reading that a gateway served is looked up in the database by its id.
 *
 *   npm run build && node --import tsx scripts/chain/run.ts [--broker mosquitto|rabbitmq] [--nodes 3] [--seconds 60] [--boxes 3] [--collectors 2]
 *     [--seed 1] [--only "PART OF A FAULT'S NAME"] [--cells 1] [--database single|synchronous|asynchronous|balanced|pooled|restored]
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
import { startSimulator } from "../../src/simulator/server.ts";
import type { Simulator } from "../../src/simulator/simulator.ts";
import { Expectations } from "../chaos/expectation.ts";
import type { Relay } from "../chaos/relay.ts";
import {
  type CabledBroker,
  cabledMosquitto,
  cabledRabbitmq,
  openRelay,
  queueStands,
} from "./brokers.ts";
import {
  type CabledDatabase,
  DATABASES,
  type DatabaseKind,
  type Fault,
  openDatabase,
} from "./databases.ts";
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
    cells: { type: "string", default: "1" },
    database: { type: "string", default: "single" },
  },
});
const kind = DATABASES.find((one) => one === given.database);
/** After the last fault everything must have arrived within this time, ms. */
const SETTLE_MS = 300_000;
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
  try {
    const database = await openDatabase(kind, {
      disk,
      names: cells.map(({ name }) => name),
      random,
    });
    endings.push(() => database.close());
    const broker =
      given.broker === "rabbitmq"
        ? await cabledRabbitmq(Number(given.nodes), random)
        : await cabledMosquitto();
    endings.push(() => broker.close());
    const collectors = cells.flatMap(({ prefix, name }) =>
      Array.from({ length: Number(given.collectors) }, () => {
        const words = ["--from", broker.from, "--to", database.to(name), "--prefix", prefix];
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
    ];
    const counts = await inflict(faults, random);
    return await verdict(database, simulators, counts);
  } finally {
    for (const end of endings.reverse()) await end();
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
      site: siteOf(box),
      home: join(directory, `box${box}`),
      brokerUrl: broker.boxUrl,
      env: {
        ...broker.boxEnv,
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

/** A reading as it stands in a database. */
interface Stored {
  readonly site: string;
  readonly sensor: string;
  readonly kind: string;
  readonly units: string;
  count: number;
}

/** Waits until everything shown so far has arrived, then compares. */
async function verdict(
  database: CabledDatabase,
  simulators: readonly Simulator[],
  faults: ReadonlyMap<string, number>,
): Promise<number> {
  const expectations = simulators.map((simulator) => new Expectations(simulator, 0));
  const must = new Map(
    expectations.flatMap((expectation, box) =>
      [...expectation.now().must.keys()].map((id) => [id, box]),
    ),
  );
  const deadline = Date.now() + SETTLE_MS;
  let stored = await storedIn(database);
  const missing = () => [...must.keys()].filter((id) => !stored.has(id));
  const unexplained = () => missing().filter((id) => !database.mayBeGone.has(id));
  while (unexplained().length > 0 && Date.now() < deadline) {
    await sleep(1000);
    stored = await storedIn(database);
  }
  const may = new Map(
    expectations.flatMap((expectation, box) =>
      [...expectation.now().may].map(([id, wanted]) => [id, { ...wanted, site: siteOf(box) }]),
    ),
  );
  const invented = [...stored.keys()].filter((id) => !may.has(id)).length;
  const doubled = [...stored.values()].filter(({ count }) => count > 1).length;
  const misplaced = [...stored].filter(([id, { site, sensor, kind: of }]) => {
    const wanted = may.get(id);
    return (
      wanted !== undefined &&
      [wanted.site, wanted.sensor, wanted.kind].join() !== [site, sensor, of].join()
    );
  }).length;
  // Nothing changes units during a run: a stream that has two has taken another's.
  const unitsOf = new Map<string, Set<string>>();
  for (const { site, sensor, kind: of, units } of stored.values()) {
    const stream = [site, sensor, of].join();
    unitsOf.set(stream, (unitsOf.get(stream) ?? new Set()).add(units));
  }
  const otherUnits = [...unitsOf.values()].filter(({ size }) => size > 1).length;
  for (const [name, count] of faults)
    process.stdout.write(`${String(count).padStart(4)} × ${name}\n`);
  const lost = unexplained().length;
  const byDatabase = missing().length - lost;
  process.stdout.write(
    `${given.broker}, database ${given.database}, cells ${cells.length}, boxes ${simulators.length}, readings served ${must.size}, in the database ${stored.size}: lost by the database itself ${byDatabase}, lost ${lost}, duplicated ${doubled}, invented ${invented}, wrong sensor ${misplaced}, wrong unit ${otherUnits}\n`,
  );
  return lost + doubled + invented + misplaced + otherUnits === 0 ? 0 : 1;
}

async function storedIn(database: CabledDatabase): Promise<Map<string, Stored>> {
  const stored = new Map<string, Stored>();
  for (const { name } of cells) {
    const rows = await ask<Stored & { id: string }>(
      database.url(name),
      "SELECT id, site, sensor, kind, units::text AS units, 1 AS count FROM reading",
    );
    for (const row of rows) {
      const known = stored.get(row.id);
      if (known === undefined) stored.set(row.id, row);
      else known.count += 1;
    }
  }
  return stored;
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
