import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import Sqlite from "better-sqlite3";
import { Database } from "../../../../src/pipeline/store/database/database.ts";
import { SCHEMA_VERSION } from "../../../../src/pipeline/store/database/migrate.ts";
import { StoreFailure } from "../../../../src/pipeline/store/database/store-failure.ts";
import { OUTBOX_SQL } from "../../../../src/pipeline/store/outbox/leasing.ts";
import { openReadOnly } from "../../../../src/pipeline/store/read-only-store.ts";
import { HISTORY_SQL } from "../../../../src/pipeline/store/readings/history.ts";
import {
  COUNT_SQL,
  MERGED_SQL,
  ORDER_SQL,
} from "../../../../src/pipeline/store/readings/merged-pages.ts";
import { openStore } from "../../../../src/pipeline/store/sqlite-store.ts";
import { COUNTED } from "../../../support/count.ts";
import {
  append,
  DAY_MS,
  idsOf,
  keyOf,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
  tempStore,
  waveformOf,
} from "../../../support/temp-database.ts";

const failsWith = (code: string) => (error: unknown) =>
  error instanceof StoreFailure && error.code === code;
const readings = (count: number, sensor = "1") =>
  Array.from({ length: count }, (_, n) => readingOf(sensor, START_MS + n * 10_000));
const setAside = (directory: string) =>
  readdirSync(directory).filter((name) => name.includes(".corrupt-") && !name.endsWith("-wal"));

async function filled(directory: string, count: number): Promise<void> {
  const store = openStore(storeOptions(directory));
  await append(store, readings(count), undefined, "seen");
  await store.close();
}

test("database – a second agent in the directory is refused and the first keeps running", async (t) => {
  const directory = tempDirectory(t);
  const store = openStore(storeOptions(directory));
  assert.throws(() => openStore(storeOptions(directory)), failsWith("in_use"));
  const script = `import("./src/pipeline/store/database/directory-lock.ts").then(({ DirectoryLock }) => {
    try { DirectoryLock.take(${JSON.stringify(directory)}); } catch (error) { console.log(error.code); } });`;
  const other = spawnSync(process.execPath, ["--import", "tsx", "-e", script], {
    encoding: "utf8",
  });
  assert.equal(other.stdout.trim(), "in_use", other.stderr);
  assert.equal(await append(store, readings(1)), 1);
  await store.close();
  await openStore(storeOptions(directory)).close();
});

test("database – every open uses WAL with full syncs, whatever better-sqlite3 was compiled with", async (t) => {
  const directory = tempDirectory(t);
  await filled(directory, 1);
  const db = new Database({ dataDir: directory, checkpointBytes: 400 << 10 });
  t.after(() => db.close());
  for (let opened = 0; opened < 2; opened++) {
    db.open();
    assert.equal(db.writer.pragma("synchronous", { simple: true }), 2);
    assert.equal(db.writer.pragma("journal_mode", { simple: true }), "wal");
    db.close();
  }
});

test("database – the cap of the file and the distance of checkpoints are in bytes, whatever pages the file has", (t) => {
  const directory = tempDirectory(t);
  const db = new Database({ dataDir: directory, checkpointBytes: 400 << 10 });
  t.after(() => db.close());
  db.open();
  const pragma = (name: string) => Number(db.writer.pragma(name, { simple: true }));
  assert.equal(db.pageBytes, 1024);
  db.capPages(4096);
  assert.equal(pragma("max_page_count"), 4096);
  assert.equal(pragma("wal_autocheckpoint"), 400);
  db.disconnect();
  // As an earlier version would have made it.
  const file = new Sqlite(db.path);
  file.pragma("journal_mode = DELETE");
  file.pragma("page_size = 4096");
  file.exec("VACUUM");
  file.close();
  db.open();
  assert.equal(db.pageBytes, 4096);
  assert.equal(pragma("max_page_count"), 1024);
  assert.equal(pragma("wal_autocheckpoint"), 100);
});

test("database – a clean stop leaves no -wal behind", async (t) => {
  const directory = tempDirectory(t);
  await filled(directory, 10);
  assert.equal(existsSync(join(directory, "gateside.db-wal")), false);
});

test("database – a newer schema is left alone and both versions are named", async (t) => {
  const directory = tempDirectory(t);
  await filled(directory, 3);
  const path = join(directory, "gateside.db");
  const db = new Sqlite(path);
  db.pragma("user_version = 99");
  db.close();
  const before = readFileSync(path);
  assert.throws(
    () => openStore(storeOptions(directory)),
    (error: unknown) => {
      assert.ok(failsWith("schema_newer")(error));
      assert.match(String(error), new RegExp(`99.*${SCHEMA_VERSION}`));
      return true;
    },
  );
  assert.deepEqual(readFileSync(path), before);
});

