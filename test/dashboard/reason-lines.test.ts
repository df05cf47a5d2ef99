import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cannot, FindingKind } from "../../src/core/diagnosis/finding.ts";
import { reasonLines } from "../../src/dashboard/reason-lines.ts";

const cannot = (
  finding: FindingKind | null,
  text: string,
  bearing: string | null = null,
): Cannot => ({ finding, bearing, reason: "ambiguous", text });

test("a reason that concerns several faults stands once, after their names", () => {
  const lines = reasonLines([
    cannot("unbalance", "1x rose."),
    cannot("cage", "The record is short.", "6205"),
    cannot("misalignment", "1x rose."),
    cannot("cage", "The record is short.", "NU 216"),
    cannot(null, "The machine is not running."),
  ]);
  assert.deepEqual(lines, [
    "Unbalance, misalignment: 1x rose.",
    "Cage: The record is short.",
    "The machine is not running.",
  ]);
});
