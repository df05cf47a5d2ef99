/**
 * A fleet into one database: thin boxes, which speak as agents do, and some real agents → RabbitMQ (a cluster, quorum queue, MQTT plug-in) or
 * mosquitto → k collectors → PostgreSQL. For each k a backlog is drained, then readings come at the fleet's own pace; at the end every
 * reading that was acknowledged to a box is looked for by its id.
 *
 *   npm run build && node --import tsx scripts/chain/fleet.ts [--broker rabbitmq|mosquitto] [--nodes 3] [--boxes 1000] [--agents 10]
 *     [--collectors 1,2,4] [--backlog 20000] [--rate 833] [--seconds 20]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import mqtt, { type IClientOptions, type MqttClient } from "mqtt";
import { startSimulator } from "../../src/simulator/server.ts";
import type { Simulator } from "../../src/simulator/simulator.ts";
import { startMosquitto } from "../../test/support/mosquitto.ts";
import { openPostgres } from "../../test/support/postgres.ts";
import { openRabbitmqCluster } from "../../test/support/rabbitmq.ts";
import { queueStands } from "./brokers.ts";
import { ask, createAgent, Kept, program, treeCpuMs } from "./processes.ts";
import { createThinBox, plantTemplates, type ThinBox } from "./thin-boxes.ts";

const { values: given } = parseArgs({
  options: {
    broker: { type: "string", default: "rabbitmq" },
    nodes: { type: "string", default: "3" },
    boxes: { type: "string", default: "1000" },
    agents: { type: "string", default: "10" },
    collectors: { type: "string", default: "1,2,4" },
    backlog: { type: "string", default: "20000" },
    rate: { type: "string", default: "833" },
    seconds: { type: "string", default: "20" },
  },
});
/** Sensors of a thin box. */
const SENSORS = 50;
/** Messages of one box under way, as MQTT_INFLIGHT bounds an agent's. */
const INFLIGHT = 20;
const TICK_MS = 20;
const ARRIVAL_MS = 180_000;

interface Broker {
  /** For boxes, over all nodes. */
  readonly mqttUrls: readonly string[];
  /** COLLECT_FROM. */
  readonly from: string;
  cpuMs(): number;
  close(): Promise<unknown>;
}

