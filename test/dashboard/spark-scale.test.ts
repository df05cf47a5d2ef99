import assert from "node:assert/strict";
import { test } from "node:test";
import { sparkScale } from "../../src/dashboard/spark-scale.ts";

test("sparklines – start at zero and end at the next limit above the values", () => {
  const zones = [1.4, 2.8, 4.5];
  assert.deepEqual(sparkScale(1.9, 2.1, zones), { foot: 0, head: 2.8, next: 2.8 });
  assert.deepEqual(sparkScale(5, 6, zones), { foot: 0, head: 6, next: null });
  assert.deepEqual(sparkScale(-3, -1, []), { foot: -3, head: 0, next: null });
});
