/** What the log-ins of the database may do: a collector adds, a dashboard reads, and neither becomes the owner. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Client } from "pg";
import { openConnection } from "../../src/collect/database/connection.ts";
import { migrate } from "../../src/collect/database/migrate.ts";
import { Writer } from "../../src/collect/database/writer.ts";
import { entry, READING_TOPIC, readingPayload } from "../support/collecting.ts";
import {
  openPostgres,
  type Postgres,
  postgresPrograms,
  skipWithoutPostgres,
} from "../support/postgres.ts";

const options = { skip: skipWithoutPostgres };
let postgres: Postgres;
let as: (role: string) => string;

before(async () => {
  if (skipWithoutPostgres) return;
  postgres = await openPostgres();
  const administrator = await postgres.createDatabase("scratch");
  as = (role) => administrator.replace("postgres@", `${role}@`).replace(/scratch$/, "gateside");
  const passwords = ["owner", "collect", "grafana"].flatMap((role) => ["-v", `${role}=of-${role}`]);
  const run = (...words: string[]) =>
    spawnSync(join(postgresPrograms(), "psql"), ["-q", ...words], { encoding: "utf8" });
  const psql = (...more: string[]) => run(...more, "-f", "deploy/sql/roles.sql", administrator);
  const refused = psql("-v", "owner=x", "-v", "collect=y");
  assert.notEqual(refused.status, 0);
  assert.match(refused.stderr, /name a password for each log-in/);
  const made = psql(...passwords);
  assert.equal(made.status, 0, made.stderr);
  const earlier = await postgres.createDatabase("earlier");
  await postgres.query(earlier, "ALTER DATABASE earlier OWNER TO gateside_owner");
  const given = run("-f", "deploy/sql/rights.sql", earlier);
  assert.equal(given.status, 0, given.stderr);
  const owner = await openConnection(as("gateside_owner"), "test");
  await migrate(owner);
  await owner.end();
  const dump = spawnSync(join(postgresPrograms(), "pg_dump"), ["-Fc", as("gateside_owner")]);
  const words = ["-1", "-d", earlier.replace("postgres@", "gateside_owner@")];
  const restored = spawnSync(join(postgresPrograms(), "pg_restore"), words, { input: dump.stdout });
  assert.equal(restored.status, 0, restored.stderr.toString());
});
after(() => postgres?.close());

/** What the server says against it; null if it allows it. */
async function refusal(client: Client, sql: string): Promise<string | null> {
  try {
    await client.query(sql);
    return null;
  } catch (error) {
    await client.query("ROLLBACK");
    return String(error);
  }
}

test("database rights – each log-in has a password of its own", options, async () => {
  const stored = await postgres.query<{ rolpassword: string }>(
    as("postgres"),
    "SELECT rolpassword FROM pg_authid WHERE rolname IN ('gateside_owner', 'gateside_collect', 'grafana')",
  );
  assert.equal(new Set(stored.map(({ rolpassword }) => rolpassword.split("$").at(-1))).size, 3);
});

