import {
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
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

  write(path, text) {
    prepareFile(path, text).commit();
  },

  remove(path) {
    rmSync(path, { force: true });
    syncDirectory(dirname(path));
  },
};

/** A file's next content, on disk under another name. */
export interface PreparedFile {
  /** Gives it the name. */
  commit(): void;
  discard(): void;
}

/**
 * Written under another name and synced; once it is renamed, the directory is synced, too. Mode and owner are kept, and so
 * is a link to the file. Leaves nothing if it cannot be written.
 */
export function prepareFile(named: string, text: string): PreparedFile {
  const known = statSync(named, { throwIfNoEntry: false });
  const path = known === undefined ? named : realpathSync(named);
  const fresh = `${path}.new`;
  const discard = () => rmSync(fresh, { force: true });
  discard();
  const file = openSync(fresh, "wx", NEW_FILE_MODE);
  try {
    writeWhole(file, text);
    if (known !== undefined) {
      fchmodSync(file, known.mode & 0o7777);
      if (known.uid !== process.geteuid?.() || known.gid !== process.getegid?.())
        tryToGive(file, known.uid, known.gid);
    } else if (process.geteuid?.() === 0) {
      // Whoever may read the directory of a configuration, such as the service, may read its files.
      fchownSync(file, 0, statSync(dirname(path)).gid);
    }
    fsyncSync(file);
  } catch (error) {
    discard();
    throw error;
  } finally {
    closeSync(file);
  }
  const commit = () => {
    renameSync(fresh, path);
    syncDirectory(dirname(path));
  };
  return { commit, discard };
}

/** On a disk that is nearly full, a write may take a part of it without an error. */
function writeWhole(file: number, text: string): void {
  const bytes = Buffer.from(text, "utf8");
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
}

/** Only root may change a file's owner; otherwise the file belongs to the agent. */
function tryToGive(file: number, uid: number, gid: number): void {
  try {
    fchownSync(file, uid, gid);
  } catch (error) {
    if (codeOf(error) !== "EPERM") throw error;
  }
}

/** Writes a file that does not exist yet; leaves none if it cannot be written whole. */
export function writeNewFile(path: string, text: string, mode: number): void {
  const file = openSync(path, "wx", mode);
  try {
    writeWhole(file, text);
    fsyncSync(file);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
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
