import { accessSync, constants } from "node:fs";
import { delimiter, join, relative } from "node:path";
import type { Environment } from "../config/environment-type.ts";
import { programPath } from "../lib/paths.ts";

/** How this program is called here: `gateside` if that is a command, otherwise Node with the running file. */
export function programCall(env: Environment, cwd: string): string {
  const directories = (env["PATH"] ?? "").split(delimiter).filter((path) => path !== "");
  if (directories.some((directory) => isProgram(join(directory, "gateside")))) return "gateside";
  const near = relative(cwd, programPath());
  const path = near.startsWith("..") ? programPath() : near;
  return `node ${path.endsWith(".ts") ? "--import tsx " : ""}${path}`;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
