import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

/** Builds a library for LD_PRELOAD from test/support; null where there is no gcc or no LD_PRELOAD. */
export function buildShim(
  directory: string,
  source: "record-writes" | "plain-waits" = "record-writes",
): string | null {
  if (process.platform !== "linux") return null;
  const shim = join(directory, `${source}.so`);
  const args = ["-O2", "-shared", "-fPIC", "-o", shim, `test/support/${source}.c`, "-ldl"];
  const gcc = spawnSync("gcc", args, { encoding: "utf8" });
  return gcc.status === 0 && existsSync(shim) ? shim : null;
}
