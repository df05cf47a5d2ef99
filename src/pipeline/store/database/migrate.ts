import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import type Sqlite from "better-sqlite3";
import { codeOf } from "../../../core/thrown.ts";
import { sql as readings } from "./migrations/001-readings.ts";
import { sql as lanes } from "./migrations/002-lanes.ts";
import { sql as wholeTimes } from "./migrations/006-whole-times.ts";
import { sql as kept } from "./migrations/010-kept.ts";
import { alarms, audit, auditShares, hours, people, waiting } from "./migrations/short-steps.ts";
import { StoreFailure } from "./store-failure.ts";

/** Step n migrates a store from version n to n + 1. */
export const STEPS: readonly string[] = [
  readings,
  lanes,
  alarms,
  audit,
  auditShares,
  wholeTimes,
  waiting,
  people,
  hours,
  kept,
];

export const SCHEMA_VERSION = STEPS.length;

/** "Gate": distinguishes our file from another program's. */
export const APPLICATION_ID = 0x47617465;

/** Brings the schema up to date, each step in its own transaction. A newer store is left as it is. */
export function migrate(db: Sqlite.Database, path: string, steps = STEPS): void {
  const version = requireKnownVersion(db, path, steps.length);
  for (const [index, sql] of steps.entries()) {
    if (index < version) continue;
    db.transaction(() => {
      db.exec(sql);
      db.pragma(`user_version = ${index + 1}`);
    }).immediate();
  }
}

/** Each step of features that this store does not have yet, in its own transaction. */
export function addFeatures(
  db: Sqlite.Database,
  steps: readonly { readonly version: number; readonly sql: string }[],
): void {
  const has = db.prepare<[string]>("SELECT 1 FROM meta WHERE name = ?");
  const note = db.prepare<[string]>("INSERT INTO meta VALUES (?, 'done')");
  for (const { version, sql } of steps) {
    const name = `step ${version}`;
    if (has.get(name) !== undefined) continue;
    db.transaction(() => {
      db.exec(sql);
      note.run(name);
    }).immediate();
  }
}

/** The store's version. Throws StoreFailure `schema_newer` if this program does not know it. */
export function requireKnownVersion(
  db: Sqlite.Database,
  path: string,
  known = SCHEMA_VERSION,
): number {
  const version = Number(db.pragma("user_version", { simple: true }));
  if (version <= known) return version;
  throw new StoreFailure("schema_newer", newerText(path, version, known));
}

/** For a store written by a newer program. */
function newerText(path: string, version: number, known = SCHEMA_VERSION): string {
  return `${path} has schema version ${version}, but this program supports only up to ${known}: install the newer Gateside again, or set another DATA_DIR`;
}

/** SQLite's file format, section 1.3: its header is read without opening the database, so that nothing is written beside it. */
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
