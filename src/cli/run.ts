import { openAgent } from "../agent/agent.ts";
import { optimiseLate } from "../lib/engine.ts";
import { createLogger } from "../lib/logger.ts";
import { sdNotifyPath } from "../lib/paths.ts";
import { createSystemdNotifier } from "../lib/sd-notify.ts";
import { trimMemoryRegularly } from "../lib/trim-memory.ts";
import { StoreFailure } from "../store/store-failure.ts";
import type { CommandContext } from "./command.ts";
import { loadConfiguration } from "./configuration.ts";

/** The agent, in the foreground, until SIGTERM or SIGINT. */
export async function run(context: CommandContext): Promise<number> {
  optimiseLate();
  const { settings, site } = loadConfiguration(context);
  const logger = createLogger(settings.logLevel);
  const notifier = createSystemdNotifier(context.env, sdNotifyPath());
  try {
    const agent = await openAgent({ settings, site, logger, notifier });
    const stopTrimming = trimMemoryRegularly(sdNotifyPath());
    await agent.run(context.signal);
    stopTrimming();
    return 0;
  } catch (error) {
    // Another agent holds the directory, or a newer one wrote the store: trying again would not help.
    const isFinal =
      error instanceof StoreFailure && (error.code === "in_use" || error.code === "schema_newer");
    if (!isFinal) throw error;
    context.stderr.write(`error: ${error.message}\n`);
    return 2;
  }
}
