/**
 * Shows that the campaign finds bugs: breaks one promise at a time in a copy of the sources, builds it, and runs campaigns on
 * it until one fails. Exits with 0 if every break was found.
 *
 *   node --import tsx scripts/chaos/mutate.ts [--seeds A-B] [--only WORDS]
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { BREAKS, type Break, broken } from "./breaks.ts";

function main(): number {
  const { values } = parseArgs({
    options: { seeds: { type: "string", default: "1-4" }, only: { type: "string", default: "" } },
  });
  const [first = 1, last = first] = values.seeds.split("-").map(Number);
  let isProven = true;
  for (const one of BREAKS.filter(({ what }) => what.includes(values.only))) {
    const copy = mkdtempSync(join(tmpdir(), "gateside-mutant-"));
    try {
      const isNoticed = tryBreak(one, copy, first, last);
      process.stdout.write(`${isNoticed ? "noticed" : "NOT NOTICED"}: ${one.what}\n`);
      isProven &&= isNoticed;
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  }
  return isProven ? 0 : 1;
}

function tryBreak(one: Break, copy: string, first: number, last: number): boolean {
  const program = build(one, copy);
  for (let seed = first; seed <= last; seed++) {
    const words = ["--seed", `${seed}`, "--formats", one.formats, "--program", program];
    const { stdout, status } = node(".", join("scripts", "chaos", "run.ts"), ...words);
    process.stdout.write(stdout);
    // 2 means that the campaign could not run.
    if (status !== 0) return status === 1;
  }
  return false;
}

/** Returns the bundle of the broken copy. */
function build(one: Break, copy: string): string {
  for (const name of ["src", "scripts", "config", "package.json", "tsconfig.json", "LICENSE"]) {
    cpSync(name, join(copy, name), { recursive: true });
  }
  symlinkSync(resolve("node_modules"), join(copy, "node_modules"));
  const path = join(copy, one.file);
  writeFileSync(path, broken(readFileSync(path, "utf8"), one));
  const built = node(copy, join("scripts", "build.ts"));
  if (built.status !== 0) throw new Error(`the broken sources do not build: ${built.stderr}`);
  return join(copy, "dist", "gateside.js");
}

const node = (cwd: string, ...args: string[]) =>
  spawnSync(process.execPath, ["--import", "tsx", ...args], { cwd, encoding: "utf8" });

process.exitCode = main();
