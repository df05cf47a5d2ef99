import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { BREAKS, broken } from "../../scripts/chaos/breaks.ts";
import { drawSeed } from "../../scripts/virtual/draw.ts";
import { HAPPENINGS } from "../../scripts/virtual/happenings.ts";
import { trialsIn } from "../support/virtual-trials.ts";

test("breaks – each still fits the sources: a seed or a campaign can be shown to notice it", () => {
  for (const one of BREAKS)
    assert.notEqual(broken(readFileSync(one.file, "utf8"), one), "", one.what);
});

/** CI tries two of them by its seed: each compiles the agent anew and runs it for minutes of CPU. */
const SEED = process.env["GATESIDE_TEST_SEED"];
const TRIED =
  SEED === undefined
    ? BREAKS
    : [0, 1].flatMap((next) => BREAKS[(Number(SEED) + next) % BREAKS.length] ?? []);

for (const one of TRIED) {
  const { what, virtual } = one;
  test(`virtual trial – it is noticed that ${what}`, async (t) => {
    const run = await trialsIn(t, [one]);
    const { failures } = await run(drawSeed(virtual.seed, virtual.hours, new Set(HAPPENINGS)));
    assert.notDeepEqual(failures, []);
  });
}
