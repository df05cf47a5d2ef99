import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import Sqlite from "better-sqlite3";
import {
  APPLICATION_ID,
  migrate,
  SCHEMA_VERSION,
  STEPS,
} from "../../../../src/pipeline/store/database/migrate.ts";
import { sql as released } from "../../../../src/pipeline/store/database/migrations/001-readings.ts";
import { rollBack } from "../../../../src/pipeline/store/database/rollback.ts";
import { openStore } from "../../../../src/pipeline/store/sqlite-store.ts";
import { runCommand } from "../../../support/run-command.ts";
import {
  keyOf,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
} from "../../../support/temp-database.ts";

/** Everything that makes the schema, in a fixed order, but for what a roll-back keeps. */
function schemaOf(path: string): unknown[] {
  const db = new Sqlite(path, { readonly: true });
  try {
    const columns = db
      .prepare(
        `SELECT m.type, m.name, p.name AS column, p.type AS columnType, p.pk FROM sqlite_master m
         LEFT JOIN pragma_table_info(m.name) p WHERE m.name NOT LIKE 'sqlite_%' AND m.tbl_name NOT LIKE 'kept_%'
         AND m.tbl_name NOT IN ('hour_series', 'hours', 'days', 'day_medians') ORDER BY m.name, p.cid`,
      )
      .all();
    return [...columns, db.pragma("user_version", { simple: true })];
  } finally {
    db.close();
  }
}

/** A store without rows as a version made it; by default as 0.1 did. */
function releasedStore(path: string, steps: readonly string[] = [released]): void {
  const db = new Sqlite(path);
  db.pragma("page_size = 4096");
  db.pragma("auto_vacuum = INCREMENTAL");
  db.pragma(`application_id = ${APPLICATION_ID}`);
  migrate(db, path, steps);
  db.pragma("journal_mode = WAL");
  db.close();
}

test("rollback – a migrated store returns to the form that 0.1 made, with every reading and everything pending", async (t) => {
  const dataDir = tempDirectory(t);
  const path = join(dataDir, "gateside.db");
  releasedStore(path);
  const before = schemaOf(path);
  const store = openStore(storeOptions(dataDir));
  const writer = store.readings.begin(keyOf("1"));
  for (let i = 0; i < 3; i++) await writer.add(readingOf("1", START_MS + i * 1000));
  await writer.commit({ checkpoint: null, records: 3 });
  await store.close();
  const db = new Sqlite(path);
  // An event of an alarm, owed to main and to another uplink.
  db.exec(`INSERT INTO streams (sensor, kind) VALUES ('1', 'event');
    INSERT INTO alarm_states VALUES ('1', '{}');
    INSERT INTO outbox (lane, hour, stream, time_ms, seq, is_future)
      SELECT 7, hour, stream, time_ms, seq, is_future FROM outbox;`);
  db.close();
  assert.equal(schemaOf(path).at(-1), SCHEMA_VERSION);

  assert.deepEqual(rollBack(dataDir, 1), { from: SCHEMA_VERSION, to: 1 });
  assert.deepEqual(schemaOf(path), before);
  const old = new Sqlite(path, { readonly: true });
  const count = (sql: string) => old.prepare(sql).pluck().get();
  assert.equal(count("SELECT count(*) FROM readings"), 3);
  assert.equal(count("SELECT count(*) FROM outbox WHERE lane = 0"), 3);
  assert.equal(count("SELECT count(*) FROM outbox WHERE lane > 4"), 0);
  assert.equal(count("SELECT count(*) FROM streams WHERE kind = 'event'"), 0);
  assert.equal(old.pragma("integrity_check", { simple: true }), "ok");
  old.close();
  // And forwards again.
  const again = openStore(storeOptions(dataDir));
  assert.equal(again.outbox.depth("json").readings, 3);
  await again.close();
});

test("rollback – a store with small pages is copied to the page size of older versions, and keeps its readings", async (t) => {
  const dataDir = tempDirectory(t);
  const store = openStore(storeOptions(dataDir));
  const writer = store.readings.begin(keyOf("1"));
  for (let i = 0; i < 300; i++) await writer.add(readingOf("1", START_MS + i * 1000));
  await writer.commit({ checkpoint: null, records: 300 });
  await store.close();
  const pragma = (name: string) => {
    const db = new Sqlite(join(dataDir, "gateside.db"), { readonly: true });
    try {
      return db.pragma(name, { simple: true });
    } finally {
      db.close();
    }
  };
  assert.equal(pragma("page_size"), 1024);
  rollBack(dataDir, 1);
  assert.equal(pragma("page_size"), 4096);
  assert.equal(pragma("journal_mode"), "wal");
  assert.equal(pragma("integrity_check"), "ok");
  // Its pages stay as they are when the newer program comes back.
  const again = openStore(storeOptions(dataDir));
  assert.equal(again.outbox.depth("json").readings, 300);
  await again.close();
  assert.equal(pragma("page_size"), 4096);
});

test("rollback – every migration has its reverse: the schema of each version is restored", (t) => {
  assert.ok(SCHEMA_VERSION > 1);
  for (let version = SCHEMA_VERSION; version > 1; version -= 1) {
    const [before, dataDir] = [tempDirectory(t), tempDirectory(t)];
    const [path, old] = [join(dataDir, "gateside.db"), join(before, "gateside.db")];
    releasedStore(path, STEPS.slice(0, version));
    releasedStore(old, STEPS.slice(0, version - 1));
    assert.notDeepEqual(schemaOf(path), schemaOf(old), `migration ${version} changes nothing`);
    assert.deepEqual(rollBack(dataDir, version - 1), { from: version, to: version - 1 });
    assert.deepEqual(schemaOf(path), schemaOf(old), `the step back from ${version}`);
  }
});

test("rollback – a running agent, a version that never existed, and no store are refused", async (t) => {
  const dataDir = tempDirectory(t);
  assert.throws(() => rollBack(dataDir, 1), /does not exist/);
  const store = openStore(storeOptions(dataDir));
  assert.throws(() => rollBack(dataDir, 1), /another agent is running/);
  assert.throws(() => rollBack(dataDir, 0), /no schema version 0/);
  await store.close();
});

test("rollback – the command reports what it did, and a wrong version is a wrong flag", async (t) => {
  const cwd = tempDirectory(t);
  await openStore(storeOptions(cwd)).close();
  const at = { cwd, env: { DATA_DIR: cwd } };
  assert.equal((await runCommand(["rollback", "--to", "99"], at)).code, 2);
  const done = await runCommand(["rollback", "--to", "1"], at);
  assert.equal(done.code, 0, done.stderr);
  assert.match(
    done.stdout,
    /was rolled back from schema version \d+ to 1; install the older package now/,
  );
});
