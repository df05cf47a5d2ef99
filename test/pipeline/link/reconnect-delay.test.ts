import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ReconnectDelay } from "../../../src/pipeline/link/reconnect-delay.ts";
import { BACKOFF_MAX_MS, BACKOFF_MIN_MS } from "../../../src/pipeline/link/session-history.ts";

const BOXES = 1000;

/** A small seeded generator, so that a failure can be repeated. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** When each box is back, ms after the broker went, where it is away for `awayMs`. */
function returns(seed: number, awayMs: number): number[] {
  const random = randomOf(seed);
  return Array.from({ length: BOXES }, () => {
    const delay = new ReconnectDelay({
      firstMs: BACKOFF_MIN_MS,
      maxMs: BACKOFF_MAX_MS,
      random,
    });
    let at = delay.next();
    while (at < awayMs) at += delay.next();
    return at;
  });
}

/** Most of them within any one second. */
function mostInOneSecond(times: number[]): number {
  const sorted = [...times].sort((a, b) => a - b);
  let from = 0;
  let most = 0;
  sorted.forEach((time, to) => {
    while (time - (sorted[from] ?? 0) >= 1000) from += 1;
    most = Math.max(most, to - from + 1);
  });
  return most;
}

test("reconnect delay – of 1,000 boxes that lose a broker together, at most 350 return in one second", () => {
  fc.assert(
    fc.property(
      fc.integer(),
      // A clean restart, a short and a long outage.
      fc.oneof(
        fc.constant(0),
        fc.integer({ min: 1, max: 20_000 }),
        fc.integer({ min: 20_000, max: 600_000 }),
      ),
      (seed, awayMs) => {
        const times = returns(seed, awayMs);
        assert.ok(mostInOneSecond(times) <= 350, `${mostInOneSecond(times)} in one second`);
        // And none is left behind: everybody is back within the longest pause.
        const latest = Math.max(...times) - awayMs;
        assert.ok(latest <= BACKOFF_MAX_MS, `${latest} ms`);
      },
    ),
    { numRuns: 100 },
  );
});

test("reconnect delay – pauses grow and start again after a good session", () => {
  const delay = new ReconnectDelay({ firstMs: 1000, maxMs: 6000, random: () => 1 });
  const pauses = Array.from({ length: 5 }, () => delay.next());
  assert.deepEqual(pauses, [1000, 2000, 4000, 6000, 6000]);
  delay.reset();
  assert.equal(delay.next(), 1000);
});

test("reconnect delay – the shortest pause is not a busy loop", () => {
  const delay = new ReconnectDelay({ firstMs: 5000, maxMs: 15_000, random: () => 0 });
  assert.equal(delay.next(), 250);
});
