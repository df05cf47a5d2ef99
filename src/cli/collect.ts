import { loadCollectSettings } from "../config/collect-settings.ts";
import { faultLine } from "../config/fault.ts";
import { systemClock } from "../lib/clock.ts";
import { createLogger } from "../lib/logger.ts";
import { VERSION } from "../lib/version.ts";
import { loadCollectBundle } from "./collect-bundle.ts";
import type { CommandContext } from "./command.ts";
import { ConfigurationError } from "./configuration.ts";

/** The receiving end: 0 after a clean stop, 1 if the database cannot be used. */
export async function run({ flags, env, cwd, stderr, signal }: CommandContext): Promise<number> {
  const migrateOnly = flags.has("migrate-only");
  const { settings, faults, warnings } = loadCollectSettings({
    env,
    cwd,
    flag: (name) => flags.text(name),
    required: migrateOnly ? ["to"] : ["from", "to"],
  });
  for (const warning of warnings) stderr.write(`warning: ${faultLine(warning)}\n`);
  if (settings === null) throw new ConfigurationError(faults);
  const { collect } = await loadCollectBundle();
  const logger = createLogger(settings.logLevel);
  return collect(
    { ...settings, migrateOnly },
    { clock: systemClock, logger, version: VERSION },
    signal,
  );
}
