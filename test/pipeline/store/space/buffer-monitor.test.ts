import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../../../src/lib/clock.ts";
import { silentLogger } from "../../../../src/lib/logger.ts";
import { sizeOf } from "../../../../src/pipeline/store/database/database-file.ts";
import { QuotaFailure } from "../../../../src/pipeline/store/database/room-failure.ts";
import { ballastPath } from "../../../../src/pipeline/store/space/ballast.ts";
import { shareBuffer } from "../../../../src/pipeline/store/space/buffer-limits.ts";
import { BufferMonitor } from "../../../../src/pipeline/store/space/buffer-monitor.ts";
import { Growth } from "../../../../src/pipeline/store/space/growth.ts";
import { openStore } from "../../../../src/pipeline/store/sqlite-store.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
import {
  append,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
  tempStore,
} from "../../../support/temp-database.ts";
import { openQueue } from "../../../support/write-queue.ts";

test("buffer monitor – displays see a commit at once, and what others leave of the disk within half a minute", async (t) => {
  let free = 5_000_000_000;
  const clock = new ManualClock();
  const store = tempStore(t, { clock, diskFreeBytes: () => free });
  const first = store.state().diskFreeBytes;
  free = 4_000_000_000;
  assert.equal(store.state().diskFreeBytes, first);
  await clock.advance(30_000);
  assert.equal(store.state().diskFreeBytes, 4_000_000_000);
  free = 3_000_000_000;
  await append(store, [readingOf("1", START_MS)]);
  assert.equal(store.state().diskFreeBytes, 3_000_000_000);
});

test("retention – a pass that finds nothing to do commits nothing, and so leaves the spacing of commits alone", async (t) => {
  const store = tempStore(t);
  await append(store, [readingOf("1", START_MS)]);
  await store.retain();
  const { commits } = store.statistics;
  await store.retain();
  assert.equal(store.statistics.commits, commits);
});

test("retention – while nothing is written and the disk has room, only each minute has a whole pass", async (t) => {
  let free = 5_000_000_000;
  let asked = 0;
  const clock = new ManualClock(START_MS);
  const diskFreeBytes = () => {
    asked += 1;
    return free;
  };
  const store = tempStore(t, { clock, diskFreeBytes, bufferMaxMb: 64, diskFreeMinMb: 256 });
  await append(store, [readingOf("1", START_MS)]);
  // The first also looks at ages.
  for (let n = 0; n < 2; n++) await store.retain();
  const stopping = new AbortController();
  const running = store.runRetention(stopping.signal);
  t.after(() => {
    stopping.abort();
    return running;
  });
  const isWhole = async () => {
    asked = 0;
    await clock.advance(10_000);
    return asked > 1;
  };
  const whole = async () => [await isWhole(), await isWhole(), await isWhole()];
  assert.deepEqual(await whole(), [false, false, false]);
  await append(store, [readingOf("1", START_MS + 1)]);
  assert.deepEqual(await whole(), [true, false, false], "a write");
  assert.deepEqual(await whole(), [false, false, false]);
  assert.equal(await isWhole(), true, "a minute after it");
  free = 320_000_000;
  assert.deepEqual(await whole(), [true, true, true], "the disk may not have room for all of it");
});

