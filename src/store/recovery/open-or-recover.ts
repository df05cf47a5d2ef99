import { existsSync } from "node:fs";
import { dirname } from "node:path";
import type { Clock, Logger } from "../../core/ports.ts";
import type { Database } from "../database/database.ts";
import { StoreFailure } from "../database/store-failure.ts";
import { dropBallast } from "../space/ballast.ts";
import { type SavedLanes, salvage } from "./salvage.ts";
import { SalvageProgress } from "./salvage-progress.ts";
import { beginAnew, setAside, unfinishedSalvage } from "./set-aside.ts";

export interface RecoveryParts {
  readonly nativeBinding: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly lanes: SavedLanes;
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
    openWithRoom(db, opening);
    return null;
  } catch (error) {
    db.disconnect();
    const failure = StoreFailure.from(error, `cannot read ${db.path}`);
    if (failure.code !== "corrupt") throw failure;
    return recover(db, parts, opening, failure, unfinished);
  }
}

/** Opening writes, too (a -wal and its -shm); on a disk filled by others only the ballast has space for them. */
function openWithRoom(db: Database, opening: Opening): void {
  const open = () => {
    db.open();
    opening.load();
  };
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
  const { clock, logger } = parts;
  const path = unfinished ?? setAside(db.path, clock.now());
  // Starts again each time the disk fails; logged once.
  if (unfinished === null) {
    logger.error({ err: failure, path }, "the database is damaged and was set aside");
  }
  const done = beginAnew(db.path);
  // A copy may be larger than the file was; retention shrinks it. If it did not fit, marks, gaps and alarms would be lost.
  db.capPages(0);
  db.open();
  const progress = new SalvageProgress(path, parts);
  const report = salvage(db, path, { ...parts, nowMs: clock.now(), progress });
  done();
  opening.load();
  logger.error(report, "created a new database from what could be read of the damaged one");
  const lostStates = report.incomplete.includes("alarm_states")
    ? ", and the states of some alarms were lost: alarms that persist are raised again"
    : "";
  return `the database was damaged (${failure.message}); it was set aside as ${path}, ${report.readings} readings were recovered${lostStates}`;
}
