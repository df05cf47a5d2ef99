import { existsSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { HOUR_MS } from "../../../core/time-units.ts";
import { durableFiles, syncDirectory } from "../../../lib/durable-file.ts";

/*
 * What is on disk while a damaged file is copied, so that nothing is lost if the process ends meanwhile:
 *
 *   gateside.db.saving          names the damaged file; written before that is renamed, removed when all is copied
 *   gateside.db.corrupt-<time>  the damaged file; where it and the note are there, gateside.db is half a copy
 */
const TRY_AGAIN_MS = HOUR_MS;
/** Logs that are rotated free less than this. */
const MORE_SPACE = 1.1;
const MORE_SPACE_BYTES = 256 << 10;

const noteOf = (path: string) => `${path}.saving`;

/** Renames the damaged file and those that belong to it, so that nothing is replayed into the next one. */
export function setAside(path: string, nowMs: number): string {
  const stamp = new Date(nowMs).toISOString().replace(/[:.]/g, "-");
  let target = `${path}.corrupt-${stamp}`;
  for (let n = 2; existsSync(target); n++) target = `${path}.corrupt-${stamp}-${n}`;
  writeNote(path, basename(target));
  if (existsSync(`${path}-wal`)) renameSync(`${path}-wal`, `${target}-wal`);
  renameSync(path, target);
  rmSync(`${path}-shm`, { force: true });
  rmSync(`${path}-journal`, { force: true });
  syncDirectory(dirname(path));
  return target;
}

/** Throws on a disk that has no space for it: without the note half a copy would count as a whole one. */
const writeNote = (path: string, text: string) => durableFiles.write(noteOf(path), text);

/** Records that the copy did not fit into this much free space, bytes: see `mayFit`. */
export function noteShortage(path: string, target: string, freeBytes: number): void {
  try {
    // Earlier versions read the last part only.
    writeNote(path, `${freeBytes}/${basename(target)}`);
  } catch {
    // Others filled the disk completely: the note stays as it was.
  }
}

/**
 * Whether a copy that did not fit is worth another attempt, with this much free space, bytes: each attempt writes until
 * the disk is full. After an hour it is: a quota may have been raised, which free space does not show.
 */
export function mayFit(path: string, freeBytes: number, nowMs: number): boolean {
  const [tried, target] = readFileSync(noteOf(path), "utf8").split("/");
  if (target === undefined) return true;
  const triedBytes = Number(tried);
  const isLater = Math.abs(nowMs - statSync(noteOf(path)).mtimeMs) >= TRY_AGAIN_MS;
  return isLater || freeBytes >= triedBytes * MORE_SPACE + MORE_SPACE_BYTES;
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

/** Removes an incomplete copy. */
export function removeCopy(path: string): void {
  for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(path + suffix, { force: true });
}

/** The new file contains everything readable of the damaged one. */
export function endSalvage(path: string): void {
  rmSync(noteOf(path), { force: true });
  syncDirectory(dirname(path));
}
