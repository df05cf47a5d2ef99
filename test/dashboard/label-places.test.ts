import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Box,
  LabelPlaces,
  placesAtLevel,
  placesAtMark,
} from "../../src/dashboard/label-places.ts";

const PLOT: Box = { left: 60, top: 10, width: 640, height: 260 };
const size = { width: 90, height: 15 };

test("labels – limits close to each other and events at the same time have labels that do not overlap", () => {
  const labels = new LabelPlaces();
  const taken: Box[] = [];
  for (const y of [12, 13, 100, 100, 104, 262]) {
    const place = labels.take(placesAtLevel(y, size, PLOT), PLOT);
    assert.ok(place !== null, `level at ${y}`);
    taken.push(place);
  }
  for (const x of [61, 62, 580]) {
    const place = labels.take(placesAtMark(x, size, PLOT), PLOT);
    assert.ok(place !== null, `mark at ${x}`);
    taken.push(place);
  }
  for (const [i, a] of taken.entries())
    for (const b of taken.slice(i + 1)) {
      const isBeside = a.left + a.width <= b.left || b.left + b.width <= a.left;
      const isApart = a.top + a.height <= b.top || b.top + b.height <= a.top;
      assert.ok(isBeside || isApart, JSON.stringify([a, b]));
    }
  // At the right edge there is no room; a plot drawn anew begins without labels.
  assert.equal(labels.take(placesAtMark(690, size, PLOT), PLOT), null);
  labels.clear();
  assert.deepEqual(labels.take(placesAtLevel(100, size, PLOT), PLOT), taken[2]);
});

test("labels – the label of a limit stands where no other limit passes through it, as long as there is such a place", () => {
  const topOf = (y: number, lines: readonly number[]) =>
    new LabelPlaces().take(placesAtLevel(y, size, PLOT, lines), PLOT)?.top;
  assert.equal(topOf(100, [100]), 84, "above its line");
  assert.equal(topOf(100, [100, 90]), 101, "below, where one is close above");
  assert.equal(topOf(100, [90, 100, 110]), 84, "on another rather than nowhere");
});

test("labels – two marks whose labels would stand close one behind the other have them in two rows", () => {
  const labels = new LabelPlaces();
  const topOf = (x: number) =>
    labels.take(placesAtMark(x, { width: 9, height: 16 }, PLOT), PLOT)?.top;
  assert.deepEqual([topOf(100), topOf(110), topOf(123)], [10, 26, 10]);
});
