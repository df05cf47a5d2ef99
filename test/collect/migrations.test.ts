import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { collect } from "../../src/collect/collect.ts";
import { openConnection } from "../../src/collect/database/connection.ts";
import { migrate } from "../../src/collect/database/migrate.ts";
import { READINGS } from "../../src/collect/database/migrations/001-readings.ts";
import { NAMES } from "../../src/collect/database/migrations/002-names.ts";
import { HORIZON } from "../../src/collect/database/migrations/003-horizon.ts";
import { HOURS } from "../../src/collect/database/migrations/004-hours.ts";
import { DAYS } from "../../src/collect/database/migrations/007-days.ts";
import { RIGHTS } from "../../src/collect/database/migrations/008-rights.ts";
import { MACHINES } from "../../src/collect/database/migrations/009-machines.ts";
import {
  FLEET,
  REJECTED,
  RUNS,
  SESSIONS,
} from "../../src/collect/database/migrations/short-steps.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { openPostgres, skipWithoutPostgres } from "../support/postgres.ts";
import { RecordingLogger } from "../support/recording-logger.ts";

const STEPS = {
  readings: [READINGS, "79cfaa13a440099da24852334aff7ddf5800393e3fe6ff824042307257751c3c"],
  names: [NAMES, "6257951881d89e879d36a3c8a8cdc70c268a51f3ede6f9dbad5eb07298101111"],
  horizon: [HORIZON, "5167a2dfdfede2aab3248ea858cd87f7bb9ad6148b0c2a3f8e2785a005c14c79"],
  hours: [HOURS, "2798b25e5b65403ec689e3bba3a685c00aaf794bb604f9241222d42caf13fa8d"],
  fleet: [FLEET, "d5ff29c21aed842b00eaa6610e1127432778fda2f77240cbad93cbe4b099ce1e"],
  rejected: [REJECTED, "951055c78a4634561c6ebb7973854afe52218cde54415f23313011201260e67b"],
  days: [DAYS, "9da6b6c0c4362de024498b7e88d8b6429f97cf1573ebd7d3e1c2afed8aed60ce"],
  rights: [RIGHTS, "213bf17fd4c929fc6e5fff3531d75e9dd1b8350b9577dc425ff516bcc064d9d7"],
  machines: [MACHINES, "f80895094f91a1b27909fb9e476ef9c9bad162a7143aeae10100271815c2ed3d"],
  runs: [RUNS, "7f79a8389474fea13739813c48287a19b4058eff1f9f0b59e14229cda1e25e56"],
  sessions: [SESSIONS, "a7c7f8b160e237cb6a4dbbc1ed97949386f35edc8e4286a1693f7ac065ff7d31"],
} as const;

test("collect migrations – the steps are the SQL that databases were created with", () => {
  for (const [name, [sql, digest]] of Object.entries(STEPS))
    assert.equal(
      createHash("sha256").update(sql).digest("hex"),
      digest,
      `databases have the step ${name} already: put the change into its own step`,
    );
});

test("collect migrations – on a server without our log-ins, the message names the script that makes them", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const postgres = await openPostgres();
  t.after(() => postgres.close());
  const to = new URL(await postgres.createDatabase("plain"));
  to.username = "gateside_owner";
  const logger = new RecordingLogger();
  const options = { to: to.href, migrateOnly: true } as Parameters<typeof collect>[0];
  const parts = { clock: systemClock, logger, version: "0" };
  assert.equal(await collect(options, parts, new AbortController().signal), 1);
  assert.match(logger.text, /gateside_owner.*; a new server needs deploy\/sql\/roles\.sql first/);
});

test("collect migrations – every table, view and column says what it holds, and the database keeps its settings", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const postgres = await openPostgres();
  t.after(() => postgres.close());
  const url = await postgres.createDatabase("comments");
  const client = await openConnection(url, "test");
  await migrate(client);
  assert.deepEqual((await client.query("SHOW jit")).rows, [{ jit: "off" }]);
  await client.end();
  const shared = "SELECT * FROM pg_db_role_setting WHERE setdatabase <> 0";
  assert.deepEqual(await postgres.query(url, shared), [], "others may share the database");
  const silent = await postgres.query(
    url,
    `SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum >= 0 AND NOT a.attisdropped
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v')
       AND (col_description(c.oid, a.attnum) IS NULL OR obj_description(c.oid, 'pg_class') IS NULL)`,
  );
  assert.deepEqual(silent, []);
});
