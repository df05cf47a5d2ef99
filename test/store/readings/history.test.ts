/** What a page of history reads. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Database } from "../../../src/store/database/database.ts";
import { Streams } from "../../../src/store/database/streams.ts";
import { History } from "../../../src/store/readings/history.ts";
import {
  append,
  readingOf,
  START_MS,
  tempDirectory,
  tempStore,
} from "../../support/temp-database.ts";

test("history – a page of a few readings reads hardly more rows than it gives, at 240 an hour", async (t) => {
  const dataDir = tempDirectory(t);
  const store = tempStore(t, { dataDir });
  const all = Array.from({ length: 960 }, (_, n) => readingOf("1", START_MS + n * 15_000));
  await append(store, all);
  const db = new Database({ dataDir, checkpointBytes: 0 });
  db.openReadOnly();
  t.after(() => db.close());
  const streams = new Streams(db);
  streams.load();
  let rows = 0;
  const counting = {
    read: (sql: string) => db.read(sql),
    readArrays: (sql: string) => ({
      all: (...parameters: unknown[]) => {
        const found = db.readArrays(sql).all(...(parameters as never[]));
        if (sql.includes("r.hour = ?")) rows += found.length;
        return found;
      },
    }),
  };
  const history = new History(counting as unknown as Database, streams, null);
  const query = { sensor: "1", kind: "rpm" as const, fromMs: START_MS, toMs: START_MS + 4e7 };
  for (const limit of [1, 8, 300]) {
    rows = 0;
    const newest: number[] = [];
    for (const { timeMs } of history.range({ ...query, order: "desc", limit })) {
      newest.unshift(timeMs);
      if (newest.length === limit) break;
    }
    assert.deepEqual(
      newest,
      all.slice(-limit).map(({ timeMs }) => timeMs),
    );
    assert.ok(rows <= 2 * limit + 1, `${rows} rows read for ${limit}`);
  }
});
