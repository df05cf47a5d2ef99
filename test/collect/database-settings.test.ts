/** What server, database and role may have set otherwise changes nothing that is stored or shown. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, test } from "node:test";
import { collect } from "../../src/collect/collect.ts";
import { openConnection } from "../../src/collect/database/connection.ts";
import { migrate } from "../../src/collect/database/migrate.ts";
import { Writer } from "../../src/collect/database/writer.ts";
import { fleetFromDatabase } from "../../src/collect/fleet/from-database.ts";
import { readMeasurements } from "../../src/collect/parquet/read-database.ts";
import { withSchema } from "../../src/core/addresses/database-url.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { entry, READING_TOPIC, readingPayload, skipWithoutBuild } from "../support/collecting.ts";
import { openPostgres, type Postgres, skipWithoutPostgres } from "../support/postgres.ts";
import { RecordingLogger } from "../support/recording-logger.ts";

const options = { skip: skipWithoutPostgres || skipWithoutBuild };
let postgres: Postgres;
let databases = 0;

before(async () => {
  if (!skipWithoutPostgres) postgres = await openPostgres();
});
after(() => postgres?.close());

const freshDatabase = () => postgres.createDatabase(`settings${++databases}`);
const nameIn = (url: string) => new URL(url).pathname.slice(1);

const ODD = [
  "DateStyle = 'German'",
  "DateStyle = 'SQL, DMY'",
  "IntervalStyle = 'sql_standard'",
  "TimeZone = 'Asia/Kathmandu'",
  "array_nulls = off",
  "bytea_output = 'escape'",
  "extra_float_digits = 0",
  "extra_float_digits = -10",
  "standard_conforming_strings = off",
  "default_transaction_isolation = 'serializable'",
  "quote_all_identifiers = on",
  "statement_timeout = '60ms'",
  "lock_timeout = '1ms'",
  "idle_in_transaction_session_timeout = '20ms'",
];

function runCommand(words: readonly string[]) {
  const program = ["dist/gateside.js", ...words];
  const { status, stdout, stderr } = spawnSync(process.execPath, program, { encoding: "utf8" });
  return { code: status, output: `${stdout}${stderr}` };
}

/** Everything that a database gives back of two readings and a state. */
async function stored(url: string): Promise<unknown> {
  const writer = new Writer(url);
  const nowMs = Date.now();
  const time = new Date(nowMs - 60_000).toISOString();
  const values = { rpm: 4441 / 3, battery: 0.1 + 0.2 };
  await writer.write([
    entry(READING_TOPIC, readingPayload(1, { time, values })),
    entry(READING_TOPIC, readingPayload(2, { time, name: undefined, location: null })),
    entry("gateside/plant-7/agent/state", JSON.stringify({ state: "online", time })),
  ]);
  await writer.close();
  const rows: unknown[] = [];
  const range = { fromMs: nowMs - 86_400_000, toMs: nowMs + 86_400_000, site: null };
  for await (const row of readMeasurements(url, { ...range, sensor: null, kind: null }))
    rows.push({ ...row, timeMs: Number(row.timeMs) - nowMs });
  const [box] = await fleetFromDatabase(url);
  return { rows, state: box?.state, needsHands: box?.needsHands };
}

test(
  "database settings – whatever a database sets, the same is stored, exported and shown",
  options,
  async () => {
    const plain = await stored(await freshDatabase());
    const shape = (value: unknown) => JSON.stringify(value).replaceAll(/"timeMs":-?\d+/g, "");
    for (const odd of ODD) {
      const url = await freshDatabase();
      await postgres.query(url, `ALTER DATABASE ${nameIn(url)} SET ${odd}`);
      assert.equal(shape(await stored(url)), shape(plain), odd);
      const rejected = await postgres.query(url, "SELECT reason, detail FROM rejected");
      assert.deepEqual(rejected, [], odd);
    }
  },
);

