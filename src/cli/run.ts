import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { openAgent } from "../agent/agent.ts";
import { missingUplinks } from "../agent/reload-faults.ts";
import { loadSettings, type Settings } from "../config/settings.ts";
import { MAIN_UPLINK } from "../core/uplink.ts";
import { keepBaselineWasm, optimiseLate } from "../lib/engine.ts";
import { openLog } from "../lib/logger.ts";
import { nativeBinding, sdNotifyPath } from "../lib/paths.ts";
import { createSystemdNotifier } from "../lib/sd-notify.ts";
import { trimMemoryRegularly } from "../lib/trim-memory.ts";
import { StoreFailure } from "../pipeline/store/database/store-failure.ts";
import { laneChangesAhead } from "../pipeline/store/read-only-store.ts";
import type { CommandContext } from "./command.ts";
import { ConfigurationError, examineConfiguration, requireConfiguration } from "./configuration.ts";
import { createConfigurationFiles, settingsShown } from "./configuration-files.ts";
import { recoverTrial } from "./recover-trial.ts";

/** The agent, in the foreground, until SIGTERM or SIGINT. */
export async function run(context: CommandContext): Promise<number> {
  optimiseLate();
  return runAgent(context, keepBaselineWasm);
}

/** The same with V8's settings as they are. `opened` is called once everything is open and before anything is polled. */
export async function runAgent(
  context: CommandContext,
  opened: () => void = () => {},
): Promise<number> {
  // From the beginning: a SIGHUP while everything is being opened reloads once it is open.
  let reload: (() => void) | null = null;
  let isReloadWanted = false;
  context.onHangup?.(() => {
    isReloadWanted = reload === null;
    reload?.();
  });
  const early = loadSettings(context.env, {
    cwd: context.cwd,
    envFile: context.flags.text("environment"),
  });
  const recovered =
    early.settings === null ? null : await recoverTrial(early.settings, context.stderr);
  const report = examineConfiguration(context);
  const { settings, site, uplinks } = requireConfiguration(report, context);
  refuseWithoutUplinks(settings);
  const { logger, view: log } = openLog(settings.logLevel, Date.now);
  const notifier = createSystemdNotifier(context.env, sdNotifyPath());
  try {
    const agent = await openAgent({
      settings,
      site,
      uplinks,
      logger,
      log,
      notifier,
      files: createConfigurationFiles(context, report.loaded, report.written),
      settingsShown: settingsShown(report.loaded),
      recovered,
      credentialsDirectory: context.env["CREDENTIALS_DIRECTORY"] ?? null,
      // systemd lists several with colons; the unit has one.
      configurationDirectory: context.env["CONFIGURATION_DIRECTORY"]?.split(":", 1)[0] ?? null,
      ownFiles: ownFiles(context),
    });
    opened();
    reload = () => {
      agent.reload("SIGHUP").catch((err: unknown) => logger.error({ err }, "reload failed"));
    };
    if (isReloadWanted) reload();
    const stopTrimming = trimMemoryRegularly(sdNotifyPath());
    await agent.run(context.signal);
    stopTrimming();
    return 0;
  } catch (error) {
    // Another agent holds the directory, or a newer one wrote the store: retrying would not help.
    const isFinal =
      error instanceof StoreFailure && (error.code === "in_use" || error.code === "schema_newer");
    if (!isFinal) throw error;
    context.stderr.write(`error: ${error.message}\n`);
    return 2;
  }
}

/** A file that is not there, or empty after a power cut, drops nothing of uplinks that the store knows. */
function refuseWithoutUplinks({ dataDir, uplinksFile }: Settings): void {
  if (uplinksFile === null || !isBlank(uplinksFile) || !existsSync(join(dataDir, "gateside.db")))
    return;
  let known: string[] = [];
  try {
    known = laneChangesAhead(dataDir, [], nativeBinding()).map(({ uplink }) => uplink);
  } catch {
    // The start itself says what is wrong with the store.
  }
  const others = [...new Set(known)].filter((name) => name !== MAIN_UPLINK);
  if (others.length > 0) throw new ConfigurationError([missingUplinks(others)]);
}

function isBlank(path: string): boolean {
  try {
    return readFileSync(path, "utf8").trim() === "";
  } catch {
    return true;
  }
}

/** The settings file and the files of its secrets: an uplink that is set up over HTTP may use none of them. */
function ownFiles({ env, flags, cwd }: CommandContext): string[] {
  const settings = env["GATESIDE_ENVIRONMENT_FILE"] ?? flags.text("environment");
  const named = Object.entries(env).flatMap(([name, path]) =>
    name.endsWith("_FILE") && !name.endsWith("_CA_FILE") && path ? [path] : [],
  );
  return [...(settings === null ? [] : [settings]), ...named].map((path) => resolve(cwd, path));
}
