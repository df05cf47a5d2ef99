/** The system's file errors, in words; the operator reads the path next to them. */
import { accessSync, constants } from "node:fs";
import { dirname } from "node:path";
import { codeOf, codeOrMessage } from "../core/thrown.ts";
import { userName } from "./user-name.ts";

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  ENOTDIR: "is below a path that is not a directory",
  EISDIR: "is a directory, not a file",
  ELOOP: "is a symbolic link that leads back to itself",
  EDQUOT: "is beyond the quota of this user or directory",
  ENOSPC: "has no room left on its disk",
  ENAMETOOLONG: "is too long for a file name",
};

/** Follows the path: `/etc/site.json does not exist`. Never throws itself. */
export function fileTrouble(error: unknown, wish: "read" | "written" = "read"): string {
  const code = codeOf(error);
  if (code === "EACCES" || code === "EPERM") return `cannot be ${wish} by this user`;
  if (code === "EROFS") return "is on a read-only file system";
  return WORDS[String(code)] ?? `cannot be ${wish} (${codeOrMessage(error)})`;
}

/** The user of the packaged service. */
const SERVICE_USER = "gateside";

/** What makes a file readable; `otherwise` if permissions are not what is missing. Never throws. */
export function readRemedy(
  error: unknown,
  path: string,
  otherwise: string,
  user = userName(),
): string {
  const code = codeOf(error);
  if (code !== "EACCES" && code !== "EPERM") return otherwise;
  if (user !== SERVICE_USER) return "let this user read it, or run the command as the agent's user";
  const closed = closedDirectory(path);
  return closed === null
    ? `run \`chown root:gateside ${path} && chmod 640 ${path}\` as root: the service's user must be able to read it`
    : `move it to /etc/gateside: the service's user may not enter ${closed}`;
}

/** The first directory on the way that this user may not enter. */
function closedDirectory(path: string): string | null {
  const parent = dirname(path);
  const above = parent === path ? null : closedDirectory(parent);
  if (above !== null || parent === path) return above;
  try {
    accessSync(parent, constants.X_OK);
    return null;
  } catch {
    return parent;
  }
}
