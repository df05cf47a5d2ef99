/** What this machine allows a campaign to do, and the bundle under test. */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, rmdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fakeTimeLibrary } from "../../test/support/fake-time.ts";

/** Small enough to be filled. */
export interface SmallDisk {
  mount(path: string): void;
  unmount(path: string): void;
}
export interface Workplace {
  /** The bundle under test. */
  readonly program: string;
  /** Null if mounting is not allowed. */
  readonly smallDisk: SmallDisk | null;
  /** libfaketime; null if it is not installed. */
  readonly fakeTimeLibrary: string | null;
}

const DISK_MB = 40;

/** Copies the bundle into the directory, so that a build in the meantime changes nothing. */
export function prepareWorkplace(program: string, directory: string): Workplace {
  for (const entry of readdirSync(dirname(program), { withFileTypes: true })) {
    if (!entry.isFile()) continue;
    copyFileSync(join(dirname(program), entry.name), join(directory, entry.name));
  }
  return {
    program: resolve(directory, "gateside.js"),
    smallDisk: smallDisk(directory),
    fakeTimeLibrary: fakeTimeLibrary(),
  };
}

function smallDisk(directory: string): SmallDisk | null {
  const disk = {
    mount(path: string) {
      mkdirSync(path, { recursive: true });
      const options = ["-t", "tmpfs", "-o", `size=${DISK_MB}m`, "tmpfs", path];
      execFileSync("mount", options, { stdio: "ignore" });
    },
    unmount(path: string) {
      execFileSync("umount", ["-l", path], { stdio: "ignore" });
    },
  };
  const trial = join(directory, "disk");
  try {
    disk.mount(trial);
    disk.unmount(trial);
    rmdirSync(trial);
    return disk;
  } catch {
    // Not root, or a container without permission: the campaign runs without full disks.
    return null;
  }
}
