import { existsSync, statfsSync } from "node:fs";
import { dirname } from "node:path";
import type { Runtime } from "../../../core/ports.ts";
import { roomTrouble } from "../../../lib/room.ts";
import type { Counting } from "../counting.ts";
import { type Database } from "../database/database.ts";
import { sizeOf } from "../database/database-file.ts";
import { requireMappedRoom, withRoom } from "../database/room-failure.ts";
import { StoreFailure } from "../database/store-failure.ts";
import { ballastPath, dropBallast } from "../space/ballast.ts";
import { type SalvageReport, salvage } from "./salvage.ts";
import { SalvageProgress } from "./salvage-progress.ts";
import type { SavedLanes } from "./salvaged-lanes.ts";
import {
  endSalvage,
  mayFit,
  noteShortage,
  removeCopy,
  setAside,
  unfinishedSalvage,
} from "./set-aside.ts";

export interface RecoveryParts extends Runtime {
  readonly nativeBinding: string | undefined;
  readonly lanes: SavedLanes;
  readonly counting: Pick<Counting, "mend"> | null;
  /** Called about every second while a damaged store is copied. */
  readonly onProgress: () => void;
}

export interface Opening {
  /** Reads what is needed in memory; a damaged page is detected here as well as on opening. */
  readonly load: () => void;
  /** Damage found while running: opening again would not find every damaged page. */
  readonly seen?: StoreFailure | null;
}

/**
 * Opens the store; a damaged one is set aside, recovered as far as it can be read, and recreated. Returns the alarm, if
 * any.
 */
export function openOrRecover(db: Database, parts: RecoveryParts, opening: Opening): string | null {
  const unfinished = unfinishedSalvage(db.path);
  try {
    if (unfinished !== null) {
      throw new StoreFailure("corrupt", `copying from ${unfinished} was interrupted`);
    }
    if (opening.seen && existsSync(db.path)) throw opening.seen;
    if (sizeOf(`${db.path}-wal`) > 0) parts.logger.info({}, UNCLEAN);
    openWithRoom(db, opening);
    return null;
  } catch (error) {
    db.disconnect();
    const failure = withRoom(StoreFailure.from(error, `cannot read ${db.path}`), db.path);
    if (failure.code !== "corrupt") throw failure;
    return recover(db, parts, opening, failure, unfinished);
  }
}

const UNCLEAN =
  "the last run was not stopped: killed, out of memory, a power cut, or a disk or quota without room (SIGBUS)";

/** Opening writes, too (a -wal and its -shm); on a disk filled by others only the ballast has space for them. */
function openWithRoom(db: Database, opening: Opening): void {
  const open = () => {
    db.open();
    opening.load();
  };
  const directory = dirname(db.path);
  // Without room for the index of the log, which is mapped memory, the process would end by SIGBUS instead of an error.
  if (existsSync(ballastPath(directory)) && roomTrouble(directory) !== null) dropBallast(directory);
  requireMappedRoom(db.path);
  try {
    open();
  } catch (error) {
    db.disconnect();
    const { code } = StoreFailure.from(error, `cannot open ${db.path}`);
    // SQLite reports a -shm without space as an I/O error.
    if ((code !== "full" && code !== "io") || !dropBallast(dirname(db.path))) throw error;
    open();
  }
}

function recover(
  db: Database,
  parts: RecoveryParts,
  opening: Opening,
  failure: StoreFailure,
  unfinished: string | null,
): string {
  const { logger } = parts;
  // The note and the copy need its space; it is restored once the store is open.
  dropBallast(dirname(db.path));
  const path = unfinished ?? putAside(db, parts, failure);
  const report = copy(db, parts, path);
  endSalvage(db.path);
  opening.load();
  logger.error(report, "created a new database from what could be read of the damaged one");
  const lostStates = report.incomplete.includes("alarm_states")
    ? ", and the states of some alarms were lost: alarms that persist are raised again"
    : "";
  return `the database was damaged (${failure.message}); it was set aside as ${path}, ${report.readings} readings were recovered${lostStates}`;
}

function putAside(db: Database, { clock, logger }: RecoveryParts, failure: StoreFailure): string {
  try {
    const path = setAside(db.path, clock.now());
    // Starts again each time the disk fails; logged once.
    logger.error({ err: failure, path }, "the database is damaged and was set aside");
    return path;
  } catch (error) {
    throw StoreFailure.from(error, `${failure.message}; the damaged file cannot be set aside`);
  }
}

/** Throws StoreFailure if it cannot be completed: the damaged file is kept, and nothing is stored until it has been. */
function copy(db: Database, parts: RecoveryParts, path: string): SalvageReport {
  const { clock, logger } = parts;
  removeCopy(db.path);
  const freeBytes = freeBytesOf(db.path);
  if (freeBytes !== null && !mayFit(db.path, freeBytes, clock.now())) throw noRoom(path, freeBytes);
  try {
    // A copy may be larger than the file was; retention shrinks it. If it did not fit, marks, gaps and alarms would be lost.
    db.capPages(0);
    db.open();
    const progress = new SalvageProgress(path, parts);
    return salvage(db, path, { ...parts, nowMs: clock.now(), progress });
  } catch (error) {
    db.disconnect();
    removeCopy(db.path);
    const failure = StoreFailure.from(error, `cannot copy ${path}`);
    if (!failure.isOutOfSpace) throw failure;
    const short = noRoom(path, freeBytes, failure);
    logger.error({ err: short }, "the damaged database could not be copied");
    if (freeBytes !== null) noteShortage(db.path, path, freeBytes);
    throw short;
  }
}

function noRoom(path: string, freeBytes: number | null, cause?: StoreFailure): StoreFailure {
  const size = megabytes(sizeOf(path) + sizeOf(`${path}-wal`));
  const free = freeBytes === null ? "" : `, ${megabytes(freeBytes)} MB are free`;
  const message = `the disk has no space for a copy of the damaged database ${path} (${size} MB${free}): nothing is stored until there is more`;
  return new StoreFailure("full", message, cause);
}

const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1);

function freeBytesOf(path: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(dirname(path));
    return bavail * bsize;
  } catch {
    return null;
  }
}
