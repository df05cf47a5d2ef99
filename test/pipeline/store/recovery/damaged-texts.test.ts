/** One flipped bit in any text of the store: it starts, stores, keeps and sends all the same. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import Sqlite from "better-sqlite3";
import { DAY_MS } from "../../../../src/core/time-units.ts";
import { openStore } from "../../../../src/pipeline/store/sqlite-store.ts";
import { COUNT } from "../../../support/count.ts";
import {
  append,
  mainOf,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
  timesOf,
  uplinkOf,
} from "../../../support/temp-database.ts";

const MINUTE_MS = 60_000;
const READINGS = 4;
const UPLINKS = [...mainOf("json"), uplinkOf("cloud", ["json"], { everyS: 60 })];

/** With one bit of its brace flipped, a text is no JSON any more. */
const FLIP = "'s' || substr(%, 2)";
const TEXTS = [
  `meta WHERE name = 'hours'`,
  `meta WHERE name = 'dropped'`,
  `meta WHERE name LIKE 'thinned:%'`,
  ...["values", "quality", "attributes", "raw"].map((column) => `readings ${column}`),
  "unit_sets",
  "waiting",
];

async function filled(t: TestContext) {
  const directory = tempDirectory(t);
  const damaged: string[] = [];
  const options = storeOptions(directory, {
    uplinks: UPLINKS,
    gatewayNow: () => START_MS + 300 * MINUTE_MS,
    onDamaged: (table) => damaged.push(table),
  });
  const store = openStore(options);
  for (let minute = 0; minute < READINGS; minute += 1)
    await append(store, [
      readingOf("1", START_MS + minute * MINUTE_MS, {
        quality: { rpm: { quality: "uncertain", reason: "clipped" } },
      }),
    ]);
  await store.retain();
  await store.close();
  const change = (sql: string) => {
    const db = new Sqlite(`${directory}/gateside.db`);
    const { changes } = db.prepare(sql).run();
    db.close();
    return changes;
  };
  change("INSERT OR REPLACE INTO meta VALUES ('dropped', '{\"buffer_full\":7}')");
  change(
    "INSERT INTO waiting (queue, number, time_ms, since_ms, text) VALUES ('q', 1, 0, 0, '{}')",
  );
  return { options, change, damaged };
}

const updateOf = (text: string) => {
  const [table = "", rest = "", ...where] = text.split(" ");
  const column =
    table === "readings"
      ? `"${rest}"`
      : { meta: "value", unit_sets: "units", waiting: "text" }[table];
  const condition = table === "meta" ? `${rest} ${where.join(" ")}` : "";
  return `UPDATE ${table} SET ${column} = ${FLIP.replaceAll("%", String(column))} ${condition}`;
};

for (const text of TEXTS)
  test(`store – damaged text, ${text}: it opens, stores, keeps its limits and sends`, {
    skip: text.includes("'hours'") && COUNT === undefined,
  }, async (t) => {
    const { options, change, damaged } = await filled(t);
    assert.ok(change(updateOf(text)) > 0, "something is damaged");
    const [table = ""] = text.split(" ");
    for (const minute of [200, 201]) {
      damaged.length = 0;
      const store = openStore(options);
      assert.equal(await append(store, [readingOf("1", START_MS + minute * MINUTE_MS)]), 1);
      await store.retain();
      for (const uplink of ["main", "cloud"]) {
        const outbox = store.outboxOf(uplink);
        const entries = [
          ...outbox.lease("json", "live", 100),
          ...outbox.lease("json", "backlog", 100),
        ];
        if (uplink === "main") assert.ok(timesOf(entries).includes(START_MS + minute * MINUTE_MS));
        for (const { reading } of entries)
          for (const member of ["values", "quality", "attributes", "raw", "units"] as const)
            assert.doesNotThrow(() => JSON.parse(reading[member]), "it goes out as JSON");
        const outcomes = entries.map((entry) => ({ entry, outcome: "sent" as const }));
        await Promise.all([outbox.settle("json", outcomes), outbox.flush()]);
        assert.equal(outbox.depth("json").readings, 0);
      }
      assert.equal(typeof store.state().alarm, "object", "no failure stands");
      assert.equal(store.writeFailure, null);
      await store.close();
      // Nothing takes what waits there. Where something does, each row counts once, however often it is read.
      const rows = { waiting: 0, readings: READINGS }[table] ?? 1;
      if (minute === 200) assert.deepEqual(damaged, Array(rows).fill(table));
    }
  });

test("store – damaged hours, days and medians count as none, each once, by its table", {
  skip: COUNT === undefined,
}, async (t) => {
  const { options, change, damaged } = await filled(t);
  const day = Math.floor(START_MS / DAY_MS);
  /** Of the day and the first stream. */
  const place = day * 2 ** 20 + 1;
  for (const table of ["hours", "days"]) {
    change(`INSERT OR IGNORE INTO ${table} VALUES (${place}, 0, x'00')`);
    change(`UPDATE ${table} SET body = x'ffff'`);
  }
  change(`INSERT INTO day_medians VALUES (${place}, '{"readings":3,"valuez":{}}')`);
  const store = openStore({ ...options, gatewayNow: () => START_MS + 2 * DAY_MS });
  t.after(() => store.close());
  await store.retain();
  const range = {
    sensor: "1",
    kind: "rpm",
    fromMs: START_MS - DAY_MS,
    toMs: START_MS + DAY_MS,
  } as const;
  for (let time = 0; time < 2; time += 1) {
    for (const span of ["hours", "days"] as const)
      for (const point of store.hours.points({ ...range, span, values: null })) assert.ok(point);
    assert.equal(store.dayMedians.of("1", "rpm", day, day + 1)[0]?.readings, 0);
  }
  assert.deepEqual(damaged.toSorted(), ["day_medians", "days", "hours"]);
});
