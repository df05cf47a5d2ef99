import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { drawSeed, HAPPENINGS } from "../../scripts/virtual/draw.ts";
import { bundleAgent, bundlePlant, Program } from "../../scripts/virtual/program.ts";
import { runTrial } from "../../scripts/virtual/trial.ts";

test("virtual trial – the same seed gives the same journal to the byte, with crashes, and nothing is lost or doubled", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "gateside-virtual-test-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const [agent, plant] = [join(directory, "agent.cjs"), join(directory, "plant.cjs")];
  await bundleAgent(".", agent);
  await bundlePlant(plant);
  const drawn = drawSeed(2, 1, new Set(HAPPENINGS));
  const programs = { agent: new Program(agent), plant: new Program(plant) };
  const run = (name: string) =>
    runTrial({
      drawn,
      ...programs,
      directory: join(directory, name),
      journalPath: null,
      rowsPath: null,
    });
  const first = await run("one");
  assert.deepEqual(first.failures, []);
  assert.ok(first.received > 100, `${first.received} readings`);
  assert.ok(first.starts > 1, "the agent was never killed");
  const second = await run("two");
  assert.equal(second.digest, first.digest);
});
