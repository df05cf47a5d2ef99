/** Outbox rows whose reading is gone, as a damaged file leaves them: they go, and take nothing else with them or keep it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import Sqlite from "better-sqlite3";
import { openStore } from "../../../../src/pipeline/store/sqlite-store.ts";
import {
  append,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
  timesOf,
  uplinkOf,
} from "../../../support/temp-database.ts";

const at = (minute: number) => START_MS + minute * 60_000;

for (const { what, gone, left } of [
  { what: "in the middle of a page", gone: [2], left: [0, 1, 3, 4] },
  { what: "at its beginning", gone: [0], left: [1, 2, 3, 4] },
  { what: "side by side", gone: [1, 2], left: [0, 3, 4] },
  { what: "at its end", gone: [4], left: [0, 1, 2, 3] },
  { what: "the newest", gone: [5], left: [0, 1, 2, 3, 4] },
])
  test(`outbox – a row without its reading, ${what}, affects no other pending row`, async (t) => {
    const options = storeOptions(tempDirectory(t));
    let store = openStore(options);
    await append(
      store,
      [0, 1, 2, 3, 4, 5].map((minute) => readingOf("1", at(minute))),
    );
    await store.close();
    const db = new Sqlite(join(options.dataDir, "gateside.db"));
    for (const minute of gone) db.prepare("DELETE FROM readings WHERE time_ms = ?").run(at(minute));
    db.close();

    let damaged = 0;
    store = openStore({
      ...options,
      onDropped: (reason, count) => {
        damaged += reason === "damaged" ? count : 0;
      },
    });
    t.after(() => store.close());
    const entries = [
      ...store.outbox.lease("json", "live", 10),
      ...store.outbox.lease("json", "backlog", 10),
    ];
    const live = gone.includes(5) ? [] : [5];
    assert.deepEqual(timesOf(entries), [...live, ...left].map(at));
    const settled = store.outbox.settle(
      "json",
      entries.map((entry) => ({ entry, outcome: "sent" as const })),
    );
    await store.outbox.flush();
    await settled;
    assert.equal(store.outbox.depth("json").readings, 0);
    assert.deepEqual(store.outbox.lease("json", "backlog", 10), []);
    assert.equal(damaged, gone.length);
    const rows = new Sqlite(join(options.dataDir, "gateside.db"), { readonly: true });
    assert.deepEqual(rows.prepare("SELECT time_ms FROM outbox").all(), []);
    rows.close();
  });

test("outbox – a stored text that is damaged does not stop the filling of an uplink that selects values", async (t) => {
  const options = storeOptions(tempDirectory(t));
  let store = openStore(options);
  await append(
    store,
    [0, 1, 2].map((minute) => readingOf("1", at(minute))),
  );
  await store.close();
  const db = new Sqlite(join(options.dataDir, "gateside.db"));
  db.prepare(`UPDATE readings SET "values" = '{"rp' WHERE time_ms = ?`).run(at(1));
  db.close();

  const cloud = uplinkOf("cloud", ["json"], { select: { values: ["rpm"] } });
  store = openStore({ ...options, uplinks: [...options.uplinks, cloud] });
  t.after(() => store.close());
  await store.retain();
  // The publisher reports it.
  assert.equal(store.outboxOf("cloud").depth("json").readings, 3);
});

test("outbox – what can never be written stays pending, and the failure ends no process where nobody waits for it", async (t) => {
  const options = storeOptions(tempDirectory(t));
  let store = openStore(options);
  await append(store, [readingOf("1", at(0))]);
  const [entry] = store.outbox.lease("json", "live", 1);
  assert.ok(entry !== undefined);
  const rename = (from: string, to: string) => {
    const db = new Sqlite(join(options.dataDir, "gateside.db"));
    db.exec(`ALTER TABLE ${from} RENAME TO ${to}`);
    db.close();
  };
  rename("outbox", "elsewhere");
  // A rejection that nobody handles fails the test.
  void store.outbox.settle("json", [{ entry, outcome: "sent" }]);
  await store.outbox.flush();
  await new Promise((resolve) => setImmediate(resolve));
  rename("elsewhere", "outbox");
  await store.close();
  store = openStore(options);
  t.after(() => store.close());
  assert.deepEqual(timesOf(store.outbox.lease("json", "live", 1)), [at(0)]);
});
