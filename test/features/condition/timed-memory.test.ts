import assert from "node:assert/strict";
import { test } from "node:test";
import { TimedMemory } from "../../../src/features/condition/timed-memory.ts";

test("timed memory – made anew after its time or with another version, once there is time; until then the old one stays", () => {
  const site = {};
  const memory = new TimedMemory<string>(1_000);
  const of = (value: string, source: object, mayMake = true) =>
    memory.of("1", { of: site, version: 1, nowMs: 0, ...source }, mayMake, () => value).value;
  assert.equal(of("a", {}, false), null);
  assert.equal(of("b", {}), "b");
  assert.equal(of("c", { nowMs: 999 }), "b");
  assert.equal(of("d", { version: 2 }, false), "b");
  assert.equal(of("e", { version: 2 }), "e");
  assert.equal(of("f", { version: 2, nowMs: 1_000 }, false), "e");
  assert.equal(of("g", { version: 2, nowMs: 1_000 }), "g");
  assert.equal(of("h", { version: 2, nowMs: 1_000, of: {} }, false), null);
});