test(
  "database settings – the schema is the first one, or COLLECT_SCHEMA; tables elsewhere end a command with both names",
  options,
  async (t) => {
    const url = await freshDatabase();
    await postgres.query(url, "CREATE SCHEMA plant");
    const writer = new Writer(url);
    await writer.write([entry(READING_TOPIC, readingPayload(1))]);
    await writer.close();
    // Another role, as it has not connected before.
    await postgres.query(url, `CREATE ROLE elsewhere SUPERUSER LOGIN`);
    await postgres.query(url, "ALTER ROLE elsewhere SET search_path = plant, public");
    const other = url.replace("postgres@", "elsewhere@");
    await assert.rejects(
      fleetFromDatabase(other),
      /schema plant, .* public has them: .*COLLECT_SCHEMA/,
    );
    const logger = new RecordingLogger();
    const once = { to: other, migrateOnly: true } as Parameters<typeof collect>[0];
    const parts = { clock: systemClock, logger, version: "0" };
    assert.equal(await collect(once, parts, new AbortController().signal), 2);
    assert.match(logger.text, /schema plant, .* public has them/);
    for (const words of [
      ["fleet"],
      ["fleet", "--machines"],
      ["fleet", "retire", "plant-7", "--from", "mqtt://127.0.0.1:1"],
      ["export", "--from", "2026-01-01", "--to", "2026-01-02", "--format", "parquet"],
    ]) {
      const run = runCommand([...words, "--db", other]);
      assert.equal(run.code, 2, `${words.join(" ")}: ${run.output}`);
      assert.match(run.output, /schema plant, .* public has them/);
    }
    assert.equal((await fleetFromDatabase(withSchema(other, "public"))).length, 1);
    // One that is asked for is made there, and everything else looks there alone.
    const asked = withSchema(other, "plant");
    const own = new Writer(asked);
    t.after(() => own.close());
    await own.write([
      entry(READING_TOPIC, readingPayload(1)),
      entry(READING_TOPIC, readingPayload(2)),
    ]);
    const count = (schema: string) =>
      postgres.query(url, `SELECT count(*)::int AS count FROM ${schema}.reading_rpm`);
    assert.deepEqual(
      [await count("plant"), await count("public")],
      [[{ count: 2 }], [{ count: 1 }]],
    );
    await assert.rejects(openConnection(withSchema(other, "none"), "test"), /no schema none/);
  },
);

test(
  "database settings – tables are not made in an encoding that does not hold every text",
  options,
  async () => {
    const administrator = await freshDatabase();
    await postgres.query(
      administrator,
      "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0",
    );
    const url = administrator.replace(/[^/]+$/, "latin");
    const logger = new RecordingLogger();
    const parts = { clock: systemClock, logger, version: "0" };
    for (const migrateOnly of [true, false]) {
      const once = { to: url, migrateOnly, metrics: null } as Parameters<typeof collect>[0];
      const started = { ...once, from: ["mqtt://127.0.0.1:1"], group: "g", prefix: "gateside" };
      const more = { topic: "{prefix}/{site}/#", reconnectSpreadS: 1, tls: {} };
      const code = await collect(
        { ...started, ...more } as never,
        parts,
        new AbortController().signal,
      );
      assert.equal(code, 2);
    }
    assert.match(logger.text, /encoding LATIN1.*UTF8/);
  },
);

test(
  "database settings – the schema of a running process stays when the database's search_path changes",
  options,
  async () => {
    const url = await freshDatabase();
    const first = await openConnection(url, "test");
    await migrate(first);
    await first.end();
    await postgres.query(url, "CREATE SCHEMA later");
    await postgres.query(url, `ALTER DATABASE ${nameIn(url)} SET search_path = later`);
    const next = await openConnection(url, "test");
    assert.deepEqual((await next.query("SELECT current_schemas(false)::text[] AS here")).rows, [
      { here: ["public"] },
    ]);
    await next.end();
  },
);
