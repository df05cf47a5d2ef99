/** The system's file errors, in words; the operator reads the path next to them. */
import { codeOf, codeOrMessage } from "../core/thrown.ts";

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  ENOTDIR: "is below a path that is not a directory",
  EISDIR: "is a directory, not a file",
  ELOOP: "is a symbolic link that leads back to itself",
  ENAMETOOLONG: "is too long for a file name",
};

/** Follows the path: `/etc/site.json does not exist`. Never throws, whatever was thrown. */
export function fileTrouble(error: unknown, wish: "read" | "written" = "read"): string {
  const code = codeOf(error);
  if (code === "EACCES" || code === "EPERM") return `cannot be ${wish} by this user`;
  if (code === "EROFS") return "is on a read-only file system";
  return WORDS[String(code)] ?? `cannot be ${wish} (${codeOrMessage(error)})`;
}
