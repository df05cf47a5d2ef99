import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { StoreFailure } from "../../../src/pipeline/store/database/store-failure.ts";
import { openStore } from "../../../src/pipeline/store/sqlite-store.ts";
import { buildShim } from "../../support/build-shim.ts";
import { deadlineMs } from "../../support/deadline.ts";
import { preloading } from "../../support/fake-time.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { scriptWords } from "../../support/script-words.ts";
import { fillDisk, smallDisk, WITHOUT_MOUNT } from "../../support/small-disk.ts";
import {
  append,
  mainOf,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
  uplinkOf,
} from "../../support/temp-database.ts";

interface Seen {
  readonly fault: string;
  readonly whileSpoiled: {
    readonly code: string;
    readonly isRetryable: boolean;
    readonly isWritable: boolean;
    readonly leased: number;
  };
  readonly healed: { readonly stored: number };
  readonly reopened: object;
}

test("disk faults – no space, write and sync errors are reported, nothing is half counted, and everything recovers", (t) => {
  const directory = tempDirectory(t);
  const shim = buildShim(directory);
  if (shim === null) return t.skip("needs gcc and LD_PRELOAD to spoil writes and syncs");
  const data = join(directory, "data");
  const control = join(directory, "fault");
  mkdirSync(data);
  writeFileSync(control, "-");
  const run = spawnSync(
    process.execPath,
    [...scriptWords("test/support/store-faults-child.ts"), data, control],
    {
      env: {
        ...process.env,
        LD_PRELOAD: preloading(shim),
        RECORD_UNDER: `${data}/`,
        RECORD_FAULT: control,
      },
      encoding: "utf8",
    },
  );
  assert.equal(run.status, 0, run.stderr);
  const seen = JSON.parse(run.stdout) as Seen[];
  assert.deepEqual(
    seen.map(({ whileSpoiled }) => whileSpoiled.code),
    ["full", "io", "io"],
  );
  for (const { fault, whileSpoiled, healed, reopened } of seen) {
    assert.deepEqual(
      { ...whileSpoiled, code: "" },
      { code: "", isRetryable: true, isWritable: false, leased: 0 },
      fault,
    );
    // What a failed sync left in the -wal may come back with the new connection; then it is known, not doubled.
    assert.ok(healed.stored === 10 || fault === "s");
    assert.deepEqual(
      { ...healed, stored: 10 },
      { stored: 10, readings: 20, owed: 15, isWritable: true },
      fault,
    );
    assert.deepEqual(reopened, { readings: 20, owed: 15, alarm: null }, fault);
  }
});

/** A process that stores readings and prints each; killed once its output is this long. */
async function killedChild(directory: string, outputLength: number): Promise<void> {
  const words = [...scriptWords("test/support/store-child.ts"), directory, "0", "100000"];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
    if (output.length > outputLength) child.kill("SIGKILL");
  });
  await once(child, "close");
}

for (const end of ["a clean stop", "a clean stop on a full disk", "kill -9"]) {
  test(`disk faults – after ${end} the agent starts on a full disk, and its pending readings stay pending`, async (t) => {
    const mount = smallDisk(t);
    if (mount === null) return t.skip(WITHOUT_MOUNT);
    const directory = join(mount, "data");
    const options = storeOptions(directory, { bufferMaxMb: 8 });
    if (end === "kill -9") {
      await killedChild(directory, 4000);
    } else {
      const store = openStore(options);
      await append(store, [readingOf("1", START_MS)]);
      if (end !== "a clean stop") {
        // What the ballast can do has been done.
        rmSync(join(directory, "gateside.ballast"));
        fillDisk(mount);
      }
      await store.close();
    }
    fillDisk(mount);
    const store = openStore(options);
    t.after(() => store.close());
    assert.ok(store.outbox.depth("json").readings > 0);
    rmSync(join(mount, "theirs"));
    assert.equal(await append(store, [readingOf("2", START_MS)]), 1);
  });
}

test("disk faults – killed and started on a full disk without its ballast, it continues with what it has; a new uplink follows once there is space", async (t) => {
  const mount = smallDisk(t);
  if (mount === null) return t.skip(WITHOUT_MOUNT);
  const directory = join(mount, "data");
  const options = storeOptions(directory, { bufferMaxMb: 8 });
  // So early that the -wal has never been as long as it gets: it finds no room to grow.
  await killedChild(directory, 400);
  rmSync(join(directory, "gateside.ballast"));
  fillDisk(mount);
  const store = openStore({
    ...options,
    uplinks: [...mainOf("json"), uplinkOf("cloud", ["json"])],
  });
  t.after(() => store.close());
  const depth = (uplink: string) => store.outboxOf(uplink).depth("json").readings;
  const held = depth("main");
  assert.ok(held > 0);
  const comes = store.outboxOf("cloud").changed("json", AbortSignal.timeout(deadlineMs(20_000)));
  rmSync(join(mount, "theirs"));
  await store.retain();
  await comes;
  assert.deepEqual(Object.keys(store.state().lanes), ["json", "cloud/json"]);
  assert.equal(depth("main"), held);
  assert.equal(depth("cloud"), store.state().readings);
});

