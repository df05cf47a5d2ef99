import assert from "node:assert/strict";
import { test } from "node:test";
import { RecentMap } from "../../src/collect/database/recent-map.ts";

test("recent map – what is used stays, what is not used for long leaves, and memory is limited", () => {
  const map = new RecentMap<number, number>(100);
  map.set(-1, 1);
  map.set(-2, 2);
  for (let n = 0; n < 1000; n++) {
    map.set(n, n);
    assert.equal(map.get(-1), 1);
  }
  assert.equal(map.get(-2), undefined);
  const kept = Array.from({ length: 1000 }, (_, n) => map.get(n)).filter((n) => n !== undefined);
  assert.ok(kept.length >= 49 && kept.length <= 100, `${kept.length} stay`);
  assert.equal(kept.at(-1), 999);
});
