/** Creates DATA_DIR if it is missing, and detects before SQLite does what prevents the agent from using it. */
import { accessSync, constants, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { codeOf } from "../../../core/thrown.ts";
import { makeDirectory } from "../../../lib/make-directory.ts";
import { StoreFailure } from "./store-failure.ts";

/** Throws StoreFailure `unusable` with what the operator can do; any other failure of the disk under its own code. */
export function prepareDataDirectory(dataDir: string): void {
  const path = resolve(dataDir);
  try {
    makeDirectory(path, 0o750);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const { path: at = path, syscall }: NodeJS.ErrnoException = error;
    if (codeOf(error) === "EEXIST") {
      const problem = `DATA_DIR: ${at} is a file, not a directory`;
      throw new StoreFailure("unusable", `${problem}; ${moveOrGive(at, path)}`, error);
    }
    throw failure(error, at, path, syscall === "mkdir" ? "created" : "read");
  }
  requireWritable(path, path, constants.R_OK | constants.W_OK | constants.X_OK);
  for (const name of readdirSync(path)) {
    // For files left by another user, mostly root after a one-off command, SQLite would report "readonly database"
    // much later.
    if (/^gateside\.(lock|db|db-wal|db-shm|ballast)$/.test(name)) {
      requireWritable(join(path, name), path, constants.R_OK | constants.W_OK);
    }
  }
}

function requireWritable(at: string, dataDir: string, mode: number): void {
  try {
    accessSync(at, mode);
  } catch (error) {
    throw failure(error, at, dataDir, "written");
  }
}

function failure(
  error: unknown,
  at: string,
  dataDir: string,
  what: "created" | "written" | "read",
): StoreFailure {
  const owner = `the user that runs gateside${typeof process.getuid === "function" ? ` (uid ${process.getuid()})` : ""}`;
  const problem = `DATA_DIR: ${at} cannot be ${what}`;
  const unusable = (why: string, remedy: string) =>
    new StoreFailure("unusable", `${problem}: ${why}; ${remedy}`, error);
  switch (codeOf(error) ?? "") {
    case "EACCES":
    case "EPERM":
      return unusable(
        `${owner} has no permission`,
        at === dataDir || what !== "written"
          ? "use a directory that this user can write to, or change its owner"
          : "another user left it there; change its owner",
      );
    case "EROFS":
      return unusable(
        "the file system is read-only",
        "mount it for writing, or use a directory on another disk",
      );
    case "ENOENT":
    case "ENOTDIR":
    case "EINVAL":
    case "ELOOP":
    case "ENAMETOOLONG":
    case "ENOTSUP":
      return unusable("files cannot be stored there", "use a directory on a disk");
    default:
      return StoreFailure.from(error, problem);
  }
}

function moveOrGive(at: string, dataDir: string): string {
  return at === dataDir
    ? "move it away, or use another directory"
    : "use a directory that is not below it";
}
