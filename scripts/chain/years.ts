/**
 * Years in the database: the highest value of each sensor over a year by hours, one sensor's year, and what the update from 0.2 to hourly values
 * takes on stored readings. Rows are generated inside PostgreSQL.
 *
 *   node --import tsx scripts/chain/years.ts [--sensors 400,3000] [--days 365] [--stored 5000000]
 */
import { parseArgs } from "node:util";
import { Client } from "pg";
import { migrate } from "../../src/collect/database/migrate.ts";
import { HOURS } from "../../src/collect/database/migrations/004-hours.ts";
import { DAY_MS } from "../../src/core/time-units.ts";
import { openPostgres } from "../../test/support/postgres.ts";
import { median } from "../bench/measure.ts";
import { Preload } from "./preload.ts";
import { createThinBox, plantTemplates } from "./thin-boxes.ts";

const { values: given } = parseArgs({
  options: {
    /** Vibration sensors: of 200 boxes of the simulated plant (15 of 50 sensors each), and of as many small ones. */
    sensors: { type: "string", default: "400,3000" },
    days: { type: "string", default: "365" },
    /** Readings in the database that is updated. */
    stored: { type: "string", default: "5000000" },
  },
});
const AGAIN = 5;
const say = (text: string) => process.stdout.write(`${text}\n`);

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1000;
}

async function connected<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Hourly values of one value of each sensor, in the order in which hours end. */
async function fillYear(client: Client, sensors: number, days: number): Promise<void> {
  await migrate(client);
  await client.query(
    `INSERT INTO stream (site, sensor, kind) SELECT 'plant-' || n / 20, n::text, 'accel' FROM generate_series(1, ${sensors}) n`,
  );
  await client.query(
    `INSERT INTO hour_series (stream, value, unit) SELECT stream, value, 'mm/s' FROM stream, (VALUES ('channel1_vel_rms')) v(value)`,
  );
  await client.query(
    `DO $$ DECLARE month timestamptz := date_trunc('month', now() - interval '${days} days', 'UTC'); BEGIN
       WHILE month <= now() LOOP
         EXECUTE format('CREATE TABLE IF NOT EXISTS %I PARTITION OF hour_value FOR VALUES FROM (%L) TO (%L)',
           'hour_value_' || to_char(month AT TIME ZONE 'UTC', 'YYYYMM'), month, month + interval '1 month');
         month := month + interval '1 month';
       END LOOP; END $$`,
  );
  await client.query(
    `INSERT INTO hour_value SELECT hour, series, 60, 0, 0, level * 0.9, level, level * 1.1
     FROM generate_series(date_trunc('hour', now()) - interval '${days} days', date_trunc('hour', now()) - interval '1 hour', interval '1 hour') hour
     CROSS JOIN hour_series CROSS JOIN LATERAL (SELECT 2 + sin(series + extract(epoch FROM hour)::float8 / 90000) AS level OFFSET 0) l`,
  );
  for (const table of ["hour_value", "hour_series", "stream"])
    await client.query(`VACUUM ANALYZE ${table}`);
}

async function year(url: string, sensors: number): Promise<void> {
  await connected(url, async (client) => {
    const days = Number(given.days);
    await fillYear(client, sensors, days);
    const { rows: sizes } = await client.query<{ row: string; index: string }>(
      `SELECT round(sum(pg_table_size(inhrelid)) / sum(reltuples)) AS row, round(sum(pg_indexes_size(inhrelid)) / sum(reltuples)) AS index
       FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = 'hour_value'::regclass AND reltuples > 0`,
    );
    say(`an hourly value takes ${sizes[0]?.row} bytes, and ${sizes[0]?.index} of index`);
    const since = `time >= now() - interval '${days} days'`;
    const of = `FROM measurement_hour WHERE kind = 'accel' AND value = 'channel1_vel_rms' AND ${since}`;
    const queries = [
      [
        "one sensor and value, every hour",
        `SELECT time, max ${of} AND site = 'plant-0' AND sensor = '7'`,
      ],
      [
        `highest value of each of ${sensors} sensors`,
        `SELECT site, sensor, max(max) ${of} GROUP BY site, sensor`,
      ],
    ] as const;
    say(
      `| ${days} days by hours, ${(sensors * days * 24).toLocaleString("en-US")} hourly values | rows | first, s | again, s |`,
    );
    say("| --- | --- | --- | --- |");
    for (const [name, sql] of queries) {
      let rows = 0;
      const times: number[] = [];
      for (let n = 0; n <= AGAIN; n++)
        times.push(
          await secondsOf(async () => {
            rows = (await client.query(sql)).rows.length;
          }),
        );
      const [first = 0, ...again] = times;
      say(`| ${name} | ${rows} | ${first.toFixed(3)} | ${median(again).toFixed(3)} |`);
    }
  });
}

/** Of the update, only its last statement looks at readings. */
async function update(url: string): Promise<void> {
  const plant = await plantTemplates(50);
  const boxes = Array.from({ length: 100 }, (_, n) => createThinBox(plant, `plant-${n}`, "years"));
  const times = { stepMs: 60_000, untilMs: Date.now() - DAY_MS };
  const preload = new Preload(url, { boxes, streams: plant.streams.length, ...times });
  const stored = await preload.upTo(Number(given.stored), true);
  await connected(url, async (client) => {
    await client.query("TRUNCATE hour_mark");
    const marks = HOURS.slice(HOURS.lastIndexOf("INSERT INTO hour_mark"));
    const seconds = await secondsOf(() => client.query(marks));
    say("\n| update to hourly values (migration 004), readings | s | s a million |");
    say("| --- | --- | --- |");
    say(`| ${stored} | ${seconds.toFixed(1)} | ${((seconds * 1e6) / stored).toFixed(2)} |`);
  });
}

const postgres = await openPostgres({
  config: [
    "shared_buffers = 1GB",
    "max_wal_size = 4GB",
    "wal_level = minimal",
    "max_wal_senders = 0",
  ],
});
try {
  for (const sensors of given.sensors.split(",")) {
    const url = await postgres.createDatabase(`year${sensors}`);
    await year(url, Number(sensors));
  }
  await update(await postgres.createDatabase("update"));
} finally {
  postgres.close();
}
