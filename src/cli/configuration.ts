/** Settings and site file together, as the commands need them: complete, or every fault at once. */

import { readFileSync } from "node:fs";
import { faultLine } from "../config/fault.ts";
import { FORMAT_TOPICS } from "../config/formats.ts";
import { platformOf } from "../config/profiles.ts";
import {
  bindSite,
  type LoadedSettings,
  loadSettings,
  type Settings,
  type UnboundSettings,
} from "../config/settings.ts";
import {
  emptySite,
  type LoadedSite,
  loadSite,
  type SiteOptions,
  type WrittenSite,
} from "../config/site.ts";
import {
  type LoadedUplinks,
  loadUplinks,
  mainMachineFaults,
  mainUplink,
  siteRules,
} from "../config/uplinks.ts";
import type { UplinksContext } from "../config/uplinks-context.ts";
import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";
import type {
  ConfigurationTexts,
  PendingSecrets,
} from "../core/configuration/configuration-files.ts";
import type { Site } from "../core/site.ts";
import { codeOf } from "../core/thrown.ts";
import { beyondAmqp } from "../core/topics/collisions.ts";
import type { Uplink } from "../core/uplink.ts";
import type { FeatureSpec } from "../features/feature.ts";
import { SPECS } from "../features/specs.ts";
import { fileTrouble, readRemedy } from "../lib/file-trouble.ts";
import type { CommandContext } from "./command.ts";

/** Wrong settings or site file: one line per fault on stderr, exit code 2. */
export class ConfigurationError extends Error {
  readonly faults: readonly ConfigurationFault[];
  constructor(faults: readonly ConfigurationFault[]) {
    super(faults.map(faultLine).join("\n"));
    this.faults = faults;
  }
}

export interface ComparedConfiguration {
  readonly settings: Settings;
  readonly site: Site;
  /** `main` first, if it exists. */
  readonly uplinks: readonly Uplink[];
}

export interface ConfigurationReport {
  readonly configuration: ComparedConfiguration | null;
  readonly faults: readonly ConfigurationFault[];
  readonly warnings: readonly ConfigurationFault[];
  readonly loaded: LoadedSettings;
  /** Available even if the settings have faults, so that both are checked at once. */
  readonly site: Site | null;
  /** For the next reading of the site file; null if it has faults. */
  readonly written: WrittenSite | null;
}

type FilePlace = Pick<CommandContext, "env" | "cwd" | "flags">;

export function examineConfiguration(context: FilePlace): ConfigurationReport {
  const loaded = loadSettings(context.env, {
    cwd: context.cwd,
    envFile: context.flags.text("environment"),
  });
  return examineFiles(loaded);
}

/**
 * The files of known settings; `proposed` texts replace files, to be checked before they are written.
 * @param before the site file as an earlier reading found it
 */
export function examineFiles(
  loaded: LoadedSettings,
  proposed: Partial<ConfigurationTexts> = {},
  pending: PendingSecrets = new Map(),
  before: WrittenSite | null = null,
): ConfigurationReport {
  const mayBeEmpty = SPECS.some((spec: FeatureSpec) => spec.startsEmpty?.(loaded.shown));
  const uplinksFile = readUplinks(loaded.shown.UPLINKS_FILE, mayBeEmpty, proposed.uplinks);
  const { site, written, faults, warnings } = readSite(
    loaded.shown.SITE_FILE,
    { ...siteRules(loaded.shown, uplinksFile?.text ?? ""), mayBeEmpty },
    proposed.site,
    before,
  );
  const settings = loaded.settings && site ? bindSite(loaded.settings, site.site) : null;
  const main = settings && mainUplink(settings);
  const others = checkUplinksFile(uplinksFile, {
    site,
    main,
    hasMainUrl: loaded.shown.MQTT_URL !== "",
    commandsEnabled: loaded.shown.COMMANDS_ENABLED === "true",
    mayBeEmpty,
    pending,
  });
  const uplinks = [...(main === null ? [] : [main]), ...(others.uplinks ?? [])];
  return {
    loaded,
    site,
    written,
    faults: [
      ...loaded.faults,
      ...SPECS.flatMap((spec: FeatureSpec) =>
        loaded.settings === null ? [] : (spec.faults?.(loaded.settings) ?? []),
      ),
      ...faults,
      ...(main && site ? mainMachineFaults(main, site) : []),
      ...others.faults,
    ],
    warnings: [
      ...loaded.warnings,
      ...warnings,
      ...others.warnings,
      ...(site === null ? [] : uplinks.flatMap((uplink) => longTopics(uplink, site))),
    ],
    configuration: settings && site && others.uplinks ? { settings, site, uplinks } : null,
  };
}

