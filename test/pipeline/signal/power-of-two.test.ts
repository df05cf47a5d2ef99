import assert from "node:assert/strict";
import { test } from "node:test";
import { powerOfTwoTransform } from "../../../src/pipeline/signal/power-of-two.ts";

test("power-of-two transform – even and odd powers from 1 to 4096 equal the textbook sum", () => {
  for (let size = 1; size <= 4096; size *= 2) {
    const input = Float64Array.from({ length: 2 * size }, (_, i) => Math.sin(i * i + 1));
    const before = input.slice();
    const output = new Float64Array(2 * size);
    powerOfTwoTransform(size)(output, input);
    assert.deepEqual(input, before, "the input stays");
    for (const k of new Set([0, 1, 3, size >> 1, size - 1].filter((line) => line < size))) {
      let re = 0;
      let im = 0;
      for (let n = 0; n < size; n++) {
        const angle = (-2 * Math.PI * ((k * n) % size)) / size;
        const [x, y] = [input[2 * n] ?? 0, input[2 * n + 1] ?? 0];
        re += x * Math.cos(angle) - y * Math.sin(angle);
        im += x * Math.sin(angle) + y * Math.cos(angle);
      }
      const error = Math.hypot(re - (output[2 * k] ?? 0), im - (output[2 * k + 1] ?? 0));
      assert.ok(error < 1e-12 * size + 1e-13, `${size} points, line ${k}: ${error}`);
    }
  }
});

test("power-of-two transform – one plan gives the same result twice", () => {
  const transform = powerOfTwoTransform(32);
  const input = Float64Array.from({ length: 64 }, (_, i) => i % 7);
  const [first, second] = [new Float64Array(64), new Float64Array(64)];
  transform(first, input);
  transform(
    new Float64Array(64),
    input.map((x) => x + 1),
  );
  transform(second, input);
  assert.deepEqual(first, second);
});
