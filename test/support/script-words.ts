import { join, resolve } from "node:path";

/** Node's words that start a script of the checkout, as the runner has compiled it (`SCRIPTS` in scripts/test/bundle.mjs), else by tsx. */
export function scriptWords(path: string): string[] {
  // Loading TypeScript costs each process more CPU than most of these scripts use.
  const compiled = process.env["GATESIDE_TEST_COMPILED"];
  if (compiled === undefined) return ["--import", import.meta.resolve("tsx"), resolve(path)];
  return [join(compiled, path.replace(/\.ts$/, ".js"))];
}
