/** Trials in virtual time, of the agent as it is or with a break. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Break } from "../../scripts/chaos/breaks.ts";
import type { Drawn } from "../../scripts/virtual/draw.ts";
import { bundleAgent, bundlePlant, Program } from "../../scripts/virtual/program.ts";
import { runTrial } from "../../scripts/virtual/trial.ts";

export async function trialsIn(t: TestContext, breaks: readonly Break[] = []) {
  const directory = mkdtempSync(join(tmpdir(), "gateside-virtual-test-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const [agent, plant] = [join(directory, "agent.cjs"), join(directory, "plant.cjs")];
  await bundleAgent(".", agent, breaks);
  await bundlePlant(plant);
  const programs = { agent: new Program(agent), plant: new Program(plant) };
  let trials = 0;
  return (drawn: Drawn) =>
    runTrial({
      drawn,
      ...programs,
      directory: join(directory, `trial-${++trials}`),
      journalPath: null,
      rowsPath: null,
      // A break only has to be noticed.
      ...(breaks.length > 0 && { stuckMs: 900_000 }),
    });
}
