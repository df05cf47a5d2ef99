/** The version of a store from its file header: opens no database, so nothing is written beside it. */

import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../../../core/thrown.ts";
import { APPLICATION_ID, newerText, SCHEMA_VERSION } from "./migrate.ts";

/** SQLite's file format, section 1.3. */
const HEADER_BYTES = 100;
const USER_VERSION_AT = 60;
const APPLICATION_ID_AT = 68;

/** Null if there is no store yet, or the file is not ours. Throws the file system's error if it cannot be read. */
export function storedVersion(path: string): number | null {
  const header = Buffer.alloc(HEADER_BYTES);
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
  try {
    if (readSync(file, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return null;
  } finally {
    closeSync(file);
  }
  if (header.readUInt32BE(APPLICATION_ID_AT) !== APPLICATION_ID) return null;
  return header.readUInt32BE(USER_VERSION_AT);
}

/** Why this program cannot open the store in `dataDir` if a newer one wrote it; otherwise null. */
export function newerStore(dataDir: string): string | null {
  const path = join(dataDir, "gateside.db");
  const version = storedVersion(path);
  return version === null || version <= SCHEMA_VERSION ? null : newerText(path, version);
}
