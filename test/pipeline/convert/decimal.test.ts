import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { good } from "../../../src/core/quality.ts";
import { clampValue } from "../../../src/pipeline/convert/current.ts";
import { decimal } from "../../../src/pipeline/convert/decimal.ts";
import { loopValue } from "../../../src/pipeline/convert/loop.ts";

/** Significant digits as JSON writes them. */
const digits = (value: number): number =>
  String(Math.abs(value)).replace(/e.*/, "").replace(".", "").replace(/^0+/, "").length;

const near = (value: number, exact: number, scale: number) =>
  assert.ok(Math.abs(value - exact) <= 1e-13 * scale, `${value}, not ${exact}`);

test("decimal – currents and loop values have no binary rounding noise", () => {
  assert.equal(clampValue(good(24.9), 250).value, 62.25);
  assert.equal(clampValue(good(12.31), 250).value, 30.775);
  const pressure = { low: 0, high: 10 };
  assert.equal(loopValue(good(0.4011), pressure).value.value, 0.006875);
  assert.equal(loopValue(good(0.4), { low: 0.2, high: 1.1 }).value.value, 0.2);
  assert.equal(loopValue(good(2), { low: 0.2, high: 1.1 }).value.value, 1.1);
  assert.equal(loopValue(good(1.5723), { low: -0.1, high: 0.3 }).value.value, 0.193075);
  assert.equal(loopValue(good(1.1783), { low: -128.2, high: 114.8 }).value.value, -9.9956875);
  assert.ok(Object.is(loopValue(good(1.2), { low: -5, high: 5 }).value.value, 0));
});

test("decimal – no value moves by more than its fifteenth digit", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      const rounded = decimal(value);
      assert.ok(Math.abs(rounded - value) <= 1e-14 * Math.abs(value) + Number.MIN_VALUE);
      assert.equal(decimal(rounded), rounded);
    }),
  );
});

test("decimal – a decimal sent by a gateway stays short, and equals the value by definition", () => {
  const reading = fc.integer({ min: 0, max: 100_000 }).map((n) => n / 1000);
  fc.assert(
    fc.property(
      reading,
      fc.constantFrom(50 as const, 100 as const, 250 as const, 500 as const),
      (r, clamp) => {
        const amperes = clampValue(good(r), clamp).value ?? Number.NaN;
        near(amperes, (r * clamp) / 100, amperes);
        assert.ok(digits(amperes) <= 7, `${amperes}`);
      },
    ),
  );
  const volts = fc.integer({ min: 3600, max: 20_900 }).map((n) => n / 10_000);
  const end = fc.integer({ min: -2000, max: 2000 }).map((n) => n / 10);
  fc.assert(
    fc.property(volts, end, end, (v, low, high) => {
      fc.pre(low !== high && v * 10 > 3.6 && v * 10 < 21);
      const value = loopValue(good(v), { low, high }).value.value;
      if (value === null) return;
      const exact = low + ((v * 10 - 4) / 16) * (high - low);
      near(value, exact, Math.abs(low) + Math.abs(high));
      assert.ok(digits(value) <= 12, `${value}`);
    }),
  );
});
