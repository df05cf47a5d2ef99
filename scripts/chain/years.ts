/**
 * Years in the database: the highest value of each sensor over a year by hours and by days, one sensor's year, and what the update from 0.2 to
 * hourly values takes on stored readings. Rows are generated inside PostgreSQL.
 *
 *   node --import tsx scripts/chain/years.ts [--sensors 400,3000] [--days 365] [--stored 5000000]
 */
import { parseArgs } from "node:util";
import { Client } from "pg";
import { migrate } from "../../src/collect/database/migrate.ts";
import { HOURS } from "../../src/collect/database/migrations/004-hours.ts";
import { DAY_MS } from "../../src/core/time-units.ts";
import { expandedSql, readBoards } from "../../test/support/boards.ts";
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
    explain: { type: "boolean", default: false },
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
  // As the boards' role has it.
  await client.query("SET jit = off");
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Values of a box. Of others than the first, only today's hours and ten days are filled. */
const VALUES = 637;
/** Vibration sensors of a box, of its 57 sensors and kinds. */
const BOX = { vibration: 15, streams: 57 };

/**
 * A fleet's year: hours and days of one value of each vibration sensor, a running hour of readings, and weeks for a year. Returns how long a day of a series takes to be stored from its hours, µs.
 */
async function fillYear(client: Client, sensors: number, days: number): Promise<number> {
  await migrate(client);
  const boxes = Math.ceil(sensors / BOX.vibration);
  await client.query(
    `INSERT INTO stream (site, sensor, kind)
       SELECT 'plant-' || n / ${BOX.vibration}, n::text, 'accel' FROM generate_series(0, ${sensors - 1}) n
       UNION ALL SELECT 'plant-' || n % ${boxes}, 'other ' || n, 'other' FROM generate_series(1, ${boxes * (BOX.streams - BOX.vibration)}) n`,
  );
  await client.query(
    `INSERT INTO hour_series (stream, value, unit) SELECT stream, 'channel1_vel_rms', 'mm/s' FROM stream WHERE kind = 'accel'`,
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
  await client.query("VACUUM ANALYZE hour_value");
  const marks = await client.query(
    `INSERT INTO day_mark SELECT day, stream FROM generate_series(date_trunc('day', now(), 'UTC') - interval '${days} days', now(), interval '1 day') day
     CROSS JOIN stream WHERE kind = 'accel'`,
  );
  const settling = await secondsOf(async () => {
    for (let stored = 1; stored > 0; )
      stored = (await client.query("SELECT gateside_settle_days(100) AS stored")).rows[0].stored;
  });
  // The other values of accel have hours today, too.
  await client.query(
    `INSERT INTO hour_series (stream, value, unit) SELECT stream, value, 'mm/s' FROM stream, unnest(array['channel2_vel_rms', 'channel3_vel_rms']) value WHERE kind = 'accel'
     UNION ALL SELECT stream, 'value ' || n, 'unit' FROM stream, generate_series(1, ${Math.ceil((VALUES - 3 * BOX.vibration) / (BOX.streams - BOX.vibration))}) n WHERE kind = 'other'`,
  );
  await client.query(
    `INSERT INTO day_value SELECT d.time, o.series, d.count, 0, 0, d.min, d.mean, d.max FROM hour_series o
     JOIN day_value d ON d.series = 1 + o.series % ${sensors} AND d.time > now() - interval '10 days' WHERE o.series > ${sensors}`,
  );
  await client.query(
    `INSERT INTO hour_value SELECT h.time, o.series, h.count, 0, 0, h.min, h.mean, h.max FROM hour_series o
     JOIN hour_value h ON h.series = 1 + o.series % ${sensors} AND h.time >= date_trunc('day', now(), 'UTC') WHERE o.series > ${sensors}`,
  );
  await client.query(
    `SELECT gateside_make_partitions(week) FROM generate_series(now() - interval '${days} days', now() + interval '7 days', interval '7 days') week`,
  );
  await client.query(
    `INSERT INTO reading_accel (time, id, stream, historical, channel1_vel_rms, channel2_vel_rms, channel3_vel_rms)
     SELECT time, gen_random_uuid(), stream, false, 2, 2.5, 3 FROM generate_series(date_trunc('hour', now()), now(), interval '1 minute') time
     CROSS JOIN stream WHERE kind = 'accel'`,
  );
  await client.query("INSERT INTO hour_mark SELECT date_trunc('hour', now()), stream FROM stream");
  await client.query(
    "INSERT INTO day_mark SELECT date_trunc('day', now(), 'UTC'), stream FROM stream ON CONFLICT DO NOTHING",
  );
  await client.query("VACUUM ANALYZE");
  return (settling * 1e6) / (marks.rowCount ?? 1);
}

/** Bytes of a row and its indexes. */
async function sizeOf(client: Client, table: string): Promise<string> {
  const { rows } = await client.query<{ row: string; index: string }>(
    `SELECT round(sum(pg_table_size(inhrelid)) / sum(reltuples)) AS row, round(sum(pg_indexes_size(inhrelid)) / sum(reltuples)) AS index
     FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = '${table}'::regclass AND reltuples > 0`,
  );
  return `${rows[0]?.row} bytes, and ${rows[0]?.index} of index`;
}

async function year(url: string, sensors: number): Promise<void> {
  const days = Number(given.days);
  const settling = await connected(url, (client) => fillYear(client, sensors, days));
  await connected(url, async (client) => {
    say(
      `an hourly value takes ${await sizeOf(client, "hour_value")}; a daily one ${await sizeOf(client, "day_value")}`,
    );
    say(`a day of a value is stored from its hours in ${settling.toFixed(0)} µs`);
    const of = (view: string) =>
      `FROM ${view} WHERE kind = 'accel' AND value = 'channel1_vel_rms' AND time >= now() - interval '${days} days'`;
    const panel = readBoards()
      .flatMap(({ panels }) => panels)
      .find(({ title }) => title === "Highest velocity of each sensor");
    const board = expandedSql(panel?.targets[0]?.rawSql ?? "", {
      variables: { velocity: "channel1_vel_rms" },
      from: `now() - interval '${days} days'`,
    });
    const queries = [
      [
        "one sensor and value, every hour",
        `SELECT time, max ${of("measurement_hour")} AND site = 'plant-0' AND sensor = '7'`,
      ],
      [
        "one sensor and value, every day",
        `SELECT time, max ${of("measurement_day")} AND site = 'plant-0' AND sensor = '7'`,
      ],
      [
        `highest value of each of ${sensors} sensors, by hours`,
        `SELECT site, sensor, max(max) ${of("measurement_hour")} GROUP BY site, sensor`,
      ],
      [
        "the same by days",
        `SELECT site, sensor, max(max) ${of("measurement_day")} GROUP BY site, sensor`,
      ],
      ["the board's panel", board],
    ] as const;
    say(
      `| ${days} days, ${(sensors * days * 24).toLocaleString("en-US")} hourly values of one value | rows | first, s | again, s |`,
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
      if (given.explain) {
        const { rows: plan } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, SETTINGS) ${sql}`);
        for (const line of plan) say(String(line["QUERY PLAN"]));
      }
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
  if (Number(given.stored) > 0) await update(await postgres.createDatabase("update"));
} finally {
  postgres.close();
}
