import { spawnSync } from "node:child_process";
import { appendFileSync, mkdtempSync, rmdirSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Cleanup } from "./temp-database.ts";

export const WITHOUT_MOUNT = "needs the right to mount a small tmpfs";

/** A mounted file system; null where that is not allowed. */
export function smallDisk(t: Cleanup, sizeMb = 6): string | null {
  const mount = mkdtempSync(join(tmpdir(), "gateside-disk-"));
  t.after(() => {
    // Lazily: a failed test leaves its store open.
    spawnSync("umount", ["-l", mount]);
    rmdirSync(mount);
  });
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${sizeMb}m`, "tmpfs", mount]);
  return mounted.status === 0 ? mount : null;
}

/** Others take all but `leftBytes`; the returned function makes them give it back. */
export function fillDisk(mount: string, leftBytes = 0): () => void {
  const { bavail, bsize } = statfsSync(mount);
  const theirs = join(mount, "theirs");
  appendFileSync(theirs, Buffer.alloc(Math.max(0, bavail * bsize - leftBytes), 1));
  return () => rmSync(theirs);
}
