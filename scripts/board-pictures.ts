/**
 * Draws the boards of `deploy/grafana` that ask PostgreSQL: simulated gateways → agents → mosquitto → a collector → PostgreSQL, a day of readings,
 * then each panel's own query in the board's own layout. These are not screenshots: in Grafana, panels look different.
 *
 *   npm run build && node --import tsx scripts/board-pictures.ts [directory]
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import mqtt from "mqtt";
import { Client } from "pg";
import { startSimulator } from "../src/simulator/server.ts";
import { type Board, type BoardView, expandedSql, readBoards } from "../test/support/boards.ts";
import { startMosquitto } from "../test/support/mosquitto.ts";
import { openPostgres } from "../test/support/postgres.ts";
import { boardSvg, type PanelRows } from "./board-svg.ts";
import { ask, createAgent, Kept, program } from "./chain/processes.ts";

const BOXES = 5;
const SENSORS = 10;
const DAY_MS = 86_400_000;
const SEED = 40;
/** Grafana's interval for a day on a screen of usual width. */
const INTERVAL = "5m";

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 300_000;
  while (!(await isSo().catch(() => false))) {
    if (Date.now() > deadline) throw new Error(`${what} takes too long`);
    await sleep(500);
  }
}

/** A box that has stopped, one that dropped readings, and a foreign message, so that the panels that list problems show something. */
async function troubles(brokerUrl: string, stopped: Kept): Promise<void> {
  await stopped.end("SIGTERM");
  const client = await mqtt.connectAsync(brokerUrl);
  const say = (topic: string, text: string) =>
    client.publishAsync(`gateside/${topic}`, text, { qos: 1 });
  const at = (hoursAgo: number) => new Date(Date.now() - hoursAgo * 3_600_000).toISOString();
  const gap = {
    v: 1,
    site: "plant-3",
    sensor: "10001",
    kind: "accel",
    from: at(20),
    to: at(17),
    count: 36,
    reason: "space",
  };
  await say("plant-3/agent/gap", JSON.stringify(gap));
  await say("plant-4/20002/current", '{"v":1,"site":"plant-4","ti');
  await say("plant-4/20002/current", '{"v":9,"site":"plant-4"}');
  await say("plant-4/20002/current", '{"v":1,"site":"plant-9","values":{}}');
  await client.endAsync();
}

async function view(url: string): Promise<BoardView> {
  const site = "plant-1";
  // Two vibration sensors, and one with a battery and doubtful values.
  const rows = await ask<{ sensor: string }>(
    url,
    `(SELECT DISTINCT sensor FROM stream WHERE site = '${site}' AND kind = 'accel' ORDER BY sensor LIMIT 2)
     UNION (SELECT m.sensor FROM measurement m WHERE site = '${site}' AND value <> 'battery' AND number IS NOT NULL
       AND sensor IN (SELECT sensor FROM measurement WHERE site = '${site}' AND value = 'battery')
       GROUP BY sensor ORDER BY (SELECT count(*) FROM measurement d WHERE d.site = '${site}' AND d.sensor = m.sensor AND d.quality <> 'good') DESC LIMIT 1)`,
  );
  return {
    variables: {
      site,
      sensor: rows.map(({ sensor }) => sensor),
      value: ["channel1_vel_rms", "channel2_vel_rms"],
      velocity: "channel1_vel_rms",
    },
    interval: INTERVAL,
  };
}

async function draw(client: Client, board: Board, chosen: BoardView): Promise<string> {
  const panels: PanelRows[] = [];
  for (const panel of board.panels) {
    const sql = panel.targets[0]?.rawSql ?? "";
    const { rows, fields } = await client.query<Record<string, unknown>>(expandedSql(sql, chosen));
    panels.push({ panel, rows, columns: fields.map(({ name }) => name) });
  }
  const names = board.templating.list.flatMap(({ name }) => {
    const values = chosen.variables[name];
    return values === undefined ? [] : [`${name}: ${[values].flat().join(" + ")}`];
  });
  return boardSvg({
    title: board.title,
    subtitle: [
      ...names,
      "last 24 hours",
      "drawn by a script from the board's layout and queries, not by Grafana",
    ].join(" · "),
    fromMs: Date.now() - DAY_MS,
    toMs: Date.now(),
    panels,
  });
}

async function main(): Promise<void> {
  const directory = process.argv[2] ?? join("docs", "images");
  mkdirSync(directory, { recursive: true });
  const home = mkdtempSync(join(tmpdir(), "gateside-boards-"));
  const ends: (() => unknown)[] = [() => rmSync(home, { recursive: true, force: true })];
  try {
    const postgres = await openPostgres();
    ends.push(() => postgres.close());
    const broker = await startMosquitto({
      receiveMaximum: 1000,
      config: ["max_queued_messages 0"],
    });
    ends.push(() => broker.close());
    const url = await postgres.createDatabase("boards");
    const collector = new Kept(() =>
      program(["collect"], { COLLECT_FROM: broker.url, COLLECT_TO: url }),
    );
    ends.push(() => collector.end("SIGKILL"));
    await until(
      "the subscription",
      async () => (await ask(url, "SELECT 1 FROM collector_session")).length > 0,
    );
    const agents: Kept[] = [];
    for (let n = 0; n < BOXES; n++) {
      const simulator = await startSimulator({
        sensors: SENSORS,
        seed: SEED + n,
        zone: "UTC",
        historyDays: 2,
      });
      ends.push(() => simulator.close());
      const agent = createAgent({
        simulator,
        site: `plant-${n + 1}`,
        home: join(home, `plant-${n + 1}`),
        brokerUrl: broker.url,
        env: {
          POLL_INTERVAL_S: "10",
          BACKFILL_DAYS: "1",
          PUBLISH_WAVEFORMS: "alarm",
          MQTT_REQUIRE_SUBSCRIBER: "true",
        },
      });
      ends.push(() => agent.end("SIGKILL"));
      agents.push(agent);
    }
    let last = 0;
    await until("the day's readings", async () => {
      await sleep(5000);
      const [row] = await ask<{ n: string; stats: string }>(
        url,
        "SELECT (SELECT count(*) FROM reading) AS n, (SELECT count(stats_time) FROM box) AS stats",
      );
      const now = Number(row?.n);
      // New readings never stop; the history is complete once few arrive.
      const isThere = last > 0 && now < last * 1.01 && Number(row?.stats) === BOXES;
      last = now;
      return isThere;
    });
    const stopped = agents.at(-1);
    if (stopped !== undefined) await troubles(broker.url, stopped);
    await until(
      "what is rejected",
      async () =>
        Number((await ask<{ n: string }>(url, "SELECT count(*) AS n FROM rejected"))[0]?.n) >= 3,
    );
    const chosen = await view(url);
    const client = new Client({ connectionString: url });
    await client.connect();
    for (const board of readBoards()) {
      // The collectors' board queries Prometheus.
      if (board.panels.some(({ targets }) => targets[0]?.rawSql === undefined)) continue;
      const file = join(directory, `${board.uid.replace("gateside-", "board-")}.svg`);
      writeFileSync(file, await draw(client, board, chosen));
      process.stdout.write(`${file}\n`);
    }
    await client.end();
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

await main();
