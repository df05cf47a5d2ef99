/** Trials in virtual time, of the agent as it is or with a break. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Break } from "../../scripts/chaos/breaks.ts";
import type { Drawn } from "../../scripts/virtual/draw.ts";
import { bundleAgent, bundlePlant, Program } from "../../scripts/virtual/program.ts";
import { runTrial } from "../../scripts/virtual/trial.ts";

async function bundled(bundle: (path: string) => Promise<void>): Promise<Program> {
  const directory = mkdtempSync(join(tmpdir(), "gateside-virtual-program-"));
  try {
    const path = join(directory, "program.cjs");
    await bundle(path);
    return new Program(path);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Once for all tests of a file: bundling takes longer than a short trial. */
const shared: { agent?: Promise<Program>; plant?: Promise<Program> } = {};

export async function trialsIn(t: TestContext, breaks: readonly Break[] = []) {
  const directory = mkdtempSync(join(tmpdir(), "gateside-virtual-test-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  shared.plant ??= bundled(bundlePlant);
  const agent =
    breaks.length > 0
      ? bundled((path) => bundleAgent(".", path, breaks))
      : (shared.agent ??= bundled((path) => bundleAgent(".", path)));
  const programs = { agent: await agent, plant: await shared.plant };
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
