import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { systemClock } from "../../src/lib/clock.ts";

test("clock – a sleep ends when its signal aborts, at once if it already has", async () => {
  const ending = new AbortController();
  const sleeps = Promise.all([1, 2, 3].map(() => systemClock.sleep(3_600_000, ending.signal)));
  ending.abort();
  await sleeps;
  await systemClock.sleep(3_600_000, ending.signal);
});

test("clock – any number of sleeps on one signal share one listener, and none is left when all have ended", async () => {
  const { signal } = new AbortController();
  const sleeps = Array.from({ length: 50 }, () => systemClock.sleep(1, signal));
  assert.equal(getEventListeners(signal, "abort").length, 1);
  await Promise.all(sleeps);
  assert.equal(getEventListeners(signal, "abort").length, 0);
});
