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

test("retention – while nothing is written and the disk has room, only each minute has a whole pass", async (t) => {
  let free = 5_000_000_000;
  let asked = 0;
  const clock = new ManualClock(START_MS);
  const diskFreeBytes = () => {
    asked += 1;
    return free;
  };
  const store = tempStore(t, { clock, diskFreeBytes, bufferMaxMb: 64, diskFreeMinMb: 256 });
  await append(store, [readingOf("1", START_MS)]);
  // The first also looks at ages.
  for (let n = 0; n < 2; n++) await store.retain();
  const stopping = new AbortController();
  const running = store.runRetention(stopping.signal);
  t.after(() => {
    stopping.abort();
    return running;
  });
  const isWhole = async () => {
    asked = 0;
    await clock.advance(10_000);
    return asked > 1;
  };
  const whole = async () => [await isWhole(), await isWhole(), await isWhole()];
  assert.deepEqual(await whole(), [false, false, false]);
  await append(store, [readingOf("1", START_MS + 1)]);
  assert.deepEqual(await whole(), [true, false, false], "a write");
  assert.deepEqual(await whole(), [false, false, false]);
  assert.equal(await isWhole(), true, "a minute after it");
  free = 320_000_000;
  assert.deepEqual(await whole(), [true, true, true], "the disk may not have room for all of it");
});
