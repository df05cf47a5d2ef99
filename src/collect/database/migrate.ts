import type { ClientBase } from "pg";
import { ConnectionFailure } from "./failure.ts";
import { READINGS } from "./migrations/001-readings.ts";
import { NAMES } from "./migrations/002-names.ts";
import { HORIZON } from "./migrations/003-horizon.ts";
import { HOURS } from "./migrations/004-hours.ts";
import { DAYS } from "./migrations/007-days.ts";
import { RIGHTS } from "./migrations/008-rights.ts";
import { MACHINES } from "./migrations/009-machines.ts";
import { FLEET, REJECTED, RUNS, SESSIONS } from "./migrations/short-steps.ts";
import { DatabaseUnfit, poorEncoding } from "./session-settings.ts";

interface MigrationStep {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
}

/** In order; a step is never edited once released. */
const STEPS: readonly MigrationStep[] = [
  { number: 1, name: "readings", sql: READINGS },
  { number: 2, name: "names", sql: NAMES },
  { number: 3, name: "horizon", sql: HORIZON },
  { number: 4, name: "hours", sql: HOURS },
  { number: 5, name: "fleet", sql: FLEET },
  { number: 6, name: "rejected", sql: REJECTED },
  { number: 7, name: "days", sql: DAYS },
  { number: 8, name: "rights", sql: RIGHTS },
  { number: 9, name: "machines", sql: MACHINES },
  { number: 10, name: "runs", sql: RUNS },
  { number: 11, name: "sessions", sql: SESSIONS },
];

export const SCHEMA_VERSION = STEPS.length;

/** The database does not have the required schema, and this role may not change it. */
export class SchemaFailure extends ConnectionFailure {
  readonly code = "schema";
}

/** How long another process that migrates is waited for before it is reported, ms. */
const LOCK_WAIT_MS = 10_000;
const LOCK_RETRY_MS = 250;
const LOCK = "hashtext('gateside'), hashtext('migrate')";

/** Another session migrates, or has left its lock behind; the code lets it be tried again. */
class MigrationLocked extends Error {
  readonly code = "55P03";
}

/**
 * Updates the schema to this program's version, one transaction per step. Several processes may start at once: one does
 * it. Throws a `SchemaFailure` if the database is newer, or older and this role may not create tables. Returns the
 * steps taken.
 */
export async function migrate(client: ClientBase, lockWaitMs = LOCK_WAIT_MS): Promise<number> {
  const first = await dueSteps(client);
  if (first.length === 0) return 0;
  const encoding = first.length === STEPS.length ? await poorEncoding(client) : null;
  if (encoding !== null)
    throw new DatabaseUnfit(
      `the database has the encoding ${encoding}, which does not hold every text: create it with ENCODING 'UTF8' TEMPLATE template0`,
    );
  await lock(client, lockWaitMs);
  try {
    const due = await dueSteps(client);
    for (const step of due) await take(client, step);
    if (due.length > 0) await grant(client);
    return due.length;
  } finally {
    await client.query(`SELECT pg_advisory_unlock(${LOCK})`);
  }
}

async function dueSteps(client: ClientBase): Promise<readonly MigrationStep[]> {
  const at = await versionOf(client);
  if (at > SCHEMA_VERSION)
    throw new SchemaFailure(
      `the database has schema ${at}, but this program supports only up to ${SCHEMA_VERSION}: update gateside on this machine first`,
    );
  return STEPS.slice(at);
}

/** Never waits in silence: a pooler can leave a lock behind that nobody releases. */
async function lock(client: ClientBase, waitMs: number): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += LOCK_RETRY_MS) {
    const { rows } = await client.query<{ taken: boolean }>(
      `SELECT pg_try_advisory_lock(${LOCK}) AS taken`,
    );
    if (rows[0]?.taken === true) return;
    if (waitedMs >= waitMs) break;
    await new Promise((resolve) => setTimeout(resolve, LOCK_RETRY_MS));
  }
  const { rows } = await client.query<{ holder: string }>(
    `SELECT format('%s (process %s)', coalesce(nullif(a.application_name, ''), 'a session without a name'), l.pid) AS holder
     FROM pg_locks l LEFT JOIN pg_stat_activity a USING (pid)
     WHERE l.locktype = 'advisory' AND l.granted AND (l.classid::bigint, l.objid::bigint)
       = (hashtext('gateside')::bigint & 4294967295, hashtext('migrate')::bigint & 4294967295)`,
  );
  throw new MigrationLocked(
    `the migration lock is held by ${rows[0]?.holder ?? "another session"}; waiting until it is released`,
  );
}

