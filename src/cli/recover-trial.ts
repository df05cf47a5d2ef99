import { existsSync } from "node:fs";
import { join } from "node:path";
import type { UnboundSettings } from "../config/settings.ts";
import { durableFiles } from "../lib/durable-file.ts";
import { nativeBinding } from "../lib/paths.ts";
import { type Accepted, TrialJournal } from "../setup/trial-journal.ts";
import { DirectoryLock } from "../store/database/directory-lock.ts";
import { StoreFailure } from "../store/database/store-failure.ts";

/** Before the files are read: puts back what a trial that was cut short had replaced. Null where none was. */
export function recoverTrial(settings: UnboundSettings): Accepted | null {
  const { dataDir, siteFile, uplinksFile } = settings;
  if (!existsSync(join(dataDir, "configuration", "trial.json"))) return null;
  let lock: DirectoryLock;
  try {
    lock = DirectoryLock.take(dataDir, nativeBinding());
  } catch (error) {
    // The trial is that of an agent that is running; this one ends soon.
    if (error instanceof StoreFailure && error.code === "in_use") return null;
    throw error;
  }
  try {
    const journal = new TrialJournal(durableFiles, dataDir);
    return journal.recover({ site: siteFile, uplinks: uplinksFile }, Date.now());
  } finally {
    lock.release();
  }
}
