import { constants } from "node:fs";
import { access, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import type { Settings } from "../config/settings.ts";
import { holdText, type StoreHold } from "../core/status/store-hold.ts";
import { codeOf } from "../core/thrown.ts";
import { fileTrouble } from "../lib/file-trouble.ts";
import { notLasting } from "../lib/lasting-directory.ts";
import { ROOM_TEXTS, roomTrouble } from "../lib/room.ts";
import { newerStore } from "../pipeline/store/database/migrate.ts";
import type { Finding } from "./finding.ts";
import { storeAccessFaults } from "./store-access.ts";

const MB = 2 ** 20;
/** Beyond this the machine's clock is wrong enough to confuse people who compare times. */
const SKEW_MAX_MS = 30_000;
/** A clock before this belongs to a box that does not know the time yet. */
const PLAUSIBLE_SINCE_MS = Date.UTC(2024, 0, 1);

/**
 * DATA_DIR is writable, and has the space that the settings promise. Writes a small file and removes it.
 * @param heldBy what the running agent reports
 */
export async function checkDisk(
  {
    dataDir,
    bufferMaxMb,
    diskFreeMinMb,
  }: Pick<Settings, "dataDir" | "bufferMaxMb" | "diskFreeMinMb">,
  found: (finding: Finding) => void,
  heldBy: () => Promise<StoreHold | null> = () => Promise.resolve(null),
): Promise<void> {
  const what = "disk";
  try {
    const [unusable] = storeAccessFaults(dataDir);
    if (unusable !== undefined) {
      found({ what, state: "failed", detail: `${unusable.problem}; ${unusable.remedy}` });
      return;
    }
    const directory = await nearestDirectory(dataDir);
    await access(directory, constants.W_OK | constants.X_OK);
    const newer = newerStore(dataDir);
    if (newer !== null) {
      found({ what, state: "failed", detail: newer });
      return;
    }
    const { blocks, bavail, bsize } = await statfs(directory);
    const trouble = directory === dataDir && blocks > 0 ? roomTrouble(dataDir) : null;
    if (trouble === "quota" || trouble === "inodes") {
      found({ what, state: "failed", detail: `${dataDir}: ${ROOM_TEXTS[trouble]}` });
      return;
    }
    if (blocks === 0) {
      // The same message as at a start: /proc, /sys and the like.
      const why = "files cannot be stored there; use a directory on a disk";
      found({ what, state: "failed", detail: `DATA_DIR: ${dataDir} cannot be created: ${why}` });
      return;
    }
    const fleeting = notLasting(dataDir);
    if (fleeting !== null)
      found({ what, state: "warning", detail: `DATA_DIR: ${dataDir} ${fleeting}` });
    const held = await heldBy();
    if (held !== null) found({ what: "store", state: "failed", detail: holdText(held) });
    const freeMb = Math.floor((bavail * bsize) / MB);
    const usable = freeMb - diskFreeMinMb;
    const detail = `${dataDir}${directory === dataDir ? "" : " (will be created)"}, ${freeMb} MB free`;
    if (usable < 8) {
      const why = `less than DISK_FREE_MIN_MB (${diskFreeMinMb}) plus the smallest buffer (8)`;
      found({ what, state: "failed", detail: `${detail}: ${why}; free disk space` });
    } else if (usable < bufferMaxMb) {
      const why = `the buffer cannot grow to BUFFER_MAX_MB (${bufferMaxMb}); free disk space or lower it`;
      found({ what, state: "warning", detail: `${detail}: ${why}` });
    } else found({ what, state: "ok", detail });
  } catch (error) {
    // Above a directory that does not exist yet: storeAccessFaults looks at existing ones.
    const isForbidden = codeOf(error) === "EACCES" || codeOf(error) === "EPERM";
    const remedy = isForbidden
      ? "; run the command as the agent's user, or set a directory that this user can write to"
      : "";
    const detail = `DATA_DIR: ${dataDir} ${fileTrouble(error, "written")}${remedy}`;
    found({ what, state: "failed", detail });
  }
}

/** DATA_DIR, or the directory it would be created in. */
async function nearestDirectory(path: string): Promise<string> {
  try {
    const about = await stat(path);
    if (!about.isDirectory()) throw new Error(`${path} is not a directory`);
    return path;
  } catch (error) {
    if (codeOf(error) !== "ENOENT" || dirname(path) === path) throw error;
    return nearestDirectory(dirname(path));
  }
}

/** `skewMs`: gateway clock minus ours; null if no response contained it. */
export function checkClock(
  skewMs: number | null,
  found: (finding: Finding) => void,
  nowMs: number = Date.now(),
): void {
  const what = "clock";
  const now = new Date(nowMs).toISOString();
  if (nowMs < PLAUSIBLE_SINCE_MS) {
    found({ what, state: "failed", detail: `${now} is in the past; set this machine's clock` });
  } else if (skewMs === null) {
    found({ what, state: "ok", detail: `${now}; the gateway sent no time to compare with` });
  } else {
    const seconds = Math.round(skewMs / 1000);
    const side = seconds < 0 ? "behind" : "ahead of";
    const detail = `${now}; the gateway is ${Math.abs(seconds)} s ${side} this machine`;
    const isFar = Math.abs(skewMs) > SKEW_MAX_MS;
    const advice = isFar ? "; check which of the two is right" : "";
    found({ what, state: isFar ? "warning" : "ok", detail: detail + advice });
  }
}

/** End of support of Node's release lines (nodejs.org/en/about/previous-releases). */
const END_OF_SUPPORT: Readonly<Record<number, string>> = {
  20: "2026-04-30",
  22: "2027-04-30",
  24: "2028-04-30",
  26: "2029-04-30",
};
const UPDATE = "docs/operations.md says how to update it without a release of Gateside";

/** Which runtime is in use, and how long it gets security updates. */
export function checkRuntime(
  found: (finding: Finding) => void,
  version: string = process.versions.node,
  nowMs: number = Date.now(),
): void {
  const what = "runtime";
  const end = END_OF_SUPPORT[Number(version.split(".")[0])];
  const name = `Node ${version}, OpenSSL ${process.versions.openssl}`;
  if (end === undefined) {
    found({ what, state: "ok", detail: `${name}; the end of its support is unknown` });
  } else if (nowMs > Date.parse(`${end}T23:59:59Z`)) {
    const detail = `${name}: no security updates since ${end}; ${UPDATE}`;
    found({ what, state: "warning", detail });
  } else found({ what, state: "ok", detail: `${name}; security updates until ${end}` });
}