async function versionOf(client: ClientBase): Promise<number> {
  const { rows } = await client.query<{ is_there: boolean }>(
    "SELECT to_regclass('gateside_schema') IS NOT NULL AS is_there",
  );
  if (rows[0]?.is_there !== true) return 0;
  const found = await client.query<{ number: number }>(
    "SELECT coalesce(max(number), 0) AS number FROM gateside_schema",
  );
  return found.rows[0]?.number ?? 0;
}

async function take(client: ClientBase, { number, name, sql }: MigrationStep): Promise<void> {
  try {
    await client.query("BEGIN");
    await client.query(
      "CREATE TABLE IF NOT EXISTS gateside_schema (number integer PRIMARY KEY, name text NOT NULL, taken timestamptz NOT NULL DEFAULT now())",
    );
    await client.query(sql);
    await client.query("INSERT INTO gateside_schema (number, name) VALUES ($1, $2)", [
      number,
      name,
    ]);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK");
    if (error instanceof Error && Reflect.get(error, "code") === "42501")
      throw new SchemaFailure(
        `this role may not create tables (${error.message}): run \`gateside collect --migrate-only\` as the owner of the database`,
      );
    throw error;
  }
}

/**
 * Permissions of the roles gateside_writer (collectors) and gateside_reader (dashboards). The roles are created if this
 * role may; a database owner who may not creates them with deploy/sql/roles.sql, which grants the same.
 */
async function grant(client: ClientBase): Promise<void> {
  await client.query(GRANTS);
}

const quoted = (names: readonly string[]) => names.map((name) => `'${name}'`).join(", ");

/** Functions with the owner's rights. */
const FUNCTIONS = [
  "gateside_make_partitions(timestamptz)",
  "gateside_drop_partitions(timestamptz)",
  "gateside_join_names(text[])",
  "gateside_join_names(text[], text[])",
  "gateside_raise_horizon(timestamptz)",
  "gateside_drop_week(text)",
  "gateside_settle_hours(integer)",
  "gateside_settle_days(integer)",
  "gateside_drop_hours(timestamptz)",
];

/** What collectors change; to everything else they only add. */
const UPDATED = [
  "box",
  "sensor",
  "latest_reading",
  "hour_mark",
  "rejected",
  "collector_session",
  "machine",
  "heard",
];
/** Written by the functions alone. */
const COMPUTED = [
  "gateside_schema",
  "horizon",
  "hour_series",
  "hour_value",
  "day_value",
  "day_mark",
];

const GRANTS = `DO $$
DECLARE
  role text;
  callable text;
  name text;
  here text := quote_ident(current_schema());
BEGIN
  FOREACH role IN ARRAY ARRAY['gateside_writer', 'gateside_reader'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
      BEGIN
        EXECUTE format('CREATE ROLE %I NOLOGIN', role);
      EXCEPTION WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN NULL;
      END;
    END IF;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
      EXECUTE format('GRANT USAGE ON SCHEMA %s TO %I', here, role);
      EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %s TO %I', here, role);
    END IF;
  END LOOP;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'gateside_writer') THEN
    EXECUTE format('REVOKE UPDATE ON ALL TABLES IN SCHEMA %s FROM gateside_writer', here);
    EXECUTE format('GRANT INSERT ON ALL TABLES IN SCHEMA %s TO gateside_writer', here);
    FOREACH name IN ARRAY ARRAY[${quoted(UPDATED)}] LOOP
      EXECUTE format('GRANT UPDATE ON %s.%I TO gateside_writer', here, name);
    END LOOP;
    FOREACH name IN ARRAY ARRAY[${quoted(COMPUTED)}] LOOP
      EXECUTE format('REVOKE INSERT ON %s.%I FROM gateside_writer', here, name);
    END LOOP;
    EXECUTE format('GRANT DELETE ON %1$s.rejected, %1$s.collector_session, %1$s.box, %1$s.sensor, %1$s.machine, %1$s.heard TO gateside_writer', here);
  END IF;
  FOREACH callable IN ARRAY ARRAY[${quoted(FUNCTIONS)}] LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s.%s FROM PUBLIC', here, callable);
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'gateside_writer') THEN
      EXECUTE format('GRANT EXECUTE ON FUNCTION %s.%s TO gateside_writer', here, callable);
    END IF;
  END LOOP;
END $$`;
