/** Trials in virtual time, of the agent as it is or with a break. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, type TestContext } from "node:test";
import type { Break } from "../../scripts/chaos/breaks.ts";
import type { Drawn } from "../../scripts/virtual/draw.ts";
import { bundlePlant, openBundler, Program } from "../../scripts/virtual/program.ts";
import { runTrial } from "../../scripts/virtual/trial.ts";

/** A crash leaves what the kernel has, so nothing needs to reach a disk. */
const ROOT = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

/** Once for all tests of a file: bundling takes longer than a short trial. */
const shared: { bundler?: ReturnType<typeof openBundler>; agent?: Program; plant?: Program } = {};

after(async () => (await shared.bundler)?.close());

async function bundled(bundle: (path: string) => Promise<void>): Promise<Program> {
  const directory = mkdtempSync(join(ROOT, "gateside-virtual-program-"));
  try {
    const path = join(directory, "program.cjs");
    await bundle(path);
    return new Program(path);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function agentWith(breaks: readonly Break[]): Promise<Program> {
  const bundler = await (shared.bundler ??= openBundler());
  return bundled((path) => bundler.bundle(path, breaks));
}

export async function trialsIn(t: TestContext, breaks: readonly Break[] = []) {
  const directory = mkdtempSync(join(ROOT, "gateside-virtual-test-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const agent =
    breaks.length > 0 ? await agentWith(breaks) : (shared.agent ??= await agentWith([]));
  const plant = (shared.plant ??= await bundled(bundlePlant));
  let trials = 0;
  return (drawn: Drawn) =>
    runTrial({
      drawn,
      agent,
      plant,
      directory: join(directory, `trial-${++trials}`),
      journalPath: null,
      rowsPath: null,
      // A break only has to be noticed.
      ...(breaks.length > 0 && { stuckMs: 900_000 }),
    });
}
