/** Settings and site file together, as the commands want them: whole, or every fault at once. */
import { readFileSync } from "node:fs";
import { type Fault, faultLine } from "../config/fault.ts";
import {
  bindSite,
  type LoadedSettings,
  loadSettings,
  type Settings,
  type UnboundSettings,
} from "../config/settings.ts";
import { loadSite, type SiteOptions } from "../config/site.ts";
import type { Site } from "../core/sensor.ts";
import { fileTrouble } from "../lib/file-trouble.ts";
import type { CommandContext, FlagSpec } from "./command.ts";

export const ENVIRONMENT_FLAG: FlagSpec = {
  name: "environment",
  value: "FILE",
  doc: "read settings from FILE instead of .env (the environment still wins)",
};

/** Wrong settings or site file: one line per fault on stderr, exit code 2. */
export class ConfigurationError extends Error {
  readonly faults: readonly Fault[];
  constructor(faults: readonly Fault[]) {
    super(faults.map(faultLine).join("\n"));
    this.faults = faults;
  }
}

export interface Configuration {
  readonly settings: Settings;
  readonly site: Site;
}

export interface ConfigurationReport {
  readonly configuration: Configuration | null;
  readonly faults: readonly Fault[];
  readonly warnings: readonly Fault[];
  readonly loaded: LoadedSettings;
  /** Also there when the settings have faults, so that both are checked at once. */
  readonly site: Site | null;
}

type Place = Pick<CommandContext, "env" | "cwd" | "flags">;

export function examineConfiguration(context: Place): ConfigurationReport {
  const loaded = loadSettings(context.env, {
    cwd: context.cwd,
    envFile: context.flags.text("environment"),
  });
  const { site, faults, warnings } = readSite(loaded.shown.SITE_FILE, {
    sparkplug: loaded.shown.PUBLISH_FORMATS.includes("sparkplug"),
    isSparkplugGroup: loaded.shown.SPARKPLUG_GROUP_ID === "",
  });
  return {
    loaded,
    site,
    faults: [...loaded.faults, ...faults],
    warnings: [...loaded.warnings, ...warnings],
    configuration:
      loaded.settings && site ? { settings: bindSite(loaded.settings, site.site), site } : null,
  };
}

/** Throws a ConfigurationError; prints warnings. Touches neither network nor DATA_DIR. */
export function loadConfiguration(context: Place & Pick<CommandContext, "stderr">): Configuration {
  const report = examineConfiguration(context);
  for (const warning of report.warnings) context.stderr.write(`warning: ${faultLine(warning)}\n`);
  if (report.configuration === null || report.faults.length > 0)
    throw new ConfigurationError(report.faults);
  return report.configuration;
}

/** Settings alone, for commands that need no site file. Throws a ConfigurationError. */
export function loadProcessSettings(
  context: Place & Pick<CommandContext, "stderr">,
): UnboundSettings {
  const loaded = loadSettings(context.env, {
    cwd: context.cwd,
    envFile: context.flags.text("environment"),
    linksOptional: true,
  });
  for (const warning of loaded.warnings) context.stderr.write(`warning: ${faultLine(warning)}\n`);
  if (loaded.settings === null) throw new ConfigurationError(loaded.faults);
  return loaded.settings;
}

function readSite(path: string, options: SiteOptions): ReturnType<typeof loadSite> {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const fault: Fault = {
      place: "SITE_FILE",
      problem: `${path} ${fileTrouble(error)}`,
      remedy:
        "give the path of a site file that this user can read; `gateside discover` drafts one",
    };
    return { site: null, faults: [fault], warnings: [] };
  }
  return loadSite(text, path, options);
}
