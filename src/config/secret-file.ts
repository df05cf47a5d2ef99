import { readFileSync } from "node:fs";
import { fileTrouble } from "../lib/file-trouble.ts";
import type { Note } from "./checks.ts";

/** A secret is a line or two; a larger file is a wrong path. */
const SECRET_BYTES_MAX = 65_536;

/** The secret in a file, without blanks around it. Null where it cannot be used, which is noted; `what` names it in the remedy. */
export function readSecretFile(
  place: string,
  path: string,
  what: string,
  note: Note,
): string | null {
  try {
    const content = readFileSync(path);
    if (content.length > SECRET_BYTES_MAX) {
      note({
        place,
        problem: `${path} has ${content.length} bytes, more than a secret can`,
        remedy: `give a file of at most ${SECRET_BYTES_MAX} bytes`,
      });
      return null;
    }
    const text = content.toString("utf8").trim();
    if (text !== "") return text;
    note({ place, problem: `${path} is empty`, remedy: `write ${what} into it` });
  } catch (error) {
    note({
      place,
      problem: `${path} ${fileTrouble(error)}`,
      remedy: `give a file that this user can read and that holds ${what}`,
    });
  }
  return null;
}
