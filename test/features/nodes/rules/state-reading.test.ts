import assert from "node:assert/strict";
import { test } from "node:test";
import type { StateRegister } from "../../../../src/core/sensor.ts";
import { registerBlocks, registerValue } from "../../../../src/features/nodes/rules/registers.ts";
import {
  answerTimeMs,
  StateSeries,
  UNCHANGED_MS,
} from "../../../../src/features/nodes/rules/state-reading.ts";

const register = (address: number, type: StateRegister["type"]): StateRegister => ({
  address,
  type,
  value: `v${address}`,
});

test("adjacent registers are requested together, at most 125 at once, and gaps never", () => {
  const blocks = registerBlocks([
    register(12, "float32"),
    register(10, "uint16"),
    register(11, "int16"),
    register(20, "uint16"),
  ]);
  assert.deepEqual(blocks, [
    { address: 10, count: 4 },
    { address: 20, count: 1 },
  ]);
  const many = Array.from({ length: 126 }, (_, i) => register(i, "uint16"));
  assert.deepEqual(
    registerBlocks(many).map(({ count }) => count),
    [125, 1],
  );
});

test("register types are read in both word orders, with scale and offset", () => {
  assert.equal(registerValue([0xffff], { type: "int16" }, "big"), -1);
  assert.equal(registerValue([357], { type: "uint16", scale: 0.01 }, "big"), 3.57);
  assert.equal(registerValue([1, 2], { type: "uint32" }, "big"), 65_538);
  assert.equal(registerValue([2, 1], { type: "uint32" }, "little"), 65_538);
  assert.equal(registerValue([0xffff, 0xfffe], { type: "int32", offset: 1 }, "big"), -1);
  // 3.61 as float32 is 0x40670a3d.
  assert.equal(registerValue([0x4067, 0x0a3d], { type: "float32" }, "big"), 3.61);
  assert.equal(registerValue([0x0a3d, 0x4067], { type: "float32" }, "little"), 3.61);
  assert.ok(Number.isNaN(registerValue([0x7fc0, 0], { type: "float32" }, "big")));
});

test("a reading is stored only if something changed or a day has passed; a late record is compared with the one before it", () => {
  const series = new StateSeries();
  assert.ok(series.isNews(1_000, "a"));
  series.add(1_000, "a");
  assert.ok(!series.isNews(2_000, "a"));
  assert.ok(series.isNews(3_000, "b"));
  series.add(3_000, "b");
  assert.ok(!series.isNews(2_000, "a"));
  assert.ok(!series.isNews(2_999 + UNCHANGED_MS, "b"));
  assert.ok(series.isNews(3_000 + UNCHANGED_MS, "b"));
});

test("a state without a time is aligned to the poll interval, and is never one that is not newer than the last reading", () => {
  assert.equal(answerTimeMs(7_300_500, 3_600_000, null), 7_200_000);
  assert.equal(answerTimeMs(7_300_500, 3_600_000, 7_100_000), 7_200_000);
  assert.equal(answerTimeMs(7_300_500, 3_600_000, 7_200_000), 7_300_000);
  assert.equal(answerTimeMs(7_300_500, 3_600_000, 7_300_000), 7_300_001);
});
