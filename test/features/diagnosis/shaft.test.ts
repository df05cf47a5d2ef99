import assert from "node:assert/strict";
import { test } from "node:test";
import { shaftOf } from "../../../src/features/diagnosis/rules/shaft.ts";
import type { ToneList } from "../../../src/pipeline/signal/tones.ts";

/** Tones as [Hz, ratio to the noise]. */
function tonesOf(...tones: readonly (readonly [number, number])[]): ToneList {
  const data = tones
    .toSorted((a, b) => a[0] - b[0])
    .flatMap(([hz, ratio]) => [hz, ratio / 100, ratio]);
  return { resolutionHz: 0.78, topHz: 1000, data: new Float32Array(data) };
}

test("the shaft is the measured one: a stronger line of a neighbour, of the mains or of a bearing does not move it", () => {
  const none = { suppliesHz: [], bearingOrders: [], slip: 0.02 };
  const isAtMeasured = (tones: ToneList, others: Parameters<typeof shaftOf>[2]) => {
    const { hz, besideHz } = shaftOf([tones], 24.75, others);
    assert.ok(Math.abs(hz - 24.75) < 0.03, `${hz}`);
    return besideHz;
  };
  // 1.5 % beside, ten times stronger.
  assert.equal(isAtMeasured(tonesOf([24.76, 8], [25.12, 80]), none), null);
  // Twice the mains frequency at 2.02x, an element's spin at 1.99x, BPFO at 3.05x.
  assert.equal(isAtMeasured(tonesOf([50, 60]), { ...none, suppliesHz: [50] }), null);
  assert.equal(isAtMeasured(tonesOf([49.2, 60]), { ...none, bearingOrders: [1.99] }), null);
  assert.equal(isAtMeasured(tonesOf([75.5, 60]), { ...none, bearingOrders: [3.05] }), null);
  // A bearing's line ends half a resolution (0.39 Hz) beyond its slip; one farther off is another's, and named.
  assert.equal(isAtMeasured(tonesOf([25.1, 60]), { ...none, bearingOrders: [1], slip: 0 }), null);
  const beside = isAtMeasured(tonesOf([25.3, 60]), { ...none, bearingOrders: [1], slip: 0 });
  assert.equal(Math.round(10 * (beside ?? 0)), 253);
  // A single line beside it is named.
  assert.equal(Math.round(isAtMeasured(tonesOf([25.4, 60]), none) ?? 0), 25);
});

test("the shaft follows two orders that agree, where the measured speed shows none", () => {
  const others = { suppliesHz: [], bearingOrders: [3.58, 5.41], slip: 0.02 };
  const { hz, isSeen } = shaftOf([tonesOf([25.1, 30], [50.2, 20])], 24.75, others);
  assert.ok(isSeen && Math.abs(hz - 25.1) < 0.02, `${hz}`);
});
