import { accessSync, constants, statSync } from "node:fs";
import { dirname } from "node:path";
import { fileTrouble } from "./file-trouble.ts";

/** Why this process could not replace a file, with the path that prevents it; null if it could. Writes nothing. */
export function replaceTrouble(path: string): string | null {
  const directory = dirname(path);
  try {
    // Written beside it and renamed: the directory's permissions count.
    accessSync(directory, constants.W_OK | constants.X_OK);
  } catch (error) {
    return `the directory ${directory} ${fileTrouble(error, "written")}`;
  }
  const file = statSync(path, { throwIfNoEntry: false });
  if (file === undefined) return null;
  if (file.isDirectory()) return `${path} is a directory`;
  try {
    // If it were replaced without being read, its content would be lost unseen.
    accessSync(path, constants.R_OK);
    return null;
  } catch (error) {
    return `${path} ${fileTrouble(error)}`;
  }
}
