import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../support/manual-clock.ts";
import { append, readingOf, START_MS, tempStore } from "../../support/temp-database.ts";

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
