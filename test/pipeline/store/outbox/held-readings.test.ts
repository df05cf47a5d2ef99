/** What an uplink with `everyS` holds until its period is over: it is pending there, though no lane has a row of it yet. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import Sqlite from "better-sqlite3";
import { openStore } from "../../../../src/pipeline/store/sqlite-store.ts";
import type { Store, StoreOptions } from "../../../../src/pipeline/store/store.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
import {
  append,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
  uplinkOf,
} from "../../../support/temp-database.ts";

const MIB = 1 << 20;
const at = (minute: number) => START_MS + minute * 60_000;
const storeAt = (store: Store, minutes: readonly number[]) =>
  append(
    store,
    minutes.map((minute) => readingOf("1", at(minute))),
  );
/** What goes, in minutes after the start. */
async function sent(store: Store): Promise<number[]> {
  const outbox = store.outboxOf("cloud");
  const entries = (["live", "backlog"] as const).flatMap((which) =>
    outbox.lease("json", which, 100),
  );
  const settled = outbox.settle(
    "json",
    entries.map((entry) => ({ entry, outcome: "sent" as const })),
  );
  await outbox.flush();
  await settled;
  return entries
    .map(({ reading }) => (reading.timeMs - START_MS) / 60_000)
    .sort((one, other) => one - other);
}

const thinned = (t: TestContext, options: Partial<StoreOptions>) =>
  storeOptions(tempDirectory(t), {
    uplinks: [uplinkOf("cloud", ["json"], { everyS: 900 })],
    clock: new ManualClock(START_MS),
    ...options,
  });

test("held readings – a disk that others fill takes what was left out; what goes once its period is over stays while its uplink delivers, and is told as a gap where none does", async (t) => {
  let free = 500 * MIB;
  const clock = new ManualClock(START_MS);
  const options = thinned(t, { clock, diskFreeMinMb: 256, diskFreeBytes: () => free });
  const store = openStore(options);
  t.after(() => store.close());
  const squeeze = async () => {
    // A small store goes on where others have left it its first megabyte.
    free = MIB / 10;
    await store.retain();
    free = 500 * MIB;
    await store.retain();
  };
  await storeAt(store, [0, 15]);
  assert.deepEqual(await sent(store), [0], "it delivers");
  await storeAt(store, [16, 17, 18, 19]);
  await squeeze();
  assert.equal(store.state().readings, 1);
  await storeAt(store, [30]);
  assert.deepEqual(await sent(store), [19]);
  assert.deepEqual(store.state().dropped, {});

  await clock.advance(60_000);
  await squeeze();
  assert.equal(store.state().readings, 0);
  const gaps = store.gapsOf("cloud").pendingGaps(10);
  assert.deepEqual(
    gaps.map(({ fromMs, count, reason }) => ({ fromMs, count, reason })),
    [{ fromMs: at(30), count: 1, reason: "disk_full" }],
  );
  await storeAt(store, [45, 60]);
  assert.deepEqual(await sent(store), [45], "the next period goes on");
});

test("held readings – one that is gone from a damaged file is left out once, and later periods go on", async (t) => {
  let notSelected = 0;
  let now = START_MS;
  const options = thinned(t, {
    gatewayNow: () => now,
    onNotSelected: (_uplink, count) => {
      notSelected += count;
    },
  });
  let store = openStore(options);
  await storeAt(store, [0, 5, 10]);
  await store.close();
  const db = new Sqlite(join(options.dataDir, "gateside.db"));
  db.prepare("DELETE FROM readings WHERE time_ms = ?").run(at(10));
  db.close();

  store = openStore(options);
  t.after(() => store.close());
  await storeAt(store, [15, 20]);
  assert.deepEqual(await sent(store), []);
  await storeAt(store, [30]);
  assert.deepEqual(await sent(store), [20]);
  assert.equal(notSelected, 4, "0, 5, 15, and 10, which is gone");

  // The same where nothing follows and the clock ends the period.
  await store.close();
  const again = new Sqlite(join(options.dataDir, "gateside.db"));
  again.prepare("DELETE FROM readings WHERE time_ms = ?").run(at(30));
  again.close();
  store = openStore(options);
  now = at(120);
  for (let pass = 0; pass < 3; pass++) await store.retain();
  assert.equal(notSelected, 5);
});
