import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmdirSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openStore } from "../../src/store/store.ts";
import { StoreFailure } from "../../src/store/store-failure.ts";
import { buildShim } from "../support/build-shim.ts";
import {
  append,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
} from "../support/temp-database.ts";

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

test("disk faults – no space, write and sync errors are told, nothing is half counted, and all heals", (t) => {
  const directory = tempDirectory(t);
  const shim = buildShim(directory);
  if (shim === null) return t.skip("needs gcc and LD_PRELOAD to spoil writes and syncs");
  const data = join(directory, "data");
  const control = join(directory, "fault");
  mkdirSync(data);
  writeFileSync(control, "-");
  const run = spawnSync(
    process.execPath,
    ["--import", "tsx", "test/support/store-faults-child.ts", data, control],
    {
      env: { ...process.env, LD_PRELOAD: shim, RECORD_UNDER: `${data}/`, RECORD_FAULT: control },
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

test("disk faults – a disk filled by others is worked out of through the ballast", async (t) => {
  const mount = mkdtempSync(join(tmpdir(), "gateside-disk-"));
  t.after(() => {
    // Lazily: a failed test leaves its store open.
    spawnSync("umount", ["-l", mount]);
    rmdirSync(mount);
  });
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=6m", "tmpfs", mount]);
  if (mounted.status !== 0) return t.skip("needs the right to mount a small tmpfs");
  const directory = join(mount, "data");
  const store = openStore(storeOptions(directory, { bufferMaxMb: 8 }));
  const batch = (n: number) =>
    Array.from({ length: 100 }, (_, i) =>
      readingOf("1", START_MS + (n * 100 + i) * 1000, { padding: 500 }),
    );
  for (let n = 0; n < 20; n++) await append(store, batch(n));
  const { bavail, bsize } = statfsSync(mount);
  writeFileSync(join(mount, "theirs"), Buffer.alloc(bavail * bsize, 1));
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
  const dropped = (state.dropped["disk_full"] ?? 0) + (state.dropped["buffer_full"] ?? 0);
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
