import { existsSync } from "node:fs";
import { join } from "node:path";
import type { UnboundSettings } from "../config/settings.ts";
import { messageOf } from "../core/thrown.ts";
import { recoveredAtStart } from "../features/setup/interrupted-trial.ts";
import { TrialJournal } from "../features/setup/trial-journal.ts";
import type { Accepted } from "../features/setup/trial-records.ts";
import { durableFiles } from "../lib/durable-file.ts";
import { nativeBinding } from "../lib/paths.ts";
import { DirectoryLock } from "../pipeline/store/database/directory-lock.ts";
import { StoreFailure } from "../pipeline/store/database/store-failure.ts";
import type { CommandContext } from "./command.ts";

/**
 * Before the files are read: restores what an interrupted trial had replaced. Null if there was none, or if the disk takes
 * nothing: the agent goes on trying.
 */
export function recoverTrial(
  settings: UnboundSettings,
  stderr: CommandContext["stderr"],
): Accepted | null {
  const { dataDir, siteFile, uplinksFile } = settings;
  if (!existsSync(join(dataDir, "configuration", "trial.json"))) return null;
  let lock: DirectoryLock;
  try {
    lock = DirectoryLock.take(dataDir, nativeBinding());
  } catch (error) {
    // The trial belongs to an agent that is running; this process ends soon.
    if (error instanceof StoreFailure && error.code === "in_use") return null;
    throw error;
  }
  try {
    const journal = new TrialJournal(durableFiles, dataDir);
    if (journal.trial === null)
      stderr.write(
        "warning: the record of a configuration's trial is damaged, so what was on trial stays in effect: compare SITE_FILE and UPLINKS_FILE with what you mean\n",
      );
    const paths = { site: siteFile, uplinks: uplinksFile };
    const { recovered, problem } = recoveredAtStart(journal, paths, Date.now());
    if (problem !== null)
      stderr.write(
        `warning: a configuration was on trial when the agent stopped, and the one before cannot be written (${messageOf(problem)}): what the files say is in effect until the disk takes it\n`,
      );
    return recovered;
  } finally {
    lock.release();
  }
}
