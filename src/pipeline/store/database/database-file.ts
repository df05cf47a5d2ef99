/** The file of the store: how a new one comes to be, and what is looked at in one that is there. */
import { renameSync, rmSync, statSync } from "node:fs";
import type Sqlite from "better-sqlite3";
import { syncDirectory } from "../../../lib/durable-file.ts";
import { APPLICATION_ID, migrate } from "./migrate.ts";
import { StoreFailure } from "./store-failure.ts";

/**
 * Page size of new files. A commit writes every page that it touches completely, so small pages wear a memory card much
 * less; below 1 kB the chains of sample pages become long. Files with other pages keep them.
 */
export const PAGE_BYTES = 1024;
/** Above this size an unclean stop checks only the tables that control delivery: a full check would delay the start. */
const FULL_CHECK_BYTES_MAX = 256 << 20;
const RULING_TABLES = ["meta", "streams", "outbox", "live_marks", "day_progress", "forgotten"];

/** New files are created under another name first: a gateside.db without a schema is always damage. */
export function createFile(
  path: string,
  dataDir: string,
  connect: (path: string) => Sqlite.Database,
): void {
  const fresh = `${path}.new`;
  try {
    for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(fresh + suffix, { force: true });
    // Leftovers of a deleted database would be replayed into the new one.
    for (const suffix of ["-wal", "-shm"]) rmSync(path + suffix, { force: true });
    const db = connect(fresh);
    try {
      db.pragma(`page_size = ${PAGE_BYTES}`);
      db.pragma("auto_vacuum = INCREMENTAL");
      db.pragma(`application_id = ${APPLICATION_ID}`);
      migrate(db, path);
      db.pragma("journal_mode = WAL");
    } finally {
      db.close();
    }
    renameSync(fresh, path);
    syncDirectory(dataDir);
  } catch (error) {
    throw StoreFailure.from(error, `cannot create ${path}`);
  }
}

/** Throws StoreFailure `corrupt`. */
export function checkFile(writer: Sqlite.Database, path: string, wasUnclean: boolean): void {
  // Reading each root page detects a truncated file or a damaged catalogue even after a clean stop.
  writer.pragma("schema_version");
  for (const name of RULING_TABLES) writer.prepare(`SELECT 1 FROM ${name} LIMIT 1`).get();
  if (!wasUnclean) return;
  const isSmall = sizeOf(path) <= FULL_CHECK_BYTES_MAX;
  const checks = isSmall ? ["quick_check(1)"] : RULING_TABLES.map((t) => `quick_check(${t})`);
  for (const check of checks) {
    const finding = String(writer.pragma(check, { simple: true }));
    if (finding !== "ok") throw new StoreFailure("corrupt", `${path}: ${finding}`);
  }
}

export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Device and inode; empty if there is none. */
export function placeOf(path: string): string {
  const about = statSync(path, { throwIfNoEntry: false });
  return about === undefined ? "" : `${about.dev} ${about.ino}`;
}
