import { statSync } from "node:fs";
import { dirname } from "node:path";

const READ_BY_OTHERS = 0o004;
const ENTERED_BY_OTHERS = 0o001;

/** Whether any user of the machine may read a file: by its mode and those of all directories above it. False if it does not exist. */
export function openToAll(path: string): boolean {
  if (process.platform === "win32") return false;
  const may = (at: string, bit: number) => {
    try {
      return (statSync(at).mode & bit) !== 0;
    } catch {
      return false;
    }
  };
  if (!may(path, READ_BY_OTHERS)) return false;
  for (let at = dirname(path); ; at = dirname(at)) {
    if (!may(at, ENTERED_BY_OTHERS)) return false;
    if (at === dirname(at)) return true;
  }
}