for (const [what, spoil] of [
  ["garbage", (path: string) => writeFileSync(path, Buffer.alloc(10_000, "no database "))],
  ["empty", (path: string) => truncateSync(path, 0)],
  ["cut short", (path: string) => truncateSync(path, 5000)],
  [
    "another program's",
    (path: string) => {
      writeFileSync(path, "");
      const db = new Sqlite(path);
      db.exec("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)");
      db.close();
    },
  ],
] as const) {
  test(`database – a file that is ${what} is set aside with an alarm, and a new one is created`, async (t) => {
    const directory = tempDirectory(t);
    await filled(directory, 100);
    spoil(join(directory, "gateside.db"));
    const store = openStore(storeOptions(directory));
    t.after(() => store.close());
    assert.equal(setAside(directory).length, 1);
    assert.match(store.state().alarm ?? "", /damaged/);
    assert.equal(store.state().isWritable, true);
    assert.ok((await append(store, readings(100))) > 0);
    assert.equal(store.state().readings, 100);
  });
}

test("database – everything readable in a damaged file is saved, and what may be undelivered is pending again", async (t) => {
  const directory = tempDirectory(t);
  const count = 20_000;
  await filled(directory, count);
  const path = join(directory, "gateside.db");
  // A process that was killed leaves a -wal: that is when the file is checked.
  writeFileSync(`${path}-wal`, Buffer.alloc(64));
  const file = openSync(path, "r+");
  const pages = statSync(path).size / 4096;
  for (const share of [0.3, 0.6])
    writeSync(file, Buffer.alloc(4096, 0xee), 0, 4096, Math.floor(pages * share) * 4096);
  closeSync(file);
  const store = openStore(storeOptions(directory));
  t.after(() => store.close());
  const saved = store.state().readings;
  assert.ok(saved > count * 0.2 && saved <= count, `${saved} of ${count} saved`);
  assert.equal(store.outbox.depth("json").readings, saved);
  assert.equal(store.readings.progress(keyOf("1")), null, "lost days are read again");
  assert.equal(await append(store, readings(count)), count - saved);
});

test("database – file ids are not reused after damage", async (t) => {
  const directory = tempDirectory(t);
  const accel = [readingOf("1", START_MS, { kind: "accel", waveform: waveformOf(8, 1) })];
  const store = openStore(storeOptions(directory));
  await append(store, accel);
  await store.close();
  writeFileSync(join(directory, "gateside.db"), "gone");
  const again = openStore(storeOptions(directory));
  t.after(() => again.close());
  await append(again, accel);
  const fileId = again.history.latest("1", "accel")?.waveforms[0]?.fileId ?? 0;
  assert.ok(fileId > 1 && fileId < 2 ** 31, String(fileId));
});

test("database – a file found damaged while running is set aside and the agent continues", async (t) => {
  const directory = tempDirectory(t);
  await filled(directory, 20_000);
  const store = openStore(storeOptions(directory));
  t.after(() => store.close());
  const path = join(directory, "gateside.db");
  const file = openSync(path, "r+");
  for (let page = 2; page < statSync(path).size / 4096; page++)
    writeSync(file, Buffer.alloc(4096, 0xee), 0, 4096, page * 4096);
  closeSync(file);
  for (let n = 0; n < 50; n++) store.outbox.lease("json", "backlog", 1000);
  assert.equal(setAside(directory).length, 1);
  assert.ok((await append(store, readings(10, "2"))) === 10);
  assert.equal(store.state().isWritable, true);
});

test("database – export reads beside a running agent and sees what is committed", async (t) => {
  const directory = tempDirectory(t);
  assert.throws(() => openReadOnly(directory), failsWith("missing"));
  const store = openStore(storeOptions(directory));
  t.after(() => store.close());
  await append(store, readings(3));
  // A package says where its binding of SQLite is.
  assert.throws(() => openReadOnly(directory, join(directory, "none.node")));
  const reader = openReadOnly(directory, undefined, COUNTED);
  t.after(() => reader.close());
  const range = { fromMs: START_MS, toMs: START_MS + DAY_MS };
  assert.equal([...reader.history.range(range)].length, 3);
  await append(store, readings(2, "2"));
  // A sensor that is newer than the reader's memory, by its code and kind.
  const seen = [...reader.history.range({ ...range, sensor: "2", kind: "rpm" })];
  assert.deepEqual(
    seen.map(({ sensor, kind }) => [sensor, kind]),
    [
      ["2", "rpm"],
      ["2", "rpm"],
    ],
  );
  assert.equal([...reader.history.range(range)].length, 5);
  assert.deepEqual(
    reader.history.streams().map(({ sensor, kind }) => `${sensor} ${kind}`),
    ["1 rpm", "2 rpm"],
  );
  // Units, and a sensor asked for by the hour.
  const later = { ...range, fromMs: START_MS + 60_000 };
  await append(store, [readingOf("1", later.fromMs, { units: { rpm: "Hz" } })]);
  const units = [...reader.history.range(later)].map((one) => one.units);
  assert.deepEqual(units, ['{"rpm":"Hz"}']);
  await append(store, readings(2, "3"));
  const hours = { ...range, sensor: "3", kind: "rpm", span: "hours", values: null } as const;
  assert.deepEqual(
    [...reader.hours.points(hours)].map((point) => point.readings),
    COUNTED === undefined ? [] : [2],
  );
});

