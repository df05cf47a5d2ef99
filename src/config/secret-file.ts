import { readFileSync } from "node:fs";
import { fileTrouble, readRemedy } from "../lib/file-trouble.ts";
import type { Note } from "./fault.ts";

/** A secret is a line or two; a larger file is a wrong path. */
const SECRET_BYTES_MAX = 65_536;

/**
 * The secret in a file, trimmed. Null if it cannot be used, which is noted; `what` names it in the remedy, `word` names
 * the file if its path may be the secret itself.
 */
export function readSecretFile(
  place: string,
  path: string,
  what: string,
  note: Note,
  word = path,
): string | null {
  try {
    const content = readFileSync(path);
    if (content.length > SECRET_BYTES_MAX) {
      note({
        place,
        problem: `${word} has ${content.length} bytes, too many for a secret`,
        remedy: `use a file of at most ${SECRET_BYTES_MAX} bytes`,
      });
      return null;
    }
    if (content.includes(0)) {
      note({
        place,
        problem: `${word} is not plain text (Windows programs often write UTF-16)`,
        remedy: "save it as UTF-8",
      });
      return null;
    }
    const text = content.toString("utf8").trim();
    if (text !== "") return text;
    note({ place, problem: `${word} is empty`, remedy: `write ${what} into it` });
  } catch (error) {
    note({
      place,
      problem: `${word} ${fileTrouble(error)}`,
      remedy: readRemedy(
        error,
        // A path that may be the secret itself is not repeated.
        word === path ? path : "FILE",
        `use a file that this user can read and that contains ${what}`,
      ),
    });
  }
  return null;
}

/** The name in faults of a file from the uplinks file: its path if it looks like one; otherwise it may be the secret itself. */
export function fileWord(written: string, path: string): string {
  return /^\.{0,2}\/[^\n]*$/.test(written)
    ? path
    : "the file that it names (relative to the directory of this file)";
}
