import assert from "node:assert/strict";
import { test } from "node:test";
import { clientPacketIds, PublishIds } from "../../src/link/packet-ids.ts";

test("packet identifiers – those of our publishes and those of mqtt.js never collide, and none is used twice at a time", () => {
  const publishes = new PublishIds();
  const client = clientPacketIds();
  const clients = new Set(Array.from({ length: 2000 }, () => client.allocate()));
  const taken = new Set([1, 2, 5, 64_999]);
  const seen: number[] = [];
  for (let n = 0; n < 70_000; n++) seen.push(publishes.next((id) => taken.has(id)));
  assert.deepEqual(seen.slice(0, 3), [3, 4, 6]);
  for (const id of seen) {
    assert.ok(Number.isInteger(id) && id >= 1 && id <= 65_535);
    assert.ok(!taken.has(id) && !clients.has(id));
  }
  // Round once, then again from the start.
  assert.equal(new Set(seen).size, 64_999 - taken.size);
  for (const id of clients) assert.ok(id !== null && id >= 1 && id <= 65_535);
});
