import assert from "node:assert/strict";
import { test } from "node:test";
import { axisOf, decades, yOf } from "../../src/core/drawing/figure-axes.ts";

test("figure axes – a value stands between the lowest and the highest tick by its share, in decades by its logarithm", () => {
  for (const [scale, isLog, middle] of [
    [axisOf(0, 100), false, 50],
    [decades(1, 100), true, 10],
  ] as const) {
    const y = yOf(scale, 300, isLog);
    const [top, centre, foot] = [y(100), y(middle), y(isLog ? 1 : 0)];
    assert.ok(top >= 0 && top < 30, `${top} from the top`);
    assert.ok(foot > 250 && foot <= 300, `${foot} from the top`);
    assert.ok(Math.abs(centre - (top + foot) / 2) < 1e-9);
  }
});
