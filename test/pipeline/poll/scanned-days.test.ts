import assert from "node:assert/strict";
import { test } from "node:test";
import { ScannedDays } from "../../../src/pipeline/poll/scanned-days.ts";

const keyOf = (sensor: number, day = "2026-11-20") =>
  ({ sensor: `${sensor}`, kind: "rpm", day }) as const;

/** Days that are read completely, each with so many hashes. */
function scanned(limit: number, records: number, ...keys: ReturnType<typeof keyOf>[]) {
  const days = new ScannedDays(limit);
  for (const key of keys) for (let n = 0; n < 3; n++) days.countMiss(key);
  for (const [i, key] of keys.entries())
    days.remember(
      key,
      Array.from({ length: records }, (_, n) => BigInt(i * records + n)),
    );
  return days;
}

test("scanned days – the limit holds while days grow, and those within it stay whole", () => {
  const keys = Array.from({ length: 20 }, (_, n) => keyOf(n));
  const days = scanned(5_000, 1_000, ...keys);
  assert.equal(days.size, 5_000);
  const sizes = keys.map((key) => days.of(key)?.size);
  assert.deepEqual(sizes, [...Array(5).fill(1_000), ...Array(15).fill(0)]);
});

test("scanned days – for a day of another date, the one that was used longest ago is forgotten", () => {
  const days = scanned(2_000, 1_000, keyOf(1), keyOf(2));
  days.remember(keyOf(1), [0n]);
  const today = keyOf(3, "2026-11-21");
  for (let n = 0; n < 3; n++) days.countMiss(today);
  days.remember(today, [9_000n]);
  assert.deepEqual(
    [days.of(keyOf(1))?.size, days.of(keyOf(2)), days.of(today)?.size],
    [1_000, null, 1],
  );
  assert.equal(days.size, 1_001);
});

test("scanned days – a record that is read again counts once, and a forgotten day nothing", () => {
  const days = scanned(10, 3, keyOf(1));
  days.remember(keyOf(1), [0n, 1n, 2n]);
  assert.equal(days.size, 3);
  days.forget(keyOf(1));
  days.remember(keyOf(1), [0n]);
  assert.deepEqual([days.size, days.of(keyOf(1))], [0, null]);
});
