import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { READINGS } from "../../src/collect/database/migrations/001-readings.ts";

test("collect migrations – the first step is the SQL that databases were created with", () => {
  assert.equal(
    createHash("sha256").update(READINGS).digest("hex"),
    "79cfaa13a440099da24852334aff7ddf5800393e3fe6ff824042307257751c3c",
    "databases have this step already: put the change into a step of its own",
  );
});
