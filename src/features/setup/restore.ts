/** What a restore would do on this box, running or stopped; nothing is written here. */
import { dirname, join, resolve } from "node:path";
import { changeLines, changesOf, uplinksDifference } from "../../core/configuration.ts";
import { type ConfigurationFault } from "../../core/configuration-fault.ts";
import { isUnnamed } from "../../core/empty-site.ts";
import type { RestoreView } from "../../core/setup.ts";
import type { Site } from "../../core/site.ts";
import { siteDifference } from "../../core/site-difference.ts";
import { MAIN_UPLINK, type Uplink } from "../../core/uplink.ts";
import { type Backup, makeBackup } from "./backup.ts";
import { fileMark } from "./digest.ts";
import { pathsBeside } from "./edited-part.ts";
import type { FilePolicy } from "./file-policy.ts";
import type { ConfigurationFiles, ConfigurationTexts } from "./reload.ts";
import { planRestore } from "./restore-plan.ts";
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

/** @param about what the files do not say */
export function backupOf(
  { configuration, paths, site }: Pick<BoxState, "configuration" | "paths" | "site">,
  about: Pick<Backup, "version" | "instance" | "configuration"> & { readonly timeMs: number },
): Backup {
  const texts = configuration.texts();
  const parse = (text: string | null): unknown =>
    JSON.parse((text ?? "null").replace(/^\uFEFF/, ""));
  const { version, instance, timeMs } = about;
  return makeBackup(
    {
      version,
      site: site.site,
      timeMs,
      instance,
      configuration: about.configuration,
      siteFile: parse(texts.site),
      uplinksFile: parse(texts.uplinks),
      settings: configuration.settings(),
      secretSettings: configuration.secretSettings(),
    },
    pathsBeside(paths.uplinks ?? paths.site),
  );
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
