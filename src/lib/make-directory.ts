import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { codeOf } from "../core/thrown.ts";

/**
 * Creates a directory and missing parents, step by step: Node's own recursive mkdir never ends if the system reports
 * ENOENT below an existing parent (/proc). Throws the system's error for the first that cannot be created.
 */
export function makeDirectory(path: string, mode = 0o777): void {
  const missing: string[] = [];
  for (let at = resolve(path); !isThere(at); at = dirname(at)) missing.push(at);
  for (const directory of missing.reverse()) {
    try {
      mkdirSync(directory, { mode });
    } catch (error) {
      // Somebody else was faster.
      if (codeOf(error) !== "EEXIST" || !isThere(directory)) throw error;
    }
  }
}

/** False if there is nothing, or a file in place of a parent: then the parent is tried next. */
function isThere(path: string): boolean {
  try {
    const about = statSync(path);
    if (about.isDirectory()) return true;
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return false;
    throw error;
  }
  throw Object.assign(new Error(`${path} is a file`), { code: "EEXIST", path, syscall: "mkdir" });
}
