/**
 * What the Grafana boards' queries cost over many stored readings: each SQL panel of `deploy/grafana/readings.json` and `fleet.json`, first right after
 * the server has started, then again, and the sizes of the tables.
 *
 *   node --import tsx scripts/chain/stored.ts [--readings 100000000] [--boxes 200] [--step 60] [--below DIRECTORY]
 */
import { parseArgs } from "node:util";
import { Client } from "pg";
import { type BoardView, expandedSql, readBoards } from "../../test/support/boards.ts";
import { openPostgres } from "../../test/support/postgres.ts";
import { median } from "../bench/measure.ts";
import { Preload } from "./preload.ts";
import { ask } from "./processes.ts";
import { createThinBox, plantTemplates } from "./thin-boxes.ts";

const { values: given } = parseArgs({
  options: {
    readings: { type: "string", default: "100000000" },
    boxes: { type: "string", default: "200" },
    sensors: { type: "string", default: "50" },
    /** Seconds between two readings of a sensor and kind. */
    step: { type: "string", default: "60" },
    below: { type: "string" },
  },
});
const AGAIN = 5;

const say = (text: string) => process.stdout.write(`${text}\n`);

async function sizes(url: string, readings: number): Promise<void> {
  const [row] = await ask<{ heap: string; index: string; database: string }>(
    url,
    `SELECT sum(pg_table_size(c.oid)) AS heap, sum(pg_indexes_size(c.oid)) AS index, pg_database_size(current_database()) AS database
     FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE c.relname LIKE 'reading_%' AND c.relkind = 'r'`,
  );
  const each = (bytes: unknown) => (Number(bytes) / readings).toFixed(0);
  say(
    `${readings} readings, ${(Number(row?.database) / 1e9).toFixed(1)} GB: ${each(row?.heap)} bytes of table and ${each(row?.index)} of index each`,
  );
}

/** A sensor with vibration values and one without, of a box in the middle. */
async function viewOf(url: string, site: string): Promise<BoardView["variables"]> {
  const [row] = await ask<{ sensor: string }>(
    url,
    `SELECT min(sensor) AS sensor FROM stream WHERE site = '${site}' AND kind = 'accel'`,
  );
  return {
    site,
    sensor: row?.sensor ?? "",
    value: "channel1_vel_rms",
    velocity: "channel1_vel_rms",
  };
}

async function main(): Promise<void> {
  const plant = await plantTemplates(Number(given.sensors));
  const boxes = Array.from({ length: Number(given.boxes) }, (_, n) =>
    createThinBox(plant, `plant-${n}`, "stored"),
  );
  const postgres = await openPostgres({
    ...(given.below === undefined ? {} : { below: given.below }),
    config: [
      "shared_buffers = 2GB",
      "max_wal_size = 4GB",
      "wal_level = minimal",
      "max_wal_senders = 0",
    ],
  });
  try {
    const url = await postgres.createDatabase("stored");
    const loading = performance.now();
    const preload = new Preload(url, {
      boxes,
      streams: plant.streams.length,
      stepMs: Number(given.step) * 1000,
      untilMs: Date.now() - 60_000,
    });
    const readings = await preload.upTo(Number(given.readings), true);
    say(`loaded in ${Math.round((performance.now() - loading) / 1000)} s`);
    await sizes(url, readings);
    const site = `plant-${boxes.length >> 1}`;
    const variables = await viewOf(url, site);
    const several = await ask<{ sensor: string }>(
      url,
      `SELECT DISTINCT sensor FROM stream WHERE site = '${site}' AND kind = 'accel' ORDER BY sensor LIMIT 5`,
    );
    const views: [string, BoardView][] = [
      ["a day of one sensor", { variables, interval: "1m" }],
      ["5 days of one sensor", { variables, interval: "10m", from: "now() - interval '5 days'" }],
      [
        "a day of 5 sensors, 2 values",
        {
          interval: "1m",
          variables: {
            site,
            sensor: several.map(({ sensor }) => sensor),
            value: ["channel1_vel_rms", "channel2_vel_rms"],
            velocity: "channel1_vel_rms",
          },
        },
      ],
    ];
    say(
      "| board | panel | shown | rows | first, ms | again, ms |\n| --- | --- | --- | --- | --- | --- |",
    );
    for (const [shown, view] of views) {
      postgres.stop();
      postgres.start();
      const client = new Client({ connectionString: url });
      await client.connect();
      for (const { uid, panels } of readBoards()) {
        for (const { title, targets } of panels) {
          const sql = targets[0]?.rawSql;
          // The fleet's panels do not depend on a sensor: once is enough.
          if (sql === undefined || (uid === "gateside-fleet" && view !== views[0]?.[1])) continue;
          const text = expandedSql(sql, view);
          const times: number[] = [];
          let rows = 0;
          for (let n = 0; n <= AGAIN; n++) {
            const startedAt = performance.now();
            rows = (await client.query(text)).rows.length;
            times.push(performance.now() - startedAt);
          }
          const [first = 0, ...again] = times;
          say(
            `| ${uid} | ${title} | ${uid === "gateside-fleet" ? "" : shown} | ${rows} | ${first.toFixed(0)} | ${median(again).toFixed(0)} |`,
          );
        }
      }
      await client.end();
    }
    const whole = performance.now();
    await ask(
      url,
      "SELECT stream, max(channel1_vel_rms) FROM reading_accel WHERE time > now() - interval '1 day' GROUP BY stream",
    );
    say(
      `highest of every vibration sensor, a day: ${((performance.now() - whole) / 1000).toFixed(1)} s`,
    );
  } finally {
    postgres.close();
  }
}

await main();