async function openBroker(): Promise<Broker> {
  if (given.broker === "mosquitto") {
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

/** A node that has just started refuses for a while. */
async function connected(url: string, options: IClientOptions): Promise<MqttClient> {
  const deadline = Date.now() + ARRIVAL_MS;
  for (;;) {
    try {
      return await mqtt.connectAsync(url, options);
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(500);
    }
  }
}

interface Connected {
  readonly box: ThinBox;
  readonly client: MqttClient;
  underWay: number;
}

/** The thin boxes, each with a connection of its own, spread over the nodes. */
class Fleet {
  /** Acknowledged by the broker. */
  readonly delivered = new Set<string>();
  readonly #boxes: Connected[] = [];
  #turn = 0;

  async connect(boxes: readonly ThinBox[], urls: readonly string[]): Promise<void> {
    // A few at a time: what is measured is not who connects first.
    for (let at = 0; at < boxes.length; at += 25) {
      const some = boxes.slice(at, at + 25).map(async (box, n) => {
        const url = urls[(at + n) % urls.length] ?? "";
        const client = await connected(url, {
          // RabbitMQ 3.10 knows nothing newer.
          protocolVersion: given.broker === "mosquitto" ? 5 : 4,
          clientId: box.site,
          clean: false,
          keepalive: 120,
        });
        client.on("error", () => {});
        return { box, client, underWay: 0 };
      });
      this.#boxes.push(...(await Promise.all(some)));
    }
  }

  /** One reading of the next box that has room; false where none has. */
  send(): boolean {
    for (let tried = 0; tried < this.#boxes.length; tried++) {
      const entry = this.#boxes[this.#turn++ % this.#boxes.length];
      if (entry === undefined || entry.underWay >= INFLIGHT) continue;
      const { id, message } = entry.box.next(Date.now());
      entry.underWay += 1;
      entry.client.publish(
        message.topic,
        Buffer.from(message.payload),
        { qos: 1, retain: message.retain },
        (error) => {
          entry.underWay -= 1;
          if (!error) this.delivered.add(id);
        },
      );
      return true;
    }
    return false;
  }

  async settled(): Promise<void> {
    while (this.#boxes.some(({ underWay }) => underWay > 0)) await sleep(TICK_MS);
  }

  async close(): Promise<void> {
    await Promise.all(this.#boxes.map(({ client }) => client.endAsync(true)));
  }
}

/** Delay from the reading's time to its COMMIT, of readings since an instant, ms. */
async function delays(url: string, sinceMs: number): Promise<{ p50: number; p99: number }> {
  const since = new Date(sinceMs).toISOString();
  const tables = await ask<{ name: string }>(
    url,
    "SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE c.relname LIKE 'reading_%' AND c.relkind = 'r'",
  );
  const union = tables
    .map(
      ({ name }) =>
        `SELECT time, pg_xact_commit_timestamp(r.xmin) AS stored FROM ${name} r JOIN stream USING (stream) WHERE time >= '${since}' AND site LIKE 'thin-%'`,
    )
    .join(" UNION ALL ");
  const [row] = await ask<{ p50: number; p99: number }>(
    url,
    `SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS p50, percentile_cont(0.99) WITHIN GROUP (ORDER BY ms) AS p99
     FROM (SELECT extract(epoch FROM stored - time) * 1000 AS ms FROM (${union}) u) d`,
  );
  return { p50: Math.round(row?.p50 ?? 0), p99: Math.round(row?.p99 ?? 0) };
}

const storedOf = async (url: string) =>
  Number((await ask<{ n: string }>(url, "SELECT count(*) AS n FROM reading"))[0]?.n);

const countOf = async (url: string) =>
  Number(
    (await ask<{ n: string }>(url, "SELECT count(*) AS n FROM reading WHERE site LIKE 'thin-%'"))[0]
      ?.n,
  );

async function arrived(url: string, wanted: number): Promise<void> {
  const deadline = Date.now() + ARRIVAL_MS;
  while ((await countOf(url)) < wanted) {
    if (Date.now() > deadline)
      throw new Error(`only ${await countOf(url)} of ${wanted} have arrived`);
    await sleep(250);
  }
}

async function main(): Promise<number> {
  const say = (text: string) => process.stdout.write(`${text}\n`);
  const directory = mkdtempSync(join(tmpdir(), "gateside-fleet-"));
  const plant = await plantTemplates(SENSORS);
  const boxes = Array.from({ length: Number(given.boxes) }, (_, n) =>
    createThinBox(plant, `thin-${n}`, `${Date.now()}`),
  );
  const postgres = await openPostgres({
    isDurable: true,
    config: [
      "shared_buffers = 512MB",
      "max_wal_size = 4GB",
      "wal_compression = on",
      "track_commit_timestamp = on",
    ],
  });
  const broker = await openBroker();
  const url = await postgres.createDatabase("fleet");
  const fleet = new Fleet();
  const agents: Kept[] = [];
  const simulators: Simulator[] = [];
  let collectors: Kept[] = [];
  const collect = () =>
    new Kept(() => program(["collect"], { COLLECT_FROM: broker.from, COLLECT_TO: url }));
  try {
    // The queue, or the group's subscription, stands before the first message.
    const first = collect();
    collectors.push(first);
    if (given.broker === "rabbitmq") await queueStands(broker.from.split(",")[0] ?? "");
    else await subscribed(url);
    await first.end("SIGTERM");
    const connecting = performance.now();
    await fleet.connect(boxes, broker.mqttUrls);
    say(
      `${boxes.length} thin boxes connected in ${((performance.now() - connecting) / 1000).toFixed(1)} s`,
    );
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
          brokerUrl: broker.mqttUrls[n % broker.mqttUrls.length] ?? "",
          env: {
            POLL_INTERVAL_S: "10",
            ...(given.broker === "rabbitmq" ? { MQTT_VERSION: "4" } : {}),
          },
        }),
      );
    }
    for (const k of (given.collectors ?? "1").split(",").map(Number)) {
      const before = fleet.delivered.size;
      const filling = performance.now();
      for (let n = 0; n < Number(given.backlog); ) {
        if (fleet.send()) n += 1;
        else await sleep(1);
        if (n % 200 === 0) await sleep(0);
      }
      await fleet.settled();
      const filled = (performance.now() - filling) / 1000;
      const backlog = fleet.delivered.size - before;
      const stored = await countOf(url);
      collectors = Array.from({ length: k }, collect);
      // What the start of the programs costs is not the price of a reading.
      await arrived(url, before + 1);
      const costs = () => ({
        collectors: collectors.reduce((sum, { pid }) => sum + treeCpuMs(pid), 0),
        postgres: treeCpuMs(postgres.pid),
        broker: broker.cpuMs(),
      });
      const begun = costs();
      const storedBefore = await storedOf(url);
      const draining = performance.now();
      await arrived(url, fleet.delivered.size);
      const drained = (performance.now() - draining) / 1000;
      const ended = costs();
      // With those of the real agents, which come meanwhile.
      const left = (await storedOf(url)) - storedBefore;
      const us = (part: keyof typeof ended) =>
        Math.round(((ended[part] - begun[part]) * 1000) / Math.max(1, left));
      const sinceMs = Date.now();
      const perTick = (Number(given.rate) * TICK_MS) / 1000;
      let owed = 0;
      let sent = 0;
      const endAt = Date.now() + Number(given.seconds) * 1000;
      for (let last = Date.now(); Date.now() < endAt; ) {
        await sleep(TICK_MS);
        const now = Date.now();
        owed += (perTick * (now - last)) / TICK_MS;
        last = now;
        while (owed >= 1 && fleet.send()) {
          owed -= 1;
          sent += 1;
        }
      }
      await fleet.settled();
      await arrived(url, fleet.delivered.size);
      const { p50, p99 } = await delays(url, sinceMs);
      say(
        `k=${k}, stored before ${stored} | ${backlog} published at ${Math.round(backlog / filled)}/s | ${left} drained at ${Math.round(left / drained)}/s | CPU us per reading: collectors ${us("collectors")}, PostgreSQL ${us("postgres")}, broker ${us("broker")} | paced ${Math.round(sent / Number(given.seconds))}/s: delay p50 ${p50} ms, p99 ${p99} ms`,
      );
      await Promise.all(collectors.map((collector) => collector.end("SIGTERM")));
    }
    return await verdict(url, fleet, say);
  } finally {
    await Promise.all([...agents, ...collectors].map((kept) => kept.end("SIGKILL")));
    await Promise.all(simulators.map((simulator) => simulator.close()));
    await fleet.close();
    await broker.close();
    postgres.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function subscribed(url: string): Promise<void> {
  const sql = "SELECT 1 FROM collector_session";
  while ((await ask(url, sql).catch(() => [])).length === 0) await sleep(100);
  // The name is taken a moment before the subscription is granted.
  await sleep(3000);
}

/** Compares ids: what was acknowledged to a box and what is in the database. */
async function verdict(url: string, fleet: Fleet, say: (text: string) => void): Promise<number> {
  const rows = await ask<{ id: string; n: string; site: string }>(
    url,
    "SELECT id, min(site) AS site, count(*) AS n FROM reading GROUP BY id",
  );
  const thin = rows.filter(({ site }) => site.startsWith("thin-"));
  const stored = new Set(thin.map(({ id }) => id));
  const lost = [...fleet.delivered].filter((id) => !stored.has(id)).length;
  const invented = thin.filter(({ id }) => !fleet.delivered.has(id)).length;
  const doubled = rows.filter(({ n }) => Number(n) > 1).length;
  const [rejected] = await ask<{ n: string }>(url, "SELECT count(*) AS n FROM rejected");
  say(
    `readings of thin boxes ${fleet.delivered.size}, of real agents ${rows.length - thin.length}: lost ${lost}, doubled ${doubled}, invented ${invented}, rejected ${rejected?.n}`,
  );
  return lost + doubled + invented + Number(rejected?.n) === 0 ? 0 : 1;
}

process.exitCode = await main();
