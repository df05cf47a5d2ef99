import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import Sqlite from "better-sqlite3";
import type { SchemaStep } from "../../../src/pipeline/store/database/schema-step.ts";
import { openStore } from "../../../src/pipeline/store/sqlite-store.ts";
import { spoilPage } from "../../support/damage.ts";
import {
  append,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
} from "../../support/temp-database.ts";

const WEARS: SchemaStep = {
  version: 11,
  sql: "CREATE TABLE wears (machine INTEGER PRIMARY KEY, text TEXT NOT NULL)",
  tables: [{ name: "wears", columns: "machine, text", order: "machine" }],
};

async function written(t: TestContext) {
  const dataDir = tempDirectory(t);
  const first = openStore(storeOptions(dataDir, { steps: [WEARS] }));
  await append(first, [readingOf("1", START_MS)]);
  await first.close();
  const path = join(dataDir, "gateside.db");
  const db = new Sqlite(path);
  db.prepare("INSERT INTO wears VALUES (40, 'belt')").run();
  db.close();
  const rows = () => {
    const store = new Sqlite(path, { readonly: true });
    const found = store.prepare("SELECT machine, text FROM wears").all();
    store.close();
    return found;
  };
  return { dataDir, path, rows };
}
const BELT = [{ machine: 40, text: "belt" }];

test("feature steps – bring their tables once; a program without the feature starts on the same store", async (t) => {
  const { dataDir, rows } = await written(t);
  await openStore(storeOptions(dataDir)).close();
  await openStore(storeOptions(dataDir, { steps: [WEARS] })).close();
  assert.deepEqual(rows(), BELT);
});

test("feature steps – what their tables hold is copied out of a damaged store", async (t) => {
  const { dataDir, path, rows } = await written(t);
  spoilPage(path, "outbox");
  const store = openStore(storeOptions(dataDir, { steps: [WEARS] }));
  await store.close();
  assert.deepEqual(rows(), BELT);
});

test("feature steps – load and stored run in the store's transactions", async (t) => {
  const dataDir = tempDirectory(t);
  const store = openStore(storeOptions(dataDir));
  t.after(() => store.close());
  const seen: string[] = [];
  store.steps.list = [
    {
      stored(tx, { sensor, kind }, fresh) {
        tx.onCommit(() => void seen.push(`${sensor} ${kind} ${fresh.length}`));
      },
    },
  ];
  await append(store, [readingOf("1", START_MS), readingOf("1", START_MS + 1000)]);
  await append(store, [readingOf("1", START_MS)]);
  // What is known already is not fresh.
  assert.deepEqual(seen, ["1 rpm 2", "1 rpm 0"]);
});
