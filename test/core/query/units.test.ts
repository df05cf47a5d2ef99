import assert from "node:assert/strict";
import { test } from "node:test";
import { conversionFactor, UnitTable, unitFactor } from "../../../src/core/query/units.ts";
import type { Sensor } from "../../../src/core/sensor.ts";

const loop = (unit: string): Sensor => ({
  code: unit,
  type: 1,
  kinds: ["loop"],
  channels: { channel1: { unit, low: 0, high: 1 } },
});

test("units of the query service – letter case is another unit; only the seven of vibration are read in any", () => {
  const units = ["mW", "MW", "mS", "ms"];
  const table = new UnitTable({ site: "plant", sensors: units.map(loop) });
  for (const unit of units) assert.equal(table.ofLabel(unit)?.label, unit);
  assert.equal(new Set(units.map((unit) => table.ofLabel(unit)?.code)).size, units.length);
  assert.equal(unitFactor("mW", "MW"), null);
  assert.equal(unitFactor("ms", "mS"), null);
  assert.equal(unitFactor("G", "mm/s^2"), 9800);
  // What a node of another vendor measures itself.
  assert.equal(conversionFactor("g", "G"), 1);
  assert.equal(conversionFactor("MM/S", "mm/s"), 1);
  const plain = new UnitTable({ site: "plant", sensors: [] });
  assert.deepEqual([plain.ofLabel("ge")?.code, plain.ofLabel("MM/S²")?.code], [6, 1]);
  assert.equal(plain.ofLabel("rPM"), null);
});
