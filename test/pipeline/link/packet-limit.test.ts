import assert from "node:assert/strict";
import { test } from "node:test";
import { REMAINING_LENGTH_MAX } from "../../../src/core/delivery/link.ts";
import { PacketLimit } from "../../../src/pipeline/link/packet-limit.ts";
import { ManualClock } from "../../support/manual-clock.ts";

test("packet limit – losses after small packets, after none, or after varying sizes set no limit", () => {
  const limit = new PacketLimit(new ManualClock());
  for (const bytes of [0, 0, 0, 0, 900, 900, 900, 900, 20_000, 30_000, 20_000, 20_000, 0, 20_000]) {
    assert.equal(limit.lost(bytes), false);
  }
  assert.equal(limit.lost(20_002), false);
  assert.equal(limit.bytesMax, REMAINING_LENGTH_MAX);
});

test("packet limit – three losses after one packet set the limit below its size, for an hour", async () => {
  const clock = new ManualClock();
  const limit = new PacketLimit(clock);
  assert.deepEqual(
    [20_000, 20_002, 20_002].map((bytes) => limit.lost(bytes)),
    [false, false, true],
  );
  assert.equal(limit.bytesMax, 19_999);
  await clock.advance(3_600_000);
  assert.equal(limit.bytesMax, REMAINING_LENGTH_MAX);
});
