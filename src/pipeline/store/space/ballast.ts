import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";

/** The file whose space is released on a full disk, so that SQLite can write what frees more. */
export const ballastPath = (dataDir: string): string => join(dataDir, "gateside.ballast");

/** False if it was released already. */
export function dropBallast(dataDir: string): boolean {
  const path = ballastPath(dataDir);
  if (!existsSync(path)) return false;
  rmSync(path, { force: true });
  return true;
}
