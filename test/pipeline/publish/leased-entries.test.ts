import assert from "node:assert/strict";
import { test } from "node:test";
import { LeasedEntries } from "../../../src/pipeline/publish/leased-entries.ts";
import { MemoryOutbox, storedReading } from "../../support/memory-outbox.ts";

test("leased entries – what is kept is free again at once, before the commit of what was sent", async () => {
  const outbox = new MemoryOutbox();
  outbox.add("json", [storedReading(1), storedReading(2)]);
  let commit = () => {};
  const settle = outbox.settle.bind(outbox);
  outbox.settle = (lane, outcomes) => {
    void settle(lane, outcomes);
    return new Promise((resolve) => {
      commit = resolve;
    });
  };
  const lane = new LeasedEntries(outbox, { lane: "json", encode: () => [] });
  const next = () => lane.nextLive() ?? lane.nextBacklog();
  const [first, second] = [next(), next()];
  assert.ok(first && second);
  assert.equal(next(), null);
  assert.ok(lane.isIdle);
  lane.record(first, "sent");
  lane.record(second, "kept");
  const settled = lane.settle(0);
  assert.equal(lane.isIdle, false);
  assert.equal(next()?.reading.seq, second.reading.seq);
  assert.equal(lane.unsettled, 3, "both until the commit, and the one again");
  commit();
  await settled;
  assert.equal(lane.unsettled, 1);
});