/** Which broker it is shows only when connected: a warning. */
function longTopics(uplink: Uplink, site: Site): readonly ConfigurationFault[] {
  const fault = beyondAmqp(uplink, site, platformOf, FORMAT_TOPICS);
  return fault === null ? [] : [{ place: `uplink ${uplink.name}`, ...fault }];
}

interface UplinksFile {
  readonly path: string;
  /** Null if it cannot be read, which is the fault. */
  readonly text: string | null;
  readonly trouble?: ConfigurationFault;
}

/** The initial content for set-up over HTTP. */
const NO_UPLINKS = '{ "uplinks": [] }';

/** Null if UPLINKS_FILE is not set. */
function readUplinks(
  path: string,
  mayBeEmpty: boolean,
  proposed?: string | null,
): UplinksFile | null {
  if (path === "") return null;
  const given = (text: string) => ({
    path,
    text: mayBeEmpty && text.trim() === "" ? NO_UPLINKS : text,
  });
  if (typeof proposed === "string") return given(proposed);
  try {
    return given(readFileSync(path, "utf8"));
  } catch (error) {
    if (mayBeEmpty && codeOf(error) === "ENOENT") return given("");
    const trouble: ConfigurationFault = {
      place: "UPLINKS_FILE",
      problem: `${path} ${fileTrouble(error)}`,
      remedy: readRemedy(error, path, "set it to an uplinks file that this user can read"),
    };
    return { path, text: null, trouble };
  }
}

function checkUplinksFile(file: UplinksFile | null, context: UplinksContext): LoadedUplinks {
  if (file === null) return { uplinks: [], faults: [], warnings: [] };
  if (file.text === null)
    return { uplinks: null, faults: file.trouble ? [file.trouble] : [], warnings: [] };
  return loadUplinks(file.text, file.path, context);
}

/** For the stderr of a call whose warnings are shown elsewhere: they are printed once. */
export const UNHEARD = { write: () => true };

/** Throws a ConfigurationError; prints warnings. Accesses neither network nor DATA_DIR. */
export function loadConfiguration(
  context: FilePlace & Pick<CommandContext, "stderr">,
): ComparedConfiguration {
  return requireConfiguration(examineConfiguration(context), context);
}

/** The configuration of a report without faults; throws a ConfigurationError; prints warnings. */
export function requireConfiguration(
  report: ConfigurationReport,
  context: Pick<CommandContext, "stderr">,
): ComparedConfiguration {
  for (const warning of report.warnings) context.stderr.write(`warning: ${faultLine(warning)}\n`);
  if (report.configuration === null || report.faults.length > 0)
    throw new ConfigurationError(report.faults);
  return report.configuration;
}

/** Only settings, for commands that need no site file. Throws a ConfigurationError. */
export function loadProcessSettings(
  context: FilePlace & Pick<CommandContext, "stderr">,
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

function readSite(
  path: string,
  options: SiteOptions,
  proposed: string | null | undefined,
  before: WrittenSite | null,
): LoadedSite {
  let text: string;
  try {
    text = proposed ?? readFileSync(path, "utf8");
  } catch (error) {
    if (options.mayBeEmpty && codeOf(error) === "ENOENT") return emptySite(path);
    const fault: ConfigurationFault = {
      place: "SITE_FILE",
      problem: `${path} ${fileTrouble(error)}`,
      remedy: readRemedy(
        error,
        path,
        "set it to a site file that this user can read; `gateside discover` can draft one",
      ),
    };
    return { site: null, faults: [fault], warnings: [], written: null };
  }
  return loadSite(text, path, options, before);
}
