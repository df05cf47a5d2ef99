import assert from "node:assert/strict";
import { test } from "node:test";
import { contactShare, contactSpans } from "../../../src/core/drawing/contact-spans.ts";

const series = (points: readonly (readonly [number, number, number])[]) => ({
  unit: null,
  timesMs: points.map(([ms]) => ms * 1000),
  min: points.map(([, low]) => low),
  max: points.map(([, , high]) => high),
  mean: points.map(([, low, high]) => (low + high) / 2),
  doubtful: points.map(() => 0),
  count: points.map(() => 1),
  uncertain: points.map(() => 0),
  bad: points.map(() => 0),
  formerly: [],
});

test("contact spans – a state lasts until the next reading, and consecutive equal states form one bar", () => {
  const one = series([
    [0, 0, 0],
    [60, 1, 1],
    [120, 1, 1],
    [180, 0, 0],
  ]);
  assert.deepEqual(contactSpans(one, 1000, 240_000), [
    { from: 0, to: 60_000, state: "off" },
    { from: 60_000, to: 180_000, state: "on" },
    { from: 180_000, to: 240_000, state: "off" },
  ]);
});

test("contact spans – a bucket in which the state changed is drawn as mixed, neither on nor off", () => {
  const spans = contactSpans(
    series([
      [0, 0, 0],
      [60, 0, 1],
      [120, 1, 1],
    ]),
    60_000,
    180_000,
  );
  assert.deepEqual(
    spans.map(({ state }) => state),
    ["off", "both", "on"],
  );
});

test("contact spans – after three expected intervals without a reading, the state is unknown", () => {
  const points = [0, 60, 120, 180, 1200, 1260].map((s) => [s, 1, 1] as const);
  const spans = contactSpans(series(points), 1000, 1_320_000);
  assert.deepEqual(spans, [
    { from: 0, to: 360_000, state: "on" },
    { from: 1200_000, to: 1320_000, state: "on" },
  ]);
});

test("contact spans – no readings give no bars", () => {
  assert.deepEqual(contactSpans(undefined, 1000, 1000), []);
});

test("contact spans – a contact that changes within each hour is on for its share of it", () => {
  const hours = series(Array.from({ length: 24 }, (_, i) => [i * 3600, 0, 1] as const));
  const part = { ...hours, mean: hours.mean.map(() => 2 / 3) };
  const { known, on } = contactShare(part, 3_600_000, 24 * 3_600_000);
  assert.equal(known, 24 * 3_600_000);
  assert.ok(Math.abs(on / known - 2 / 3) < 1e-9);
});
