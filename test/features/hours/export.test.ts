import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "../../../src/core/time-units.ts";
import { openStore } from "../../../src/pipeline/store/sqlite-store.ts";
import { runCommand } from "../../support/run-command.ts";
import {
  append,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
} from "../../support/temp-database.ts";

test("export --resolution – hourly and daily values, also of readings that have left; not together with other forms", async (t) => {
  const cwd = tempDirectory(t);
  const store = openStore(storeOptions(cwd, { uplinks: [], historyDays: 1 }));
  const clipped = { quality: { rpm: { quality: "uncertain", reason: "clipped" } } } as const;
  await append(store, [
    readingOf("1", START_MS, { values: { rpm: 10 } }),
    readingOf("1", START_MS + 60_000, { values: { rpm: 15 }, ...clipped }),
    readingOf("1", START_MS + DAY_MS / 2, {
      values: { rpm: null },
      quality: { rpm: { quality: "bad", reason: "missing" } },
    }),
  ]);
  await store.close();
  const out = async (...more: string[]) => {
    const flags = ["--from", "2026-11-20T00:00Z", "--to", "2026-11-21T00:00Z", ...more];
    return runCommand(["export", ...flags], { cwd, env: { DATA_DIR: cwd } });
  };
  const hours = await out("--resolution", "hours");
  assert.equal(
    hours.stdout,
    "time,sensor,kind,value_name,unit,count,min,mean,max,uncertain,bad\n" +
      "2026-11-20T00:00:00.000Z,1,rpm,rpm,rpm,2,10,12.5,15,1,0\n" +
      "2026-11-20T12:00:00.000Z,1,rpm,rpm,rpm,0,,,,0,1\n",
    hours.stderr,
  );
  const days = await out("--resolution", "days", "--format", "jsonl");
  assert.deepEqual(JSON.parse(days.stdout), {
    time: "2026-11-20T00:00:00.000Z",
    sensor: "1",
    kind: "rpm",
    value: "rpm",
    unit: "rpm",
    count: 2,
    min: 10,
    mean: 12.5,
    max: 15,
    uncertain: 1,
    bad: 1,
  });
  const wrong = await out("--resolution", "hours", "--excel");
  assert.deepEqual([wrong.code, wrong.stdout], [2, ""]);
});