test("buffer monitor – on a short disk the room for ballast and checkpoints is not used for growth; what both hold already needs none", (t) => {
  const { db } = openQueue(t);
  let free = 6 << 20;
  const limits = shareBuffer(64 << 20);
  const monitor = new BufferMonitor({
    db,
    limits,
    growth: new Growth(),
    rememberedBytes: () => 0,
    diskFreeMinBytes: 1 << 20,
    diskFreeBytes: () => free,
    clock: systemClock,
    logger: silentLogger,
  });
  const reserved = limits.ballastBytes + 2 * limits.checkpointBytes;
  /** What the file may grow by, bytes. */
  const growth = () => {
    const { all } = monitor.pages();
    return (monitor.pagesAllowed(all) - all) * db.pageBytes;
  };
  const wal = () => sizeOf(`${db.path}-wal`);
  assert.ok(Math.abs(growth() - ((5 << 20) - (reserved - wal()))) <= db.pageBytes);
  db.write("CREATE TABLE filler (body BLOB)").run();
  db.write("INSERT INTO filler VALUES (zeroblob(300000))").run();
  assert.ok(wal() > 300_000);
  assert.ok(Math.abs(growth() - ((5 << 20) - (reserved - wal()))) <= db.pageBytes);
  monitor.restoreBallast();
  const left = reserved - wal() - limits.ballastBytes;
  assert.ok(Math.abs(growth() - ((5 << 20) - left)) <= db.pageBytes);
  free = 1 << 20;
  assert.equal(growth(), 0);
});

test("buffer monitor – while a quota refuses, what the disk has free is no room to grow; after a minute it is tried", async (t) => {
  const clock = new ManualClock(START_MS);
  const refused: string[] = [];
  const { db, queue } = openQueue(t, {
    clock,
    hooks: { quotaRefused: () => void refused.push("quota") },
  });
  const monitor = new BufferMonitor({
    db,
    limits: shareBuffer(64 << 20),
    growth: new Growth(),
    rememberedBytes: () => 0,
    diskFreeMinBytes: 1 << 20,
    diskFreeBytes: () => 1 << 30,
    clock,
    logger: silentLogger,
  });
  const { all } = monitor.pages();
  assert.ok(monitor.pagesAllowed(all) > all);
  assert.throws(
    () =>
      queue.direct("write", () => {
        throw new QuotaFailure("full", "the quota is used up");
      }),
    QuotaFailure,
  );
  assert.deepEqual(refused, ["quota"], "the store is told once; space is freed by others");
  monitor.quotaRefused();
  assert.equal(monitor.pagesAllowed(all), all);
  await clock.advance(60_000);
  assert.ok(monitor.pagesAllowed(all) > all);
});

test("buffer monitor – a first start on a disk with less free space than its floor has room for the first megabyte, not for more", async (t) => {
  const least = 1 << 20;
  const clock = new ManualClock(START_MS);
  const disk = { clock, diskFreeMinMb: 256, diskFreeBytes: () => 100 << 20 };
  const store = tempStore(t, disk);
  await store.retain();
  const many = Array.from({ length: 4000 }, (_, n) =>
    readingOf("1", START_MS + n * 1000, { padding: 500 }),
  );
  await append(store, many.slice(0, 500));
  assert.deepEqual(store.state().dropped, {});
  await append(store, many.slice(500));
  const { databaseBytes, dropped } = store.state();
  assert.ok((dropped["disk_full"] ?? 0) > 0, JSON.stringify(dropped));
  assert.ok(databaseBytes < 2 * least, `${databaseBytes} bytes`);
  // Where others have left nothing, nothing is taken.
  const none = tempStore(t, { ...disk, diskFreeBytes: () => 100_000 });
  await none.retain();
  await append(none, many.slice(0, 500)).catch(() => {});
  assert.ok(none.state().databaseBytes < least, `${none.state().databaseBytes} bytes`);
});

test("buffer monitor – a clean stop on a disk without room for a ballast leaves what the next start needs, and a ballast as it is", async (t) => {
  for (const [free, bytes] of [
    [500_000, 131_072],
    [90_000, 90_000],
    [5_000_000_000, null],
  ] as const) {
    const dataDir = tempDirectory(t);
    const store = openStore(storeOptions(dataDir, { diskFreeBytes: () => free }));
    const before = sizeOf(ballastPath(dataDir));
    await store.close();
    assert.equal(sizeOf(ballastPath(dataDir)), bytes ?? before);
    assert.equal(before > 0, bytes === null);
  }
});
