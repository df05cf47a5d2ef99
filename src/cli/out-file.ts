import { accessSync, constants, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileTrouble } from "../lib/file-trouble.ts";
import { UsageError } from "./command.ts";

/** The path of an output file named by a flag: anything that would prevent writing is reported before the work. */
export function outFile(flag: string, given: string, cwd: string): string {
  const path = resolve(cwd, given);
  const directory = dirname(path);
  const refuse = (what: string, error: unknown): never => {
    throw new UsageError(`--${flag} ${given}: ${what} ${fileTrouble(error, "written")}`);
  };
  try {
    accessSync(directory, constants.W_OK | constants.X_OK);
  } catch (error) {
    refuse(`the directory ${directory}`, error);
  }
  const about = statSync(path, { throwIfNoEntry: false });
  if (about === undefined) return path;
  if (about.isDirectory()) refuse(path, Object.assign(new Error(), { code: "EISDIR" }));
  try {
    accessSync(path, constants.W_OK);
  } catch (error) {
    refuse(path, error);
  }
  return path;
}
