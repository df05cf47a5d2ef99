import {
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { codeOf } from "../core/thrown.ts";

/** Mode of a file that did not exist before: it may contain the secrets of a configuration. */
const NEW_FILE_MODE = 0o640;

/**
 * Files that a power cut leaves complete: the old one or the new one. Passed in, so that tests can cut between two
 * steps.
 */
export interface DurableFiles {
  /** Null if there is no such file. Throws the system's error for any other problem. */
  read(path: string): string | null;
  write(path: string, text: string): void;
  remove(path: string): void;
}

export const durableFiles: DurableFiles = {
  read(path) {
    try {
      return readFileSync(path, "utf8");
    } catch (error) {
      if (codeOf(error) === "ENOENT") return null;
      throw error;
    }
  },

  /** Written under another name, synced, then renamed; the directory is synced last. Mode and owner are kept. */
  write(path, text) {
    const known = statSync(path, { throwIfNoEntry: false });
    const fresh = `${path}.new`;
    rmSync(fresh, { force: true });
    const file = openSync(fresh, "wx", NEW_FILE_MODE);
    try {
      const bytes = Buffer.from(text, "utf8");
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
      if (known !== undefined) {
        fchmodSync(file, known.mode & 0o7777);
        if (known.uid !== process.getuid?.() || known.gid !== process.getgid?.())
          tryToGive(file, known.uid, known.gid);
      } else if (process.geteuid?.() === 0) {
        // Whoever may read the directory of a configuration, such as the service, may read its files.
        fchownSync(file, 0, statSync(dirname(path)).gid);
      }
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(fresh, path);
    syncDirectory(dirname(path));
  },

  remove(path) {
    rmSync(path, { force: true });
    syncDirectory(dirname(path));
  },
};

/** Only root may change a file's owner; otherwise the file belongs to the agent. */
function tryToGive(file: number, uid: number, gid: number): void {
  try {
    fchownSync(file, uid, gid);
  } catch (error) {
    if (codeOf(error) !== "EPERM") throw error;
  }
}

/** On disk once it returns, but not yet by its name. */
export function writeSynced(path: string, text: string, flags: "w" | "wx", mode: number): void {
  const file = openSync(path, flags, mode);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** A renamed file is durable only once its directory is. */
export function syncDirectory(path: string): void {
  const directory = openSync(path, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
