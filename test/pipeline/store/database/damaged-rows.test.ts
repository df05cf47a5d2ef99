/** Texts with any one byte changed: what SQLite calls JSON is read without a second look, and is what JSON.parse reads. */
import assert from "node:assert/strict";
import { test } from "node:test";
import Sqlite from "better-sqlite3";
import fc from "fast-check";
import type { StoredReading } from "../../../../src/core/stored-reading.ts";
import { ARE_JSON_SQL, DamagedRows } from "../../../../src/pipeline/store/database/damaged-rows.ts";

const READING: StoredReading = {
  seq: 1,
  id: "ab".repeat(16),
  sensor: "1",
  kind: "rpm",
  timeMs: 0,
  offsetMinutes: null,
  storedAtMs: 0,
  values: "{}",
  units: "{}",
  quality: "{}",
  attributes: "{}",
  raw: "{}",
  waveforms: [],
};
const TEXT = JSON.stringify({ a: [-1.5e-7, 0, null], 'b\u001f\\"ü': { c: true }, d: "x\u0000y" });
const NAMES = ["values", "quality", "attributes", "raw"] as const;

test("damaged rows – with SQLite's look before, the same texts count as empty as without", () => {
  const db = new Sqlite(":memory:");
  db.exec('CREATE TABLE readings ("values", quality, attributes, raw)');
  const insert = db.prepare("INSERT INTO readings VALUES (CAST(? AS TEXT), ?, ?, ?)");
  const look = db.prepare<[], [string, number]>(
    `SELECT r."values", ${ARE_JSON_SQL} FROM readings r`,
  );
  let quick = 0;
  const damage = fc.record({ at: fc.nat(Buffer.byteLength(TEXT) - 1), to: fc.nat(255) });
  fc.assert(
    fc.property(fc.array(damage, { maxLength: 3 }), (changes) => {
      const bytes = Buffer.from(TEXT);
      for (const { at, to } of changes) bytes[at] = to;
      db.exec("DELETE FROM readings");
      insert.run(bytes, "{}", TEXT, TEXT);
      const [values, areJson] = look.raw().get() ?? ["", 0];
      const reading = { ...READING, values, quality: "{}", attributes: TEXT, raw: TEXT };
      const found = new DamagedRows().readable(reading, areJson === 1);
      assert.deepEqual(found, new DamagedRows().readable(reading));
      quick += areJson;
    }),
    { numRuns: 5_000, seed: 20_261_129 },
  );
  assert.ok(quick > 500);
  db.close();
  for (const name of NAMES) {
    const reading = { ...READING, [name]: "[1]" };
    assert.equal(new DamagedRows().readable(reading, true)[name], "{}", "JSON, but no object");
  }
});
