import { nativeBinding } from "../lib/paths.ts";
import { SCHEMA_VERSION } from "../pipeline/store/database/migrate.ts";
import { OLDEST_VERSION, rollBack } from "../pipeline/store/database/rollback.ts";
import { StoreFailure } from "../pipeline/store/database/store-failure.ts";
import { type CommandContext, UsageError } from "./command.ts";
import { loadProcessSettings } from "./configuration.ts";

/**
 * Converts the store for an older package: 0 done, 1 an agent is running or the store cannot be written, 2 a wrong
 * flag.
 */
export function run(context: CommandContext): Promise<number> {
  const { flags, stdout, stderr } = context;
  const text = flags.required("to");
  if (!/^[1-9]\d*$/.test(text) || Number(text) < OLDEST_VERSION || Number(text) > SCHEMA_VERSION) {
    throw new UsageError(
      `--to ${JSON.stringify(text)} is not a schema version from ${OLDEST_VERSION} to ${SCHEMA_VERSION}`,
    );
  }
  const { dataDir } = loadProcessSettings(context);
  try {
    const { from, to } = rollBack(dataDir, Number(text), nativeBinding());
    stdout.write(
      from === to
        ? `the store already has schema version ${from}\n`
        : `the store was rolled back from schema version ${from} to ${to}; install the older package now, before this version is started again\n`,
    );
    return Promise.resolve(0);
  } catch (error) {
    if (!(error instanceof StoreFailure)) throw error;
    stderr.write(`error: ${error.message}\n`);
    return Promise.resolve(1);
  }
}
