import assert from "node:assert/strict";
import { test } from "node:test";
import { bearingName } from "../../src/core/machine.ts";

test("machine – a bearing without a name has its number, counted from one", () => {
  assert.equal(bearingName({ point: 7 }, 0), "bearing 1");
  assert.equal(bearingName({ point: 7, name: "drive end" }, 0), "drive end");
});
