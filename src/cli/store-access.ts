/**
 * Files of the store that this user could not open: an agent once run by root leaves such files, and the service then
 * exits with 2.
 */

import { accessSync, constants, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";
import { codeOf } from "../core/thrown.ts";
import { fileTrouble } from "../lib/file-trouble.ts";
import { userName } from "../lib/user-name.ts";

/** The database with its journals, and the lock. */
const STORE_FILE = /^gateside\.(db|db-wal|db-shm|lock)$/;

/** Only what belongs to others in the agent's own directory is to be given to it: a person who looks needs the agent's rights. */
function remedyFor(error: unknown, dataDir: string): string {
  if (codeOf(error) === "EROFS") return "mount it for writing, or use a directory on another disk";
  const uid = process.getuid?.() ?? 0;
  const name = userName();
  const owner = statSync(dataDir, { throwIfNoEntry: false })?.uid ?? uid;
  return owner === uid || name === "gateside"
    ? `run chown -R ${name ?? uid}: on the directory, so that the agent's user owns it`
    : "run the command with sudo, or as the user that the agent runs as";
}

/** Writes nothing. A directory that does not exist yet is no fault. */
export function storeAccessFaults(dataDir: string): ConfigurationFault[] {
  const faults: ConfigurationFault[] = [];
  const look = (path: string, mode: number, wish: "read" | "written") => {
    try {
      accessSync(path, mode);
      return true;
    } catch (error) {
      if (codeOf(error) === "ENOENT") return false;
      faults.push({
        place: "DATA_DIR",
        problem: `${path} ${fileTrouble(error, wish)}`,
        remedy: remedyFor(error, dataDir),
      });
      return false;
    }
  };
  if (!look(dataDir, constants.W_OK | constants.X_OK, "written")) return faults;
  let names: string[] = [];
  try {
    names = readdirSync(dataDir);
  } catch {
    return faults;
  }
  for (const name of names.filter((one) => STORE_FILE.test(one)).sort())
    look(join(dataDir, name), constants.R_OK | constants.W_OK, "written");
  return faults;
}
