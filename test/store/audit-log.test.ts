import assert from "node:assert/strict";
import { test } from "node:test";
import { tempDirectory, tempStore } from "../support/temp-database.ts";

const ENTRY = {
  timeMs: 1_764_000_000_000,
  who: "HTTP_TOKEN",
  address: "192.0.2.9",
  what: "POST /api/v1/reload",
  detail: "",
  outcome: "200",
};

test("audit log – entries come newest first in pages, and are there after a restart", async (t) => {
  const dataDir = tempDirectory(t);
  const store = tempStore(t, { dataDir });
  for (const outcome of ["200", "403", "500"]) store.audit.add({ ...ENTRY, outcome });
  store.audit.add({ ...ENTRY, detail: "x".repeat(10_000) });
  await store.close();
  const { audit } = tempStore(t, { dataDir });
  assert.deepEqual(
    audit.newest(2, null).map(({ entry, outcome }) => [entry, outcome]),
    [
      [4, "200"],
      [3, "500"],
    ],
  );
  assert.deepEqual(audit.newest(10, 2), [{ ...ENTRY, entry: 1 }]);
  assert.equal(audit.newest(1, null)[0]?.detail.length, 500);
});

test("audit log – keeps the newest 10,000", (t) => {
  const { audit } = tempStore(t);
  for (let i = 0; i < 10_003; i++) audit.add({ ...ENTRY, detail: String(i) });
  const [oldest] = audit.newest(20_000, null).slice(-1);
  assert.equal(audit.newest(20_000, null).length, 10_000);
  assert.equal(oldest?.detail, "3");
});
