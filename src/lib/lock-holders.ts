import { readFileSync, statSync } from "node:fs";

/** One line of /proc/locks; a lock that is waited for has an arrow. */
const LINE = /^\d+: \S+ +\S+ +(?:READ|WRITE) +(-?\d+) [\da-f]+:[\da-f]+:(\d+) (\d+) (\d+|EOF)$/gm;

/**
 * Process ids of other programs that have locked one of these bytes of a file, 0 for one that cannot be seen from here.
 * Null where the system does not show it.
 */
export function lockHolders(
  path: string,
  [first, last]: readonly [number, number],
  read: () => string = () => readFileSync("/proc/locks", "utf8"),
): readonly number[] | null {
  try {
    const inode = String(statSync(path).ino);
    const pids = new Set<number>();
    for (const [, pid, of, from, to] of read().matchAll(LINE)) {
      const isThere = of === inode && Number(from) <= last && (to === "EOF" || Number(to) >= first);
      if (isThere && Number(pid) !== process.pid) pids.add(Math.max(0, Number(pid)));
    }
    return [...pids].sort((one, other) => one - other);
  } catch {
    return null;
  }
}
