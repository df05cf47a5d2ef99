import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { syncDirectory } from "../database/database.ts";

/*
 * What is on disk while a damaged file is copied, so that nothing is lost if the process ends meanwhile:
 *
 *   gateside.db.saving          names the damaged file; written before that is renamed, removed when all is copied
 *   gateside.db.corrupt-<time>  the damaged file; where it and the note are there, gateside.db is half a copy
 */
const noteOf = (path: string) => `${path}.saving`;

/** Renames the damaged file and those that belong to it, so that nothing is replayed into the next one. */
export function setAside(path: string, nowMs: number): string {
  const stamp = new Date(nowMs).toISOString().replace(/[:.]/g, "-");
  let target = `${path}.corrupt-${stamp}`;
  for (let n = 2; existsSync(target); n++) target = `${path}.corrupt-${stamp}-${n}`;
  writeNote(path, target);
  if (existsSync(`${path}-wal`)) renameSync(`${path}-wal`, `${target}-wal`);
  renameSync(path, target);
  rmSync(`${path}-shm`, { force: true });
  rmSync(`${path}-journal`, { force: true });
  syncDirectory(dirname(path));
  return target;
}

function writeNote(path: string, target: string): void {
  try {
    const file = openSync(noteOf(path), "w", 0o640);
    try {
      writeSync(file, basename(target));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  } catch {
    // A full disk has no space for it. The damaged file itself can be renamed all the same.
    rmSync(noteOf(path), { force: true });
  }
}

/** The damaged file whose copy was interrupted; null if there is none. */
export function unfinishedSalvage(path: string): string | null {
  if (!existsSync(noteOf(path))) return null;
  const target = join(dirname(path), basename(readFileSync(noteOf(path), "utf8")));
  if (target.startsWith(`${path}.corrupt-`)) {
    if (existsSync(target)) return target;
    // Ended between the two renames: the file must be opened with its -wal again.
    if (existsSync(`${target}-wal`)) renameSync(`${target}-wal`, `${path}-wal`);
  }
  rmSync(noteOf(path), { force: true });
  return null;
}

/**
 * Removes an incomplete copy. The returned function is for when the new file contains everything readable of the
 * damaged one.
 */
export function beginAnew(path: string): () => void {
  for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(path + suffix, { force: true });
  return () => {
    rmSync(noteOf(path), { force: true });
    syncDirectory(dirname(path));
  };
}
