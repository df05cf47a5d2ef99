import assert from "node:assert/strict";
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Clock } from "../../../../src/core/ports.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { StoreFailure } from "../../../../src/pipeline/store/database/store-failure.ts";
import { openStore } from "../../../../src/pipeline/store/sqlite-store.ts";
import { spoilPage } from "../../../support/damage.ts";
import { RecordingLogger } from "../../../support/recording-logger.ts";
import { fillDisk, smallDisk, WITHOUT_MOUNT } from "../../../support/small-disk.ts";
import { append, readingOf, START_MS, storeOptions } from "../../../support/temp-database.ts";

const READINGS = 2000;
const BUFFER_MAX_MB = 8;

const isFull = (error: unknown) => error instanceof StoreFailure && error.code === "full";
const damagedIn = (directory: string) =>
  readdirSync(directory).filter((name) => /\.corrupt-.*Z$/.test(name));
const noteIn = (directory: string) => join(directory, "gateside.db.saving");

/** A store of about 2 MB, all of it pending, closed in good order; then a page that opening reads is damaged. */
async function damaged(directory: string): Promise<void> {
  const store = openStore(storeOptions(directory, { bufferMaxMb: BUFFER_MAX_MB }));
  const readings = Array.from({ length: READINGS }, (_, n) =>
    readingOf("1", START_MS + n * 1000, { padding: 500 }),
  );
  await append(store, readings);
  await store.close();
  spoilPage(join(directory, "gateside.db"), "outbox");
}

test("damage – a copy that the disk has no space for is not complete: it begins again once there is space, and loses nothing", async (t) => {
  const mount = smallDisk(t);
  if (mount === null) return t.skip(WITHOUT_MOUNT);
  const directory = join(mount, "data");
  await damaged(directory);
  const release = fillDisk(mount, 512 << 10);
  const logger = new RecordingLogger();
  // The file system's clock, which shows the real time also where that of programs is faked.
  let nowMs = Math.floor(statSync(directory).mtimeMs);
  const clock: Clock = { ...systemClock, now: () => nowMs };
  const options = storeOptions(directory, { bufferMaxMb: BUFFER_MAX_MB, logger, clock });

  assert.throws(() => openStore(options), /no space for a copy of the damaged database/);
  assert.ok(existsSync(noteIn(directory)));
  const [file] = damagedIn(directory);
  assert.ok(file !== undefined);
  assert.ok(!existsSync(join(directory, "gateside.db")), "half a copy takes no space");

  // Without more space it is not written in vain a second time, until some hours later.
  const attempts = () => logger.text.split("could not be copied").length - 1;
  assert.throws(() => openStore(options), isFull);
  assert.equal(attempts(), 1);
  nowMs += 2 * 3_600_000;
  assert.throws(() => openStore(options), isFull);
  assert.equal(attempts(), 2);

  release();
  const store = openStore(options);
  t.after(() => store.close());
  assert.equal(store.state().readings, READINGS);
  assert.equal(store.outbox.depth("json").readings, READINGS);
  assert.ok(!existsSync(noteIn(directory)));
  assert.equal(await append(store, [readingOf("2", START_MS)]), 1);
});

test("damage – found while running on a full disk, it ends no process: the store says so, and has everything once there is space", async (t) => {
  const mount = smallDisk(t);
  if (mount === null) return t.skip(WITHOUT_MOUNT);
  const directory = join(mount, "data");
  await damaged(directory);
  const store = openStore(storeOptions(directory, { bufferMaxMb: BUFFER_MAX_MB }));
  t.after(() => store.close());
  spoilPage(join(directory, "gateside.db"), "gaps");
  const release = fillDisk(mount, 512 << 10);
  // Believed the second time.
  for (let n = 0; n < 2; n++) store.gaps.pendingGaps(10);
  assert.ok(existsSync(noteIn(directory)), "the damage was found");
  const fresh = [readingOf("2", START_MS)];
  await assert.rejects(append(store, fresh), isFull);
  assert.match(store.state().alarm ?? "", /no space for a copy of the damaged database/);
  assert.equal(store.state().isWritable, false);

  release();
  assert.equal(await append(store, fresh), 1);
  assert.equal(store.state().readings, READINGS + 1);
  assert.equal(store.outbox.depth("json").readings, READINGS + 1);
});

test("damage – a disk without space for a note keeps the damaged file in its place, and no new one takes it", async (t) => {
  const mount = smallDisk(t);
  if (mount === null) return t.skip(WITHOUT_MOUNT);
  const directory = join(mount, "data");
  const options = storeOptions(directory, { bufferMaxMb: BUFFER_MAX_MB });
  await openStore(options).close();
  rmSync(join(directory, "gateside.ballast"));
  const file = join(directory, "gateside.db");
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, "no database here");
  closeSync(descriptor);
  const bytes = readFileSync(file);
  const release = fillDisk(mount);
  for (let n = 0; n < 2; n++) assert.throws(() => openStore(options), isFull);
  assert.deepEqual(damagedIn(directory), []);
  assert.deepEqual(readFileSync(file), bytes);

  release();
  const store = openStore(options);
  t.after(() => store.close());
  assert.match(store.state().alarm ?? "", /set aside/);
  const [damagedFile = ""] = damagedIn(directory);
  assert.deepEqual(readFileSync(join(directory, damagedFile)), bytes);
});

test("damage – the note of a copy that did not fit names the file for earlier versions too", async (t) => {
  const mount = smallDisk(t);
  if (mount === null) return t.skip(WITHOUT_MOUNT);
  const directory = join(mount, "data");
  await damaged(directory);
  fillDisk(mount, 512 << 10);
  assert.throws(() => openStore(storeOptions(directory, { bufferMaxMb: BUFFER_MAX_MB })), isFull);
  const text = readFileSync(noteIn(directory), "utf8");
  assert.equal(text.split("/").at(-1), damagedIn(directory)[0]);
});
