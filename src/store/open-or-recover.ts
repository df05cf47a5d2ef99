import type { Clock, Logger } from "../core/ports.ts";
import type { Database } from "./database.ts";
import { salvage, setAside } from "./salvage.ts";
import { StoreFailure } from "./store-failure.ts";

export interface RecoveryParts {
  readonly nativeBinding: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Numbers of the lanes whose backlog is owed again when the outbox cannot be read. */
  readonly lanes: readonly number[];
}

/** Opens the store; a damaged one is set aside, saved as far as it reads, and begun anew. Answers the alarm, if any. */
export function openOrRecover(db: Database, parts: RecoveryParts): string | null {
  try {
    db.open();
    return null;
  } catch (error) {
    if (!(error instanceof StoreFailure) || error.code !== "corrupt") throw error;
    const { clock, logger } = parts;
    const path = setAside(db.path, clock.now());
    logger.error({ err: error, path }, "the database is damaged and was set aside");
    db.open();
    const report = salvage(db, path, { ...parts, nowMs: clock.now() });
    logger.error(report, "a new database was begun with what could be read of the damaged one");
    return `the database was damaged (${error.message}); it was set aside as ${path}, ${report.readings} readings were saved`;
  }
}
