import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { UnitTable } from "../../../src/core/query/units.ts";
import {
  OPERATION_KEYS,
  OPERATIONS,
} from "../../../src/features/query-service/rules/operations.ts";
import {
  isFault,
  QueryFields,
  readFields,
} from "../../../src/features/query-service/rules/request.ts";
import { createWireNames } from "../../../src/pipeline/wire/wire-names.ts";
import { SITE } from "../../support/http-parts.ts";

const names = createWireNames({ word: "sensor", service: "" });

test("request – any JSON object gives fields or an error with the documented number, and nothing in it is echoed", () => {
  const spelled = OPERATION_KEYS.flatMap((key) => OPERATIONS[key].fields.map(({ name }) => name));
  const key = fc.oneof(fc.constantFrom(...spelled), fc.string(), fc.constant("__proto__"));
  const secret = fc.constantFrom(
    "s3cret",
    77777,
    null,
    true,
    ["s3cret"],
    { s3cret: 1 },
    -1,
    "5",
    "2026-01-01",
  );
  fc.assert(
    fc.property(
      fc.constantFrom(...OPERATION_KEYS),
      fc.dictionary(key, fc.oneof(secret, fc.jsonValue())),
      (operation, body) => {
        const read = readFields(OPERATIONS[operation], body as Record<string, unknown>, names);
        if (read instanceof QueryFields) return;
        assert.ok(isFault(read));
        assert.ok([9002, 9003, 9004].includes(read.statusNumber));
        assert.ok(!/s3cret|77777/.test(read.description));
      },
    ),
    { numRuns: 500 },
  );
});

test("request – integers may be numbers, whole floats or numeric texts; nothing else", () => {
  const read = (fileid: unknown) => {
    const fields = readFields(OPERATIONS.fft, { machinecode: 1, fileid }, names);
    return fields instanceof QueryFields ? fields.integer("fileid") : fields.statusNumber;
  };
  for (const [value, expected] of [
    [7, 7],
    [7.0, 7],
    ["7", 7],
    [" -7 ", -7],
    ["007", 7],
    [7.5, 9003],
    ["7.0", 9003],
    ["", 9003],
    ["0x7", 9003],
    ["1e3", 9003],
    [1e21, 9003],
    ["9".repeat(16), 9003],
    [true, 9003],
    [[7], 9003],
    [null, 9002],
    [undefined, 9002],
  ] as const) {
    assert.equal(read(value), expected, JSON.stringify(value));
  }
});

test("units – a loop unit in another spelling shares the code; others keep theirs when the site file changes", () => {
  const loop = (...units: string[]) => ({
    site: "s",
    sensors: units.map((unit, index) => ({
      code: `${index}`,
      type: 1,
      kinds: ["loop" as const],
      channels: { channel1: { unit, low: 0, high: 1 } },
    })),
  });
  const table = new UnitTable(loop("bar", "MM/S^2", "μm", "m³/h"));
  assert.equal(table.ofLabel("MM/S^2")?.code, 1);
  assert.equal(table.ofLabel("um")?.code, 4);
  const later = new UnitTable(loop("°C", "m³/h", "bar", "l/min"));
  assert.equal(later.ofLabel("bar")?.code, table.ofLabel("bar")?.code);
  assert.equal(later.ofLabel("m³/h")?.code, table.ofLabel("m³/h")?.code);
  assert.equal(new UnitTable(SITE).ofLabel("furlong"), null);
});
