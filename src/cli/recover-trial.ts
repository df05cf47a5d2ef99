import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ConfigurationPlaces, FeatureSpec } from "../features/feature.ts";
import { SPECS } from "../features/specs.ts";
import { nativeBinding } from "../lib/paths.ts";
import { DirectoryLock } from "../pipeline/store/database/directory-lock.ts";
import { StoreFailure } from "../pipeline/store/database/store-failure.ts";
import type { CommandContext } from "./command.ts";

/**
 * Before the files are read: restores what an interrupted trial had replaced. Null if there was none, or if the disk takes
 * nothing: the agent goes on trying.
 */
export async function recoverTrial(
  settings: ConfigurationPlaces,
  stderr: CommandContext["stderr"],
  specs: readonly FeatureSpec[] = SPECS,
): Promise<string | null> {
  const { dataDir } = settings;
  const path = join(dataDir, "configuration", "trial.json");
  if (!existsSync(path)) return null;
  const warn = (text: string) => void stderr.write(`warning: ${text}\n`);
  const [recover] = specs.flatMap((spec) => spec.recover ?? []);
  if (recover === undefined) {
    warn(
      `a configuration was on trial when the agent stopped, and this program has no set-up that takes it back: what the files say is in effect. ${path} has the texts of before; delete it to keep the files as they are`,
    );
    return null;
  }
  let lock: DirectoryLock;
  try {
    lock = DirectoryLock.take(dataDir, nativeBinding());
  } catch (error) {
    // The trial belongs to an agent that is running; this process ends soon.
    if (error instanceof StoreFailure && error.code === "in_use") return null;
    throw error;
  }
  try {
    return await recover(settings, warn);
  } finally {
    lock.release();
  }
}
