import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";
import Sqlite from "better-sqlite3";
import { KINDS, POLLED_KINDS } from "../../../../src/core/sensor.ts";
import {
  APPLICATION_ID,
  migrate,
  SCHEMA_VERSION,
  STEPS,
} from "../../../../src/pipeline/store/database/migrate.ts";
import { OLDEST_VERSION, rollBack } from "../../../../src/pipeline/store/database/rollback.ts";
import { openStore } from "../../../../src/pipeline/store/sqlite-store.ts";
import { runCommand } from "../../../support/run-command.ts";
import {
  append,
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

/** A store without rows as a version made it. */
function releasedStore(path: string, steps: readonly string[]): void {
  const db = new Sqlite(path);
  db.pragma("page_size = 4096");
  db.pragma("auto_vacuum = INCREMENTAL");
  db.pragma(`application_id = ${APPLICATION_ID}`);
  migrate(db, path, steps);
  db.pragma("journal_mode = WAL");
  db.close();
}

test("rollback – a migrated store returns to the form that 0.2 made, with every reading and everything pending", async (t) => {
  const dataDir = tempDirectory(t);
  const path = join(dataDir, "gateside.db");
  releasedStore(path, STEPS.slice(0, OLDEST_VERSION));
  const before = schemaOf(path);
  const store = openStore(storeOptions(dataDir));
  const writer = store.readings.begin(keyOf("1"));
  for (let i = 0; i < 3; i++) await writer.add(readingOf("1", START_MS + i * 1000));
  await writer.commit({ checkpoint: null, records: 3 });
  await store.close();
  assert.equal(schemaOf(path).at(-1), SCHEMA_VERSION);

  assert.deepEqual(rollBack(dataDir, OLDEST_VERSION), {
    from: SCHEMA_VERSION,
    to: OLDEST_VERSION,
  });
  assert.deepEqual(schemaOf(path), before);
  const old = new Sqlite(path, { readonly: true });
  const count = (sql: string) => old.prepare(sql).pluck().get();
  assert.equal(count("SELECT count(*) FROM readings"), 3);
  assert.equal(
    count(
      "SELECT count(*) FROM outbox JOIN lanes USING (lane) WHERE uplink = 'main' AND format = 'json'",
    ),
    3,
  );
  assert.equal(old.pragma("integrity_check", { simple: true }), "ok");
  old.close();
  // And forwards again.
  const again = openStore(storeOptions(dataDir));
  assert.equal(again.outbox.depth("json").readings, 3);
  await again.close();
});

test("rollback – every migration has its reverse: the schema of each version is restored", (t) => {
  assert.ok(SCHEMA_VERSION > OLDEST_VERSION);
  for (let version = SCHEMA_VERSION; version > OLDEST_VERSION; version -= 1) {
    const [before, dataDir] = [tempDirectory(t), tempDirectory(t)];
    const [path, old] = [join(dataDir, "gateside.db"), join(before, "gateside.db")];
    releasedStore(path, STEPS.slice(0, version));
    releasedStore(old, STEPS.slice(0, version - 1));
    assert.notDeepEqual(schemaOf(path), schemaOf(old), `migration ${version} changes nothing`);
    assert.deepEqual(rollBack(dataDir, version - 1), { from: version, to: version - 1 });
    assert.deepEqual(schemaOf(path), schemaOf(old), `the step back from ${version}`);
  }
});

/** The schema of each release, what it sends, and a commit with its program; where a clone has no history, it is not tried. */
const RELEASES = [{ to: 5, kinds: [...POLLED_KINDS, "event", "node"], commit: "8d7866b4" }];

for (const { to, kinds, commit } of RELEASES) {
  test(`rollback – to schema ${to}: no table holds anything of a kind that its release does not send, and that release opens the store`, async (t) => {
    const dataDir = tempDirectory(t);
    const path = join(dataDir, "gateside.db");
    const store = openStore(storeOptions(dataDir));
    for (const kind of KINDS) await append(store, [readingOf("1", START_MS, { kind })]);
    await store.close();
    const db = new Sqlite(path);
    db.exec("INSERT INTO streams (sensor, kind) VALUES ('1', 'event')");
    fillEveryTable(db);
    db.close();

    rollBack(dataDir, to);
    const old = new Sqlite(path, { readonly: true });
    const list = (sql: string) => old.prepare(sql).pluck().all();
    assert.deepEqual(list("SELECT kind FROM streams ORDER BY kind"), [...kinds].sort());
    for (const [table, stream] of filedTables(old)) {
      const found = list(
        `SELECT DISTINCT coalesce(kind, 'unknown') FROM "${table}" f LEFT JOIN streams s ON s.stream = ${stream} ORDER BY 1`,
      );
      assert.deepEqual(found, [...kinds].sort(), table);
    }
    old.close();
    assert.equal(await startReleased(t, commit, dataDir), "");
    await openStore(storeOptions(dataDir)).close();
  });
}

/** Each table of streams, and how a row of it says its own. */
function filedTables(db: Sqlite.Database): [table: string, stream: string][] {
  return db
    .prepare<[], { name: string; column: string }>(
      `SELECT m.name, c.name AS column FROM sqlite_master m, pragma_table_info(m.name) c
       WHERE m.type = 'table' AND m.name <> 'streams' AND c.name IN ('stream', 'place')`,
    )
    .all()
    .map(({ name, column }) => [name, column === "place" ? "f.place & 1048575" : "f.stream"]);
}

/** A row of each stream in each table that has none of it. */
function fillEveryTable(db: Sqlite.Database): void {
  const streams = db.prepare<[], number>("SELECT stream FROM streams").pluck().all();
  const lane = Number(db.prepare("SELECT min(lane) FROM lanes").pluck().get());
  for (const [table, stream] of filedTables(db)) {
    const columns = db.prepare<[], string>(`SELECT name FROM pragma_table_info('${table}')`);
    const names = columns.pluck().all();
    for (const own of streams) {
      const has = db.prepare(`SELECT 1 FROM "${table}" f WHERE ${stream} = ?`).get(own);
      if (has !== undefined) continue;
      const values = names.map((name) => valueOf(name, own, lane));
      db.prepare(
        `INSERT INTO "${table}" (${names.map((name) => `"${name}"`).join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
      ).run(values);
    }
  }
}

function valueOf(column: string, stream: number, lane: number): number | string | null {
  const hour = START_MS / 3_600_000;
  const known: Record<string, number | string | null> = {
    stream,
    place: hour * 2 ** 20 + stream,
    hour,
    time_ms: START_MS,
    lane,
    seq: 1_000_000 + stream,
    day: "2026-11-20",
    checkpoint: null,
    reason: "buffer_full",
    uplink: "main",
    value: "rpm",
    id: `id ${stream}`,
    reading_id: `id ${stream}`,
  };
  return column in known ? (known[column] ?? null) : stream;
}

/** Starts the released agent over the store and ends it; the reasons of a store that it could not use, empty for none. */
async function startReleased(t: TestContext, commit: string, dataDir: string): Promise<string> {
  const root = join(import.meta.dirname, "../../../..");
  if (spawnSync("git", ["cat-file", "-e", commit], { cwd: root }).status !== 0) {
    t.diagnostic(`no history here: the program of ${commit} was not tried`);
    return "";
  }
  const place = tempDirectory(t);
  const archive = spawnSync("git", ["archive", commit, "src", "package.json", "config"], {
    cwd: root,
    maxBuffer: 64 << 20,
  });
  spawnSync("tar", ["-x", "-C", place], { input: archive.stdout });
  symlinkSync(join(root, "node_modules"), join(place, "node_modules"));
  const sensor = { code: "1", type: 3, kinds: ["rpm"] };
  writeFileSync(
    join(place, "config/site.json"),
    JSON.stringify({ site: "plant", sensors: [sensor] }),
  );
  const loader = join(root, "node_modules/tsx/dist/loader.mjs");
  const child = spawn(process.execPath, ["--import", loader, "src/main.ts", "run"], {
    cwd: place,
    env: {
      PATH: process.env["PATH"],
      DATA_DIR: dataDir,
      GATEWAY_URL: "http://127.0.0.1:9",
      MQTT_URL: "mqtt://127.0.0.1:9",
      HTTP_PORT: "0",
      DISK_FREE_MIN_MB: "0",
    },
  });
  t.after(() => child.kill("SIGKILL"));
  let said = "";
  child.stderr.on("data", (part) => {
    said += part;
  });
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.includes("http listening")) child.kill("SIGTERM");
    if (/stor|database/.test(line) && Number(/"level":(\d+)/.exec(line)?.[1]) >= 40) said += line;
  }
  if (child.exitCode === null) await once(child, "exit");
  return child.exitCode === 0 ? said : `exit code ${child.exitCode}: ${said}`;
}

test("rollback – a running agent, a version that never existed, and no store are refused", async (t) => {
  const dataDir = tempDirectory(t);
  assert.throws(() => rollBack(dataDir, OLDEST_VERSION), /does not exist/);
  const store = openStore(storeOptions(dataDir));
  assert.throws(() => rollBack(dataDir, OLDEST_VERSION), /another agent is running/);
  assert.throws(() => rollBack(dataDir, 1), /no schema version 1, only 5/);
  await store.close();
  // Half a copy of a damaged file would become the store.
  writeFileSync(join(dataDir, "gateside.db.corrupt-x"), "");
  writeFileSync(join(dataDir, "gateside.db.saving"), "gateside.db.corrupt-x");
  assert.throws(() => rollBack(dataDir, OLDEST_VERSION), /incomplete copy of a damaged store/);
});

test("rollback – the command reports what it did, and a wrong version is a wrong flag", async (t) => {
  const cwd = tempDirectory(t);
  await openStore(storeOptions(cwd)).close();
  const at = { cwd, env: { DATA_DIR: cwd } };
  assert.equal((await runCommand(["rollback", "--to", "99"], at)).code, 2);
  assert.equal((await runCommand(["rollback", "--to", "4"], at)).code, 2);
  const done = await runCommand(["rollback", "--to", "5"], at);
  assert.equal(done.code, 0, done.stderr);
  assert.match(
    done.stdout,
    /was rolled back from schema version \d+ to 5; install the older package now/,
  );
});
