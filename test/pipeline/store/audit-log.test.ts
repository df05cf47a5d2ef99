import assert from "node:assert/strict";
import { test } from "node:test";
import { SqliteAuditLog } from "../../../src/pipeline/store/audit-log.ts";
import { StoreFailure } from "../../../src/pipeline/store/database/store-failure.ts";
import { holdStore } from "../../support/hold.ts";
import { tempDirectory, tempStore } from "../../support/temp-database.ts";
import { openQueue } from "../../support/write-queue.ts";

const ENTRY = {
  timeMs: 1_764_000_000_000,
  who: "HTTP_TOKEN",
  person: "Ann Müller",
  address: "192.0.2.9",
  what: "POST /api/v1/reload",
  detail: "",
  outcome: "200",
};

test("audit log – entries are paged newest first, and survive a restart", async (t) => {
  const dataDir = tempDirectory(t);
  const store = tempStore(t, { dataDir });
  for (const outcome of ["200", "403", "500"]) void store.audit.add({ ...ENTRY, outcome });
  void store.audit.add({ ...ENTRY, detail: "x".repeat(10_000) });
  await store.close();
  const { audit } = tempStore(t, { dataDir });
  assert.deepEqual(
    audit.newest(2, null).map(({ entry, outcome }) => [entry, outcome]),
    [
      [4, "200"],
      [3, "500"],
    ],
  );
  assert.deepEqual(audit.newest(10, 2), [
    { ...ENTRY, entry: 1, times: 1, lastTimeMs: ENTRY.timeMs },
  ]);
  assert.equal(audit.newest(1, null)[0]?.detail.length, 500);
});

test("audit log – keeps the newest 10,000", (t) => {
  const { audit } = tempStore(t);
  for (let i = 0; i < 10_003; i++) void audit.add({ ...ENTRY, detail: String(i) });
  const [oldest] = audit.newest(20_000, null).slice(-1);
  assert.equal(audit.newest(20_000, null).length, 10_000);
  assert.equal(oldest?.detail, "3");
});

test("audit log – a refusal repeated within a minute is counted, and the count survives the store", async (t) => {
  const dataDir = tempDirectory(t);
  const store = tempStore(t, { dataDir });
  const refused = { ...ENTRY, who: "HTTP_VIEW_TOKEN", outcome: "403" };
  const at = (ms: number) => ({ ...refused, timeMs: ENTRY.timeMs + ms });
  for (let ms = 0; ms < 59_000; ms += 1_000) void store.audit.add(at(ms));
  // Another kind, another side, and what was done are their own entries.
  void store.audit.add({ ...at(1_000), detail: "40001" });
  void store.audit.add({ ...at(1_000), address: "192.0.2.10" });
  for (const timeMs of [1, 2]) void store.audit.add({ ...ENTRY, timeMs });
  const shown = () =>
    store.audit.newest(100, null).map(({ outcome, times, lastTimeMs, timeMs }) => ({
      outcome,
      times,
      lastMs: lastTimeMs - timeMs,
    }));
  const once = (outcome: string) => ({ outcome, times: 1, lastMs: 0 });
  const counted = { outcome: "403", times: 59, lastMs: 58_000 };
  assert.deepEqual(shown(), [once("200"), once("200"), once("403"), once("403"), counted]);
  void store.audit.add(at(60_000));
  void store.audit.add(at(61_000));
  await store.close();
  const again = tempStore(t, { dataDir });
  const [newest, ...rest] = again.audit.newest(100, null);
  assert.deepEqual([newest?.times, newest?.lastTimeMs], [2, ENTRY.timeMs + 61_000]);
  assert.equal(rest.at(-1)?.times, 59);
});

test("audit log – no number of refusals displaces a change", (t) => {
  const { audit } = tempStore(t);
  for (let i = 0; i < 3; i++) void audit.add({ ...ENTRY, detail: `change ${i}` });
  for (const outcome of ["403", "refused", "replayed", "rejected_local"])
    for (let i = 0; i < 400; i++) void audit.add({ ...ENTRY, outcome, detail: String(i) });
  const kept = audit.newest(20_000, null);
  assert.equal(kept.length, 1_003);
  assert.deepEqual(
    kept.slice(-3).map(({ detail }) => detail),
    ["change 2", "change 1", "change 0"],
  );
});

test("audit log – a disk that takes neither an entry nor the count of an earlier one fails the call, not the process, and the count is not lost", async (t) => {
  const dataDir = tempDirectory(t);
  await tempStore(t, { dataDir }).close();
  let refusal: StoreFailure | null = null;
  const guard = { refusal: () => refusal, isSparing: false, committed() {} };
  const { db, queue } = openQueue(t, { dataDir, hooks: { guard } });
  const log = new SqliteAuditLog(db, queue);
  const at = (ms: number, detail = "") => ({
    ...ENTRY,
    outcome: "403",
    detail,
    timeMs: ENTRY.timeMs + ms,
  });
  for (const ms of [0, 1, 2]) await log.add(at(ms));
  refusal = new StoreFailure("full", "no space");
  // An unhandled rejection would fail this file.
  await assert.rejects(log.add(at(60_000, "other")), { code: "full" });
  refusal = null;
  await log.add(at(60_001, "third"));
  assert.deepEqual(
    log.newest(9, null).map(({ detail, times }) => [detail, times]),
    [
      ["third", 1],
      ["", 3],
    ],
  );
});

test("audit log – a refusal repeated while another program has the lock is one entry with its count", async (t) => {
  const dataDir = tempDirectory(t);
  const store = tempStore(t, { dataDir });
  const holder = await holdStore(t, dataDir, "writer");
  const add = (ms: number) =>
    store.audit.add({ ...ENTRY, outcome: "403", timeMs: ENTRY.timeMs + ms });
  const added = [add(0), add(1), add(2)];
  await holder.release();
  await Promise.all(added);
  await add(3);
  const all = store.audit.newest(9, null);
  assert.deepEqual(
    all.map(({ times, lastTimeMs }) => [times, lastTimeMs]),
    [[4, ENTRY.timeMs + 3]],
  );
});
