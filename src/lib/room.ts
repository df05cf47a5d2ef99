import { randomBytes } from "node:crypto";
import { closeSync, constants, fsyncSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../core/thrown.ts";

/** More than SQLite's index of its log needs at once. Not compressible: some file systems would store zeros in nothing. */
const TRIED_BYTES = 128 << 10;

/**
 * Why a directory takes no more, found out by writing a small file there; null if it does, or if the trial says nothing.
 * SQLite tells a quota as an I/O error and missing inodes as a file that cannot be opened.
 */
export function roomTrouble(directory: string): "quota" | "inodes" | "space" | null {
  const path = join(directory, "gateside.room");
  try {
    const file = openSync(path, "w", 0o600);
    try {
      writeSync(file, randomBytes(TRIED_BYTES));
      fsyncSync(file);
      return null;
    } finally {
      closeSync(file);
      rmSync(path, { force: true });
    }
  } catch (error) {
    const code = codeOf(error);
    if (code === "EDQUOT") return "quota";
    if (code !== "ENOSPC") return null;
    return hasInodes(directory) ? "space" : "inodes";
  }
}

/** btrfs and bcachefs (statfs(2), f_type): what is overwritten takes new space first. */
const COPIES_ON_WRITE: readonly number[] = [0x9123683e, 0xca451a4e];
/** open(2): a file without a name, in a directory. */
const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY;
/** A checkpoint takes 4 MB, and the writes before the next look some more. */
const MAPPED_BYTES = 6 << 20;
const incompressible = randomBytes(512 << 10);

/**
 * True where a store into mapped memory, such as the index of SQLite's log, would find no space: the process then ends by
 * SIGBUS, while a write fails with an error. It costs no disk write: the space is given back before it is used.
 */
export function lacksMappedRoom(directory: string): boolean {
  try {
    if (!COPIES_ON_WRITE.includes(statfsSync(directory).type)) return false;
    const file = openSync(directory, constants.O_RDWR | O_TMPFILE, 0o600);
    try {
      for (let bytes = 0; bytes < MAPPED_BYTES; ) bytes += writeSync(file, incompressible);
      return false;
    } finally {
      closeSync(file);
    }
  } catch (error) {
    const code = codeOf(error);
    return code === "EDQUOT" || code === "ENOSPC";
  }
}

/** True where the file system does not count them. */
function hasInodes(directory: string): boolean {
  const { files, ffree } = statfsSync(directory);
  return files === 0 || ffree > 0;
}

export const ROOM_TEXTS = {
  quota:
    "the quota of this user or directory is used up, whatever the disk has free: raise it (quota -s, btrfs qgroup show) or delete other files under it",
  inodes:
    "the file system has no inodes left, whatever it has free in bytes: delete files that are not needed (df -i)",
} as const;
