import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { READINGS } from "../../src/collect/database/migrations/001-readings.ts";
import { NAMES } from "../../src/collect/database/migrations/002-names.ts";
import { HORIZON } from "../../src/collect/database/migrations/003-horizon.ts";

const STEPS = {
  readings: [READINGS, "79cfaa13a440099da24852334aff7ddf5800393e3fe6ff824042307257751c3c"],
  names: [NAMES, "6257951881d89e879d36a3c8a8cdc70c268a51f3ede6f9dbad5eb07298101111"],
  horizon: [HORIZON, "5167a2dfdfede2aab3248ea858cd87f7bb9ad6148b0c2a3f8e2785a005c14c79"],
} as const;

test("collect migrations – the steps are the SQL that databases were created with", () => {
  for (const [name, [sql, digest]] of Object.entries(STEPS))
    assert.equal(
      createHash("sha256").update(sql).digest("hex"),
      digest,
      `databases have the step ${name} already: put the change into a step of its own`,
    );
});
