import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { whyNotLasting } from "../core/lasting-place.ts";

/** Why a directory, which need not exist yet, does not last; null if it does, or if that cannot be known. */
export function notLasting(directory: string): string | null {
  try {
    let nearest = directory;
    while (!existsSync(nearest) && dirname(nearest) !== nearest) nearest = dirname(nearest);
    return whyNotLasting(realpathSync(nearest), readFileSync("/proc/self/mountinfo", "utf8"));
  } catch {
    return null;
  }
}
