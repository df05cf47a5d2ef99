import { chmodSync, existsSync, mkdtempSync, readFileSync, statfsSync } from "node:fs";

/** Four files at once need a tenth of it; on less, the disk is used. */
const IN_MEMORY_BYTES_MIN = 4 * 1024 ** 3;

/**
 * A new directory in memory for the temporary files of tests, where there is plenty of it: waiting for thousands of syncs of a disk costs a sixth of the CPU
 * time of the tests of the store, and doubles the time they take. Undefined where TMPDIR is given already, or nothing may be run from there.
 */
export function directoryInMemory() {
  if (process.env.TMPDIR !== undefined || !existsSync("/proc/mounts")) return undefined;
  // Tests start programs that they have written.
  const mount = /^\S+ \/dev\/shm tmpfs (\S+)/m.exec(readFileSync("/proc/mounts", "utf8"));
  if (mount === null || /\bnoexec\b/.test(mount[1])) return undefined;
  const { bavail, bsize } = statfsSync("/dev/shm");
  const availableKb = Number(
    /^MemAvailable: +(\d+)/m.exec(readFileSync("/proc/meminfo", "utf8"))?.[1],
  );
  if (!(Math.min(bavail * bsize, availableKb * 1024) > IN_MEMORY_BYTES_MIN)) return undefined;
  const directory = mkdtempSync("/dev/shm/gateside-");
  // Some tests run programs as another user.
  chmodSync(directory, 0o1777);
  return directory;
}
