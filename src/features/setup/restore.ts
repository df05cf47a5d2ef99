/** What a restore would do on this box, running or stopped; nothing is written here. */
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import {
  changeLines,
  changesOf,
  uplinksDifference,
} from "../../core/configuration/configuration.ts";
import { type ConfigurationFault } from "../../core/configuration/configuration-fault.ts";
import type {
  ConfigurationFiles,
  ConfigurationTexts,
} from "../../core/configuration/configuration-files.ts";
import { isUnnamed } from "../../core/configuration/empty-site.ts";
import { siteDifference } from "../../core/configuration/site-difference.ts";
import type { Site } from "../../core/site.ts";
import { MAIN_UPLINK, type Uplink } from "../../core/uplink.ts";
import { type Backup, makeBackup } from "./backup.ts";
import { pathsBeside } from "./edited-part.ts";
import { fileMark } from "./file-mark.ts";
import type { FilePolicy } from "./file-policy.ts";
import { contentOf } from "./hidden-secrets.ts";
import { planRestore } from "./restore-plan.ts";
import type { BackupOutcome, RestoreView } from "./shown.ts";
import type { ConfigurationPaths } from "./trial-journal.ts";

/** A box as backup and restore see it. */
export interface BoxState {
  readonly configuration: Pick<
    ConfigurationFiles,
    "examine" | "texts" | "settings" | "secretSettings"
  >;
  readonly paths: ConfigurationPaths;
  readonly dataDir: string;
  /** In effect, or of the files of a stopped box. */
  readonly site: Site;
  readonly uplinks: readonly Uplink[];
  /** Which files the backup may name; null: its giver may edit the files themselves. */
  readonly policy: FilePolicy | null;
}

/** Of the files, or why there is none: one that lacks what runs would be found out at its restore. @param about what the files do not say */
export function backupOf(
  { configuration, paths, site, uplinks }: Omit<BoxState, "dataDir" | "policy">,
  about: Pick<Backup, "version" | "instance" | "configuration"> & { readonly timeMs: number },
): BackupOutcome {
  const texts = configuration.texts();
  const [siteFile, uplinksFile] = [contentOf(texts.site), contentOf(texts.uplinks)];
  const isNeeded = uplinks.some(({ name }) => name !== MAIN_UPLINK);
  const lacking = [
    ...(siteFile !== null || isAbsent(texts.site, paths.site, !isUnnamed(site))
      ? []
      : ["SITE_FILE"]),
    ...(uplinksFile !== null || isAbsent(texts.uplinks, paths.uplinks, isNeeded)
      ? []
      : ["UPLINKS_FILE"]),
  ];
  if (lacking.length > 0)
    return {
      detail: `the file of ${lacking.join(" and ")} is not there or is not JSON: correct it, or restore its last version`,
    };
  const { version, instance, timeMs } = about;
  const backup = makeBackup(
    {
      version,
      site: site.site,
      timeMs,
      instance,
      configuration: about.configuration,
      siteFile,
      uplinksFile,
      settings: configuration.settings(),
      secretSettings: configuration.secretSettings(),
    },
    pathsBeside(paths.uplinks ?? paths.site),
  );
  return { backup };
}

/** Whether there is no such file, and none is needed. */
function isAbsent(text: string | null, path: string | null, isNeeded: boolean): boolean {
  return path === null || (!isNeeded && (text === null ? !existsSync(path) : text.trim() === ""));
}

type ExaminedRestore =
  | {
      readonly texts: ConfigurationTexts;
      readonly view: RestoreView;
      /** Those that will be used. */
      readonly uplinks: readonly Uplink[];
    }
  | { readonly outcome: "faults"; readonly faults: readonly ConfigurationFault[] }
  | { readonly outcome: "other_site"; readonly detail: string };

/** @param repeated the site's name, given by whoever restores the backup of another site */
export function examineRestore(
  backup: Backup,
  repeated: string | null,
  { configuration, paths, dataDir, site, uplinks, policy }: BoxState,
): ExaminedRestore {
  const isOther = !isUnnamed(site) && site.site !== backup.site;
  if (isOther && repeated !== backup.site)
    return {
      outcome: "other_site",
      detail: `the backup is of site ${JSON.stringify(backup.site)}, and this box is ${JSON.stringify(site.site)}; to restore it here all the same, repeat its name with --site (over HTTP site=NAME)`,
    };
  if (backup.uplinksFile !== null && paths.uplinks === null)
    return { outcome: "faults", faults: [NO_UPLINKS_FILE] };
  const current = configuration.texts();
  const secrets = join(dataDir, "configuration", "secrets");
  const plan = planRestore(
    backup,
    current,
    pathsBeside(paths.uplinks ?? paths.site),
    (path) => dirname(resolve(path)) === resolve(secrets),
  );
  const named = policy?.faultsOf(plan.texts.uplinks, current.uplinks) ?? [];
  if (named.length > 0) return { outcome: "faults", faults: named };
  const examined = configuration.examine(plan.texts);
  if (examined.site === null || examined.uplinks === null)
    return { outcome: "faults", faults: examined.faults };
  const others = (all: readonly Uplink[]) => all.filter(({ name }) => name !== MAIN_UPLINK);
  const difference = uplinksDifference(others(uplinks), others(examined.uplinks));
  const view: RestoreView = {
    unchanged: plan.isUnchanged,
    changes: changeLines(changesOf(siteDifference(site, examined.site), difference)),
    disabled: plan.disabled,
    basis: fileMark(JSON.stringify([current.site, current.uplinks])),
    nextStart: isOther,
  };
  return { texts: plan.texts, view, uplinks: examined.uplinks };
}

/** The refusal of a backup whose box goes on elsewhere. */
export function runningRefusal(running: string) {
  return {
    outcome: "other_site",
    detail: `the box of this backup may be running: ${running}; to restore it here all the same, repeat its site's name with --site (over HTTP site=NAME)`,
  } as const;
}

const NO_UPLINKS_FILE: ConfigurationFault = {
  place: "UPLINKS_FILE",
  problem: "is not set, and the backup has uplinks",
  remedy: "set it to the path of a file, and restart the agent",
};