test(
  "database rights – every function with the owner's rights looks into our schema, last into pg_temp, and only collectors may call it",
  options,
  async () => {
    const functions = await postgres.query<{
      name: string;
      path: string;
      acl: string;
      settings: string;
    }>(
      as("postgres"),
      `SELECT p.oid::regprocedure::text AS name, p.proacl::text AS acl,
       (SELECT c FROM unnest(p.proconfig) c WHERE c LIKE 'search_path=%') AS path,
       p.proconfig::text AS settings
     FROM pg_proc p WHERE p.prosecdef`,
    );
    assert.ok(functions.length >= 9, JSON.stringify(functions));
    for (const { name, path, acl, settings } of functions) {
      assert.match(settings, /TimeZone=UTC.*DateStyle=ISO, MDY.*IntervalStyle=postgres/, name);
      assert.equal(path, "search_path=public, pg_temp", name);
      assert.match(acl, /gateside_writer=X/, name);
      assert.doesNotMatch(acl, /[{,]=X|reader/, name);
    }
  },
);

test(
  "database rights – a collector's temporary tables and views stand in for nothing of the owner's",
  options,
  async (t) => {
    const client = await openConnection(as("gateside_collect"), "test");
    t.after(() => client.end());
    await client.query(`
    CREATE TEMP TABLE proof (who text);
    CREATE TEMP TABLE leaving_week (parent text, child text, attached boolean, pending boolean);
    INSERT INTO leaving_week VALUES ('', 'gateside_schema', false, false);
    CREATE FUNCTION pg_temp.evil() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO pg_temp.proof VALUES (current_user); RETURN '-infinity'; END $$;
    CREATE TEMP VIEW horizon AS SELECT pg_temp.evil() AS before;
    CREATE TEMP TABLE box (site text); CREATE TEMP TABLE sensor (site text, sensor text); CREATE TEMP TABLE stream (site text, sensor text);
    CREATE TEMP TABLE hour_mark (hour timestamptz, stream integer, round integer); CREATE TEMP TABLE day_mark (day timestamptz, stream integer);
    CREATE TEMP TABLE hour_value (time timestamptz); CREATE TEMP TABLE day_value (time timestamptz); CREATE TEMP TABLE gap (received timestamptz);
    GRANT ALL ON ALL TABLES IN SCHEMA pg_temp TO PUBLIC`);
    for (const call of [
      "drop_week('gateside_schema')",
      "make_partitions(now())",
      "drop_partitions(now())",
      "raise_horizon('2999-01-01')",
      "drop_hours('2999-01-01')",
      "join_names(ARRAY['a_b'])",
      "join_names(ARRAY['a/b'], ARRAY['1/2'])",
      "settle_hours(1)",
      "settle_days(1)",
    ])
      await client.query(`SELECT public.gateside_${call}`);
    assert.deepEqual((await client.query("SELECT * FROM pg_temp.proof")).rows, []);
    const [found] = await postgres.query<{ there: boolean; low: boolean }>(
      as("postgres"),
      "SELECT to_regclass('gateside_schema') IS NOT NULL AS there, before < now() - interval '34 days' AS low FROM horizon",
    );
    assert.deepEqual(found, { there: true, low: true });
  },
);

test(
  "database rights – a collector whose session writes times otherwise makes the same weeks",
  options,
  async (t) => {
    const client = await openConnection(as("gateside_collect"), "test");
    t.after(() => client.end());
    // IST is read as Israel's.
    await client.query("SET DateStyle = 'SQL, DMY'; SET TimeZone = 'Asia/Kolkata'");
    await client.query("SELECT gateside_make_partitions(now() + interval '70 days')");
    await client.query("SET DateStyle = 'ISO'; SET TimeZone = 'UTC'");
    for (const days of [63, 77])
      await client.query(`SELECT gateside_make_partitions(now() + interval '${days} days')`);
  },
);

for (const database of ["gateside", "earlier"])
  test(
    `database rights – a log-in that reads takes no lock that collectors write under, and stores nothing of its own: ${database}`,
    options,
    async (t) => {
      const connect = async (role: string) => {
        const client = await openConnection(as(role).replace(/gateside$/, database), "test");
        t.after(() => client.end());
        return client;
      };
      const client = await connect("grafana");
      const locks = ["lock(1, 2)", "lock(1)", "lock_shared(1, 2)", "xact_lock(1, 2)"];
      for (const sql of [
        "SELECT pg_try_advisory_lock(1, 2)",
        ...locks.map((call) => `SELECT pg_advisory_${call}`),
        "CREATE TEMP TABLE filling AS SELECT repeat('x', 1000) FROM generate_series(1, 1000)",
        "SELECT lo_create(0)",
        "SELECT lo_creat(-1)",
        "SELECT lo_from_bytea(0, 'x')",
      ])
        assert.match((await refusal(client, sql)) ?? "", /permission denied/, sql);
      for (const role of ["gateside_owner", "gateside_collect"])
        await (await connect(role)).query(
          "SELECT pg_try_advisory_lock(1); CREATE TEMP TABLE own ()",
        );
    },
  );

test(
  "database rights – a collector makes no tables for times that no reading may have",
  options,
  async () => {
    const client = await openConnection(as("gateside_collect"), "test");
    for (const moment of ["2999-01-01", "1800-01-01", "infinity", "-infinity"]) {
      const { rows } = await client.query("SELECT gateside_make_partitions($1) AS made", [moment]);
      assert.deepEqual(rows, [{ made: 0 }], moment);
    }
    await client.end();
  },
);

test(
  "database rights – a collector drops no hours, days and changes of machines that every collector keeps",
  options,
  async () => {
    const owner = as("gateside_owner");
    await postgres.query(
      owner,
      `DO $$ DECLARE month timestamptz := date_trunc('month', now() - interval '34 days', 'UTC'); BEGIN
         EXECUTE format('CREATE TABLE hour_value_test PARTITION OF hour_value FOR VALUES FROM (%L) TO (%L)', month, month + interval '1 month');
         EXECUTE format('ALTER TABLE hour_value_test RENAME TO %I', 'hour_value_' || to_char(month AT TIME ZONE 'UTC', 'YYYYMM'));
       END $$`,
    );
    await postgres.query(
      owner,
      `INSERT INTO machine_change (site, machine, time, condition, acknowledged, alarms, warnings, key)
       VALUES ('p', 1, now() - interval '34 days', 'ok', false, 0, 0, '')`,
    );
    const client = await openConnection(as("gateside_collect"), "test");
    await client.query("SELECT gateside_drop_hours('2999-01-01')");
    await client.end();
    const rows = await postgres.query(
      owner,
      `SELECT (SELECT count(*)::integer FROM pg_inherits WHERE inhparent = 'hour_value'::regclass) AS months,
         (SELECT count(*)::integer FROM machine_change) AS changes`,
    );
    assert.deepEqual(rows, [{ months: 1, changes: 1 }]);
  },
);

test(
  "database rights – a collector's log-in writes every kind of message, and changes and deletes no history",
  options,
  async (t) => {
    const writer = new Writer(as("gateside_collect"));
    t.after(() => writer.close());
    const time = new Date().toISOString();
    const below = (topic: string, body: object | string) =>
      entry(
        `gateside/plant_7/${topic}`,
        typeof body === "string" ? body : JSON.stringify({ site: "plant/7", ...body }),
      );
    const states = [
      entry(READING_TOPIC, readingPayload(1, { site: "plant/7", sensor: "1/2" })),
      below("agent/state", { state: "online", time }),
      below("agent/stats", { time, buffer: {}, sensors: {}, alarms: {} }),
      below("1_2/state", { sensor: "1/2", state: "online" }),
      below("1_2/about", { sensor: "1/2", name: "Pump" }),
      below("1_2/rpm", "no JSON"),
    ];
    await writer.write(states);
    const again = entry(
      READING_TOPIC.replace("plant-7", "plant_7"),
      readingPayload(2, { site: "plant/7", sensor: "1/2", name: "Another" }),
    );
    await writer.write([again, below("agent/state", ""), below("1_2/state", "")]);
    const client = await openConnection(as("gateside_collect"), "test");
    t.after(() => client.end());
    const tables = await postgres.query<{ name: string }>(
      as("postgres"),
      "SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')",
    );
    const changed: string[] = [];
    for (const { name } of tables) {
      assert.match((await refusal(client, `TRUNCATE "${name}"`)) ?? "", /permission denied/, name);
      assert.match((await refusal(client, `DROP TABLE "${name}"`)) ?? "", /must be owner/, name);
      const [column] = await postgres.query<{ attname: string }>(
        as("postgres"),
        `SELECT attname FROM pg_attribute WHERE attrelid = '"${name}"'::regclass AND attnum > 0 AND attidentity = '' LIMIT 1`,
      );
      const set = `UPDATE "${name}" SET "${column?.attname}" = "${column?.attname}" WHERE false`;
      if ((await refusal(client, set)) === null) changed.push(name);
    }
    assert.deepEqual(changed.sort(), [
      "box",
      "collector_session",
      "heard",
      "hour_mark",
      "latest_reading",
      "machine",
      "rejected",
      "sensor",
    ]);
    for (const sql of [
      "DELETE FROM reading_rpm",
      "INSERT INTO hour_value (time, series, count, uncertain, bad) VALUES (now(), 1, 1, 0, 0)",
      "INSERT INTO gateside_schema (number, name) VALUES (99, 'x')",
      "UPDATE horizon SET before = 'infinity'",
      "CREATE TABLE public.mine (a integer)",
      "SET ROLE gateside_owner",
    ])
      assert.match((await refusal(client, sql)) ?? "", /permission denied/, sql);
  },
);

test(
  "database rights – a dashboard's log-in reads and calls nothing with the owner's rights",
  options,
  async (t) => {
    const client = await openConnection(as("grafana"), "test");
    t.after(() => client.end());
    await client.query("SELECT * FROM measurement LIMIT 1; SELECT * FROM measurement_hour LIMIT 1");
    for (const sql of [
      "INSERT INTO box (site, received) VALUES ('x', now())",
      "SELECT gateside_raise_horizon(now())",
      "SELECT gateside_join_names(ARRAY['a'], ARRAY['b'])",
      "SELECT gateside_drop_week('x')",
    ])
      assert.match((await refusal(client, sql)) ?? "", /permission denied/, sql);
  },
);
