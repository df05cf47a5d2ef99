/**
 * Compares three layouts of vibration readings: a column per value, an array, JSONB. The same values in the same order of time and with the
 * same index, generated inside PostgreSQL: size of a reading, time to write, and two queries of a dashboard.
 *
 *   node --import tsx scripts/chain/layouts.ts [--readings 10000000] [--sensors 500] [--below DIRECTORY]
 */
import { parseArgs } from "node:util";
import { READING_TABLES } from "../../src/collect/tables.ts";
import { openPostgres } from "../../test/support/postgres.ts";
import { median } from "../bench/measure.ts";
import { ask } from "./processes.ts";

const { values: given } = parseArgs({
  options: {
    readings: { type: "string", default: "10000000" },
    sensors: { type: "string", default: "500" },
    below: { type: "string" },
  },
});
const NAMES = (READING_TABLES.find(({ kind }) => kind === "accel")?.values ?? [])
  .filter(({ type }) => type === "double precision")
  .map(({ name }) => name);
const SHOWN = NAMES.indexOf("channel1_vel_rms");
const AGAIN = 5;
/** A reading per minute. */
const DAY_STEPS = 1440;

/** Four decimals, as boxes publish them. */
const valueOf = (at: number) => `floor((b.v[${at + 1}] * w.wave) * 10000) / 10000`;
const LAYOUTS = [
  {
    name: "column per value",
    columns: NAMES.map((name) => `${name} double precision`).join(", "),
    row: NAMES.map((_, at) => valueOf(at)).join(", "),
    shown: NAMES[SHOWN] ?? "",
  },
  {
    name: "array",
    columns: "v double precision[]",
    row: `ARRAY[${NAMES.map((_, at) => valueOf(at)).join(", ")}]`,
    shown: `v[${SHOWN + 1}]`,
  },
  {
    name: "JSONB",
    columns: "v jsonb",
    row: `jsonb_build_object(${NAMES.map((name, at) => `'${name}', ${valueOf(at)}`).join(", ")})`,
    shown: `(v->>'${NAMES[SHOWN]}')::double precision`,
  },
];

const say = (text: string) => process.stdout.write(`${text}\n`);

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1000;
}

async function main(): Promise<void> {
  const postgres = await openPostgres({
    ...(given.below === undefined ? {} : { below: given.below }),
    config: [
      "shared_buffers = 1GB",
      "max_wal_size = 4GB",
      "wal_level = minimal",
      "max_wal_senders = 0",
    ],
  });
  try {
    const url = await postgres.createDatabase("layouts");
    const sensors = Number(given.sensors);
    const steps = Math.ceil(Number(given.readings) / sensors);
    await ask(
      url,
      `CREATE TABLE base AS SELECT s AS stream, array_agg(1 + 9 * random()) AS v
       FROM generate_series(1, ${sensors}) s, generate_series(1, ${NAMES.length}) n GROUP BY s`,
    );
    say(
      `${steps * sensors} readings of ${NAMES.length} values from ${sensors} sensors\n| layout | bytes per reading, index included | written, s | index, s | one sensor, one value, a day, ms | highest of each sensor, all readings, s |\n| --- | --- | --- | --- | --- | --- |`,
    );
    for (const { name, columns, row, shown } of LAYOUTS) {
      await ask(
        url,
        `CREATE TABLE r (time timestamptz NOT NULL, id uuid NOT NULL, stream integer NOT NULL, ${columns})`,
      );
      const written = await seconds(() =>
        ask(
          url,
          `INSERT INTO r SELECT now() - n * interval '1 minute', gen_random_uuid(), b.stream, ${row}
           FROM generate_series(${steps}, 1, -1) n CROSS JOIN base b
           CROSS JOIN LATERAL (SELECT 1 + 0.1 * sin(n / 97.0 + b.stream) AS wave OFFSET 0) w`,
        ),
      );
      const indexed = await seconds(() =>
        ask(url, "SET maintenance_work_mem = '1GB'; ALTER TABLE r ADD UNIQUE (stream, time, id)"),
      );
      await ask(url, "VACUUM ANALYZE r");
      const [size] = await ask<{ bytes: string }>(
        url,
        "SELECT pg_total_relation_size('r') AS bytes",
      );
      const day: number[] = [];
      for (let n = 0; n < AGAIN; n++)
        day.push(
          await seconds(() =>
            ask(
              url,
              `SELECT time, ${shown} FROM r WHERE stream = ${sensors >> 1} AND time BETWEEN now() - ${Math.min(steps, 2 * DAY_STEPS)} * interval '1 minute' AND now() - ${Math.min(steps, 2 * DAY_STEPS) - DAY_STEPS} * interval '1 minute'`,
            ),
          ),
        );
      const highest = await seconds(() =>
        ask(url, `SELECT stream, max(${shown}) FROM r GROUP BY stream`),
      );
      say(
        `| ${name} | ${Math.round(Number(size?.bytes) / (steps * sensors))} | ${written.toFixed(0)} | ${indexed.toFixed(0)} | ${(median(day) * 1000).toFixed(1)} | ${highest.toFixed(1)} |`,
      );
      await ask(url, "DROP TABLE r");
    }
  } finally {
    postgres.close();
  }
}

await main();
