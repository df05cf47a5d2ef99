/**
 * Files of the store that this user could not open: an agent once run by root leaves such files, and the service then
 * exits with 2.
 */
import { accessSync, constants, readdirSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "../config/environment.ts";
import type { ConfigurationFault } from "../core/configuration.ts";
import { fileTrouble } from "../lib/file-trouble.ts";

/** The database with its journals, and the lock. */
const STORE_FILE = /^gateside\.(db|db-wal|db-shm|lock)$/;

/** Writes nothing. A directory that does not exist yet is no fault. */
export function storeAccessFaults(dataDir: string): ConfigurationFault[] {
  const faults: ConfigurationFault[] = [];
  const look = (path: string, mode: number, wish: "read" | "written") => {
    try {
      accessSync(path, mode);
      return true;
    } catch (error) {
      if (errorCode(error) === "ENOENT") return false;
      faults.push({
        place: "DATA_DIR",
        problem: `${path} ${fileTrouble(error, wish)}`,
        remedy: "run chown -R gateside: on the directory, so that the service's user owns it",
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
