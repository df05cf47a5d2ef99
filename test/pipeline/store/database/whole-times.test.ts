/** Whole milliseconds in every time column: what 0.2 stored is mended, and nothing else is accepted any more. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import Sqlite from "better-sqlite3";
import { APPLICATION_ID, migrate, STEPS } from "../../../../src/pipeline/store/database/migrate.ts";
import { openStore } from "../../../../src/pipeline/store/sqlite-store.ts";
import { START_MS, storeOptions, tempDirectory } from "../../../support/temp-database.ts";

const HOUR_MS = 3_600_000;
/** A store as 0.2 makes it. */
const RELEASED = STEPS.slice(0, 5);

function releasedStore(dataDir: string): Sqlite.Database {
  const path = join(dataDir, "gateside.db");
  const db = new Sqlite(path);
  db.pragma("auto_vacuum = INCREMENTAL");
  db.pragma(`application_id = ${APPLICATION_ID}`);
  migrate(db, path, RELEASED);
  db.exec(`INSERT INTO lanes (lane, uplink, format) VALUES (0, 'main', 'json'), (5, 'cloud', 'json'), (6, 'cloud', 'plain');
    INSERT INTO streams VALUES (1, '1', 'rpm'), (2, '1', 'event'); INSERT INTO unit_sets VALUES (1, '{}');`);
  return db;
}

/** A row as 0.2 writes it; returns its number. */
function insert(db: Sqlite.Database, stream: number, timeMs: number): number {
  const { lastInsertRowid } = db
    .prepare(
      `INSERT INTO readings (stream, time_ms, id, is_future, stored_at_ms, unit_set, "values", quality, attributes, raw)
       VALUES (?, ?, ?, ?, ?, 1, '{"time":"2026-11-20T00:00:00.000Z"}', '{}', '{}', '{}')`,
    )
    .run(stream, timeMs, Buffer.alloc(16, `${stream} ${timeMs}`), stream - 1, START_MS);
  return Number(lastInsertRowid);
}

const owe = (db: Sqlite.Database, lane: number, stream: number, timeMs: number, seq: number) =>
  db
    .prepare("INSERT INTO outbox VALUES (?, ?, ?, ?, ?, ?)")
    .run(lane, Math.trunc(timeMs / HOUR_MS), stream, timeMs, seq, stream - 1);

test("whole times – events that 0.2 stored with fractions of a millisecond are mended, and those that it lost are told as gaps", async (t) => {
  const dataDir = tempDirectory(t);
  const old = releasedStore(dataDir);
  for (let n = 0; n < 48; n++) {
    insert(old, 1, START_MS + n * HOUR_MS);
    const eventMs = START_MS + n * HOUR_MS + 600_000.3892;
    owe(old, 0, 2, eventMs, insert(old, 2, eventMs));
  }
  // Their readings went with a full buffer, which took them for delivered.
  for (const [lane, n] of [
    [0, 1001],
    [0, 1002],
    [5, 1001],
    [6, 1001],
  ] as const)
    owe(old, lane, 2, START_MS - n + 0.25, n);
  old.prepare("INSERT INTO meta VALUES ('dropped', ?)").run('{"buffer_full":7,"too_old":1}');
  old.close();

  const store = openStore(storeOptions(dataDir));
  const query = { fromMs: START_MS - HOUR_MS, toMs: START_MS + 48 * HOUR_MS };
  const times = (order: "asc" | "desc") =>
    [...store.history.range({ ...query, order })].map(({ timeMs }) => timeMs);
  assert.equal(times("desc").length, 48);
  assert.deepEqual(times("desc"), times("asc").toReversed());
  const gaps = store.gaps.pendingGaps(10);
  assert.deepEqual(
    gaps.map(({ kind, count, reason, uplink = "main" }) => [kind, count, reason, uplink]).sort(),
    [
      ["event", 1, "buffer_full", "cloud"],
      ["event", 2, "buffer_full", "main"],
    ],
  );
  assert.deepEqual(store.state().dropped, { buffer_full: 9, too_old: 1 });
  assert.equal(store.outbox.depth("json").readings, 48);
  const sent = store.outbox.lease("json", "live", 100);
  assert.ok(sent.every(({ reading }) => Number.isInteger(reading.timeMs)));
  await store.close();
  const db = new Sqlite(join(dataDir, "gateside.db"), { readonly: true });
  t.after(() => db.close());
  for (const table of ["readings", "outbox", "gaps"]) {
    const column = table === "gaps" ? "from_ms" : "hour";
    const types = db.prepare(`SELECT DISTINCT typeof(${column}) FROM ${table}`).pluck().all();
    assert.deepEqual(types, ["integer"], table);
  }
  assert.equal(db.pragma("integrity_check", { simple: true }), "ok");
});

test("whole times – every time column of every table refuses anything but a whole number", (t) => {
  const path = join(tempDirectory(t), "gateside.db");
  const db = new Sqlite(path);
  t.after(() => db.close());
  migrate(db, path);
  const columns = db
    .prepare<[], { name: string; column: string; type: string }>(
      `SELECT m.name, p.name AS column, p.type FROM sqlite_master m JOIN pragma_table_info(m.name) p
       WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name, p.cid`,
    )
    .all();
  const isTime = (column: string) => /(_ms|hour)$/.test(column);
  let tried = 0;
  for (const table of new Set(columns.map(({ name }) => name))) {
    const all = columns.filter(({ name }) => name === table);
    const names = all.map(({ column }) => `"${column}"`).join();
    const insertRow = db.prepare(
      `INSERT INTO ${table} (${names}) VALUES (${all.map(() => "?").join()})`,
    );
    const usual = all.map(({ type }, n) => (type === "TEXT" ? `${n}` : n + 1));
    const rowWith = (column: string, value: unknown) =>
      usual.map((one, n) => (all[n]?.column === column ? value : one));
    for (const { column } of all.filter((one) => isTime(one.column))) {
      for (const value of [1.5, "soon", Buffer.from("1")]) {
        assert.throws(() => insertRow.run(rowWith(column, value)), /no whole number/, column);
        tried += 1;
      }
    }
    insertRow.run(usual);
    for (const { column } of all.filter((one) => isTime(one.column))) {
      const update = db.prepare(`UPDATE ${table} SET ${column} = ?`);
      assert.throws(() => update.run(1.5), /no whole number/, `${table}.${column}`);
      update.run(86_400_000);
    }
  }
  assert.ok(tried >= 45, `${tried} tried`);
});
