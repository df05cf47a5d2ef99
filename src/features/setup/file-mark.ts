import { createHmac, randomBytes } from "node:crypto";

/** New for each process. */
const MARK_KEY = randomBytes(32);

/**
 * Distinguishes two texts of a file, and is shown over HTTP: 64 hex digits, valid while the process lives. With a plain
 * hash, a view token could be used to guess the secrets in the file.
 */
export function fileMark(text: string): string {
  return createHmac("sha256", MARK_KEY).update(text).digest("hex");
}
