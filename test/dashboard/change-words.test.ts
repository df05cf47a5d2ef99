import assert from "node:assert/strict";
import { test } from "node:test";
import type { RankedMachine } from "../../src/core/condition/shown.ts";
import { changeWords } from "../../src/dashboard/change-words.ts";

test("machines – before there is a month to compare with, an entry does not read as if a change were known", () => {
  const changed = {
    sensor: "10234",
    value: "channel1_vel_rms",
    unit: "mm/s",
    now: 2.04,
    before: null,
    against: null,
    text: "Vibration velocity: 2.04 mm/s in the last day, nothing to compare with before 26 Dec.",
  };
  assert.deepEqual(changeWords({ changed } as unknown as RankedMachine), {
    text: "–",
    more: "no comparison before 26 Dec",
  });
});