test("database – export looks for no kept samples, which a store of an earlier version cannot have", async (t) => {
  const directory = tempDirectory(t);
  const store = openStore(storeOptions(directory));
  await append(store, readings(1));
  await store.close();
  const db = new Sqlite(join(directory, "gateside.db"));
  db.exec("DROP TABLE kept_samples");
  db.close();
  const reader = openReadOnly(directory);
  t.after(() => reader.close());
  assert.equal(reader.waveforms.read(7), null);
});

test("database – small values and commands survive the process", async (t) => {
  const directory = tempDirectory(t);
  let store = openStore(storeOptions(directory));
  store.meta.set("bdSeq", "7");
  const command = {
    receivedAtMs: START_MS,
    key: "k",
    sensor: "1",
    source: "mqtt" as const,
    payload: "{}",
  };
  const number = store.commands.begin(command);
  store.commands.begin({ ...command, key: "cut short" });
  void store.commands.finish(
    number,
    { outcome: "queued", statusNumber: 0, description: "ok" },
    START_MS + 5,
  );
  await store.close();
  store = openStore(storeOptions(directory));
  t.after(() => store.close());
  assert.equal(store.meta.get("bdSeq"), "7");
  assert.equal(store.commands.findByKey("k", START_MS)?.outcome, "queued");
  assert.equal(store.commands.findByKey("k", START_MS + 1), null);
  const cut = store.commands.findByKey("cut short", START_MS);
  assert.equal(cut?.outcome, "unknown");
  assert.match(cut?.description ?? "", /agent stopped before/);
  assert.equal(cut?.finishedAtMs, null);
  assert.equal(store.commands.lastQueued("1")?.finishedAtMs, START_MS + 5);
  assert.equal(store.commands.list(9).length, 2);
  assert.equal(store.commands.lastCall()?.key, "cut short");
});

test("database – queries of readings and outbox use indexes", (t) => {
  const directory = tempDirectory(t);
  const db = new Database({ dataDir: directory, checkpointBytes: 400 << 10 });
  db.open();
  t.after(() => db.close());
  const plan = (sql: string) =>
    db.reader
      .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...Array.from({ length: (sql.match(/\?/g) ?? []).length }, () => 1))
      .map(({ detail }) => detail)
      .join("; ");
  for (const sql of [
    ORDER_SQL,
    COUNT_SQL,
    ...[HISTORY_SQL, OUTBOX_SQL, ...Object.values(MERGED_SQL)].flatMap(Object.values<string>),
  ]) {
    const detail = plan(sql);
    assert.doesNotMatch(detail, /SCAN (?!json_each)/, `${sql}\n${detail}`);
    // Several sensors of one hour are sorted, by times and numbers alone.
    if (sql !== ORDER_SQL) assert.doesNotMatch(detail, /TEMP B-TREE/, `${sql}\n${detail}`);
  }
});

test("database – ids are read as they were written", async (t) => {
  const store = tempStore(t);
  const [reading] = readings(1);
  assert.ok(reading);
  await append(store, [reading]);
  const live = store.outbox.lease("json", "live", 1);
  assert.deepEqual(idsOf(live), [reading.id]);
  assert.deepEqual(
    { ...live[0]?.reading, seq: 0, storedAtMs: 0 },
    {
      seq: 0,
      id: reading.id,
      sensor: "1",
      kind: "rpm",
      timeMs: START_MS,
      offsetMinutes: -360,
      storedAtMs: 0,
      units: '{"rpm":"rpm"}',
      values: '{"rpm":1480}',
      quality: "{}",
      attributes: '{"version":12}',
      raw: '{"rpm":1480}',
      waveforms: [],
    },
  );
});