/** The store of a killed agent, opened on a full disk with this format instead of json: what that changes waits for space. */
async function waitingForSpace(t: TestContext, mount: string, to: "sparkplug" | "plain") {
  for (let n = 0; n < 10; n++) {
    const directory = join(mount, `data-${n}`);
    await killedChild(directory, 400 + n * 40);
    rmSync(join(directory, "gateside.ballast"));
    fillDisk(mount);
    const logger = new RecordingLogger();
    const options = storeOptions(directory, { bufferMaxMb: 8, uplinks: mainOf(to), logger });
    const store = openStore(options);
    if (logger.text.includes("changes to uplinks wait for free disk space")) {
      t.after(() => store.close());
      return store;
    }
    // It fitted into the last block of the -wal, which ends where the kill came.
    await store.close();
    for (const name of ["theirs", `data-${n}`]) rmSync(join(mount, name), { recursive: true });
  }
  throw new Error("the change always found space");
}

for (const [to, what] of [
  ["sparkplug", "all that is owed"],
  ["plain", "the newest"],
] as const) {
  test(`disk faults – killed, switched to ${to} and started on a full disk, it starts, and ${what} is pending there once there is space`, async (t) => {
    const mount = smallDisk(t);
    if (mount === null) return t.skip(WITHOUT_MOUNT);
    const store = await waitingForSpace(t, mount, to);
    const owed = () => store.outbox.depth(to).readings;
    // A backlog is owed in the new format at once; what only leaves its newest stays until what it gave up can be reported.
    const held = store.state().lanes[to === "plain" ? "json" : to]?.readings ?? 0;
    assert.ok(held > 1);
    rmSync(join(mount, "theirs"));
    // Stored before the lanes are filed: it must reach the new format all the same.
    const late = readingOf("1", START_MS + 3_600_000);
    assert.equal(await append(store, [late]), 1);
    await store.retain();
    assert.deepEqual(Object.keys(store.state().lanes), [to]);
    assert.equal(owed(), to === "plain" ? 1 : held + 1);
    const [newest] = store.outbox.lease(to, "live", 10);
    assert.equal(newest?.reading.timeMs, late.timeMs);
  });
}

test("disk faults – a first start on a full disk says so, leaves nothing half created, and works once there is space", async (t) => {
  const mount = smallDisk(t);
  if (mount === null) return t.skip(WITHOUT_MOUNT);
  fillDisk(mount);
  const options = storeOptions(join(mount, "data"), { bufferMaxMb: 8 });
  const isFull = (error: unknown) => error instanceof StoreFailure && error.code === "full";
  assert.throws(() => openStore(options), isFull);
  assert.throws(() => openStore(options), isFull);
  rmSync(join(mount, "theirs"));
  const store = openStore(options);
  t.after(() => store.close());
  assert.equal(store.state().alarm, null);
  assert.equal(await append(store, [readingOf("1", START_MS)]), 1);
});

test("disk faults – a disk filled by others is overcome with the ballast", async (t) => {
  const mount = smallDisk(t);
  if (mount === null) return t.skip(WITHOUT_MOUNT);
  const directory = join(mount, "data");
  const store = openStore(storeOptions(directory, { bufferMaxMb: 8 }));
  const batch = (n: number) =>
    Array.from({ length: 100 }, (_, i) =>
      readingOf("1", START_MS + (n * 100 + i) * 1000, { padding: 500 }),
    );
  for (let n = 0; n < 20; n++) await append(store, batch(n));
  fillDisk(mount);
  let failure: unknown = null;
  let stored = 2000;
  for (let n = 20; n < 100; n++) {
    try {
      stored += await append(store, batch(n));
    } catch (error) {
      failure = error;
    }
    await store.retain().catch((error: unknown) => {
      failure = error;
    });
  }
  assert.ok(failure === null || (failure instanceof StoreFailure && failure.isRetryable));
  const state = store.state();
  assert.deepEqual(Object.keys(state.dropped), ["disk_full"], "the buffer could have grown");
  const dropped = state.dropped["disk_full"] ?? 0;
  assert.ok(dropped > 0, "the oldest made room");
  assert.equal(store.outbox.depth("json").readings, stored - dropped);
  assert.ok(stored === 10_000, `${stored} stored on a full disk`);
  const gaps = store.gaps.pendingGaps(1000);
  assert.equal(
    gaps.reduce((sum, { count }) => sum + count, 0),
    dropped,
  );
  await store.close();
});
