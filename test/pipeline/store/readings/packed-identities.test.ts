import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bytesOf,
  holds,
  plus,
  timesIn,
} from "../../../../src/pipeline/store/readings/packed-identities.ts";

test("packed identities – one is held where it begins as an identity, not where two others happen to contain it", () => {
  const one = bytesOf(1000, 0x11_22_33_44_55);
  const other = bytesOf(2000, 0x66_77_88_99_aa);
  const pack = plus(one, other);
  for (const identity of [one, other]) assert.equal(holds(pack, identity), true);
  // The end of the first and the beginning of the second.
  const between = pack.subarray(1, 1 + one.length);
  assert.equal(holds(pack, between), false);
  assert.equal(holds(plus(pack, between), between), true);
  assert.equal(holds(Buffer.alloc(0), one), false);
  assert.deepEqual(timesIn(pack, 2), [7_201_000, 7_202_000]);
});
