/**
 * How long a fleet's questions take in PostgreSQL: 1,000 boxes of 20 machines with three vibration sensors each, a month of days and
 * of changes. Prints the median of five, ms, of `gateside fleet --machines`, the worst 50 and the other queries of docs/fleet.md.
 *   node --import tsx scripts/features/condition/fleet.ts [--boxes 1000]
 */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { Client } from "pg";
import { migrate } from "../../../src/collect/database/migrate.ts";
import { readMachines } from "../../../src/collect/fleet/machines.ts";
import { openPostgres } from "../../../test/support/postgres.ts";
import { median } from "../../bench/measure.ts";

const { values: given } = parseArgs({ options: { boxes: { type: "string", default: "1000" } } });
const boxes = Number(given.boxes);
const AGAIN = 5;
const NAMES = ["the worst 50", "a month of one machine", "what got worse", "boxes not heard of"];

const FILL = [
  `INSERT INTO heard SELECT 'plant-' || n, now(), '-infinity' FROM generate_series(1, ${boxes}) n`,
  `INSERT INTO machine SELECT site, machine, now(), 'Machine ' || machine, 'Hall', condition, 'In zone B, as always.', now() - machine * interval '1 hour', false, true, 1480,
     'B', NULL, false, 0, 0, NULL, '[]', NULL, false, now()
   FROM heard, generate_series(21, 40) machine, LATERAL (SELECT (ARRAY['ok', 'ok', 'ok', 'ok', 'standing', 'watch', 'warning', 'alarm'])[1 + abs(hashtext(site || machine)) % 8] AS condition) c`,
  `INSERT INTO machine_change SELECT site, machine, day, (ARRAY['ok', 'standing', 'warning'])[1 + abs(hashtext(site || machine || day)) % 3], 'Because.', day, true, 'B', NULL, false, 0, 0, '[]', NULL, ''
   FROM machine, generate_series(now() - interval '31 days', now(), interval '1 day') day`,
  `INSERT INTO sensor (site, sensor, location, received) SELECT site, machine * 10 + n, jsonb_build_object('machine', machine), now() FROM machine, generate_series(1, 3) n`,
  "INSERT INTO stream (site, sensor, kind) SELECT site, sensor, 'accel' FROM sensor",
  "INSERT INTO hour_series (stream, value, unit) SELECT stream, 'channel1_vel_rms', 'mm/s' FROM stream",
  `DO $$ DECLARE month timestamptz := date_trunc('month', now() - interval '31 days', 'UTC'); BEGIN
     WHILE month <= now() LOOP
       EXECUTE format('CREATE TABLE IF NOT EXISTS %I PARTITION OF day_value FOR VALUES FROM (%L) TO (%L)',
         'day_value_' || to_char(month AT TIME ZONE 'UTC', 'YYYYMM'), month, month + interval '1 month');
       month := month + interval '1 month';
     END LOOP; END $$`,
  `INSERT INTO day_value SELECT day, series, 1440, 0, 0, 1.8, 2, 2.2
   FROM generate_series(date_trunc('day', now(), 'UTC') - interval '31 days', date_trunc('day', now(), 'UTC') - interval '1 day', interval '1 day') day CROSS JOIN hour_series`,
  "VACUUM ANALYZE",
];

async function medianMs(work: () => Promise<unknown>): Promise<string> {
  const times: number[] = [];
  for (let again = 0; again < AGAIN; again++) {
    const startedAt = performance.now();
    await work();
    times.push(performance.now() - startedAt);
  }
  return `${median(times).toFixed(0)} ms`;
}

const postgres = await openPostgres();
try {
  const url = await postgres.createDatabase("fleet");
  const client = new Client({ connectionString: url });
  await client.connect();
  await migrate(client);
  for (const sql of FILL) await client.query(sql);
  const page = readFileSync("docs/fleet.md", "utf8");
  const queries = [...page.matchAll(/```sql\n(.*?)```/gs)].map(([, sql = ""]) => sql);
  process.stdout.write(`${boxes} boxes, ${boxes * 20} machines\n`);
  process.stdout.write(`fleet --machines: ${await medianMs(() => readMachines(url, 20))}\n`);
  for (const [at, sql] of queries.entries()) {
    const { rows } = await client.query(sql);
    process.stdout.write(
      `${NAMES[at]}: ${await medianMs(() => client.query(sql))}, ${rows.length} rows\n`,
    );
  }
  await client.end();
} finally {
  postgres.close();
}
