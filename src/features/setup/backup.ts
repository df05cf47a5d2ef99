/**
 * The configuration of a box as one document (plant section 20): the two files without their secrets, and what they lack.
 * Readings, baselines, states of alarms, versions and the audit log are not part of it.
 */

import { sha256 } from "../../core/configuration/configuration-digest.ts";
import { canonicalJson } from "../../core/configuration/site-difference.ts";
import { isJsonObject } from "../../core/record.ts";
import { HIDDEN, hideSecrets, type IsPath, mapUplinks, uplinksOf } from "./hidden-secrets.ts";

/** Newer forms are refused. */
const BACKUP_FORM = 1;

export interface Backup {
  readonly gatesideBackup: number;
  /** Of the program that made it. */
  readonly version: string;
  readonly site: string;
  readonly time: string;
  /** Which box made it; null while it has never run. */
  readonly instance: string | null;
  /** As `agent/state` has it. */
  readonly configuration: string;
  readonly siteFile: unknown;
  /** Null without UPLINKS_FILE. */
  readonly uplinksFile: unknown;
  /** For reading only. */
  readonly settings: Readonly<Record<string, string>>;
  /** Secrets that are not inside: of uplinks as `uplink.secret`, settings by their names. */
  readonly missing: readonly string[];
  readonly sha256: string;
}

/** Members of an uplink that hold or name a secret, by the word for it. */
export const SECRET_MEMBERS: Readonly<Record<string, string>> = {
  username: "username",
  usernameFile: "username",
  passwordFile: "password",
  sasKeyFile: "sasKey",
  proxyAuthFile: "proxyAuth",
  keyFile: "key",
};

type BackupContent = Omit<Backup, "gatesideBackup" | "time" | "missing" | "sha256"> & {
  readonly timeMs: number;
  readonly secretSettings: readonly string[];
};

/** @param content with the files as they are, parsed */
export function makeBackup(
  { timeMs, secretSettings, ...content }: BackupContent,
  isPath: IsPath,
): Backup {
  const { uplinksFile, missing } = withoutSecrets(content.uplinksFile, isPath);
  const rest = {
    gatesideBackup: BACKUP_FORM,
    ...content,
    time: new Date(timeMs).toISOString(),
    uplinksFile,
    settings: Object.fromEntries(
      Object.entries(content.settings).map(([name, value]) => [name, withoutUser(value)]),
    ),
    missing: [...missing, ...secretSettings].sort(),
  };
  return { ...rest, sha256: digestOf(rest) };
}

/** Of the canonical JSON of all members but `sha256`. */
export function digestOf(backup: Partial<Backup>): string {
  const { sha256: _own, ...rest } = backup;
  return sha256(canonicalJson(rest));
}

function withoutSecrets(
  file: unknown,
  isPath: IsPath,
): { readonly uplinksFile: unknown; readonly missing: readonly string[] } {
  const missing = new Set<string>();
  const originals = uplinksOf(file);
  let index = -1;
  const uplinksFile = mapUplinks(hideSecrets(file, isPath), (shown) => {
    index += 1;
    const name = String(shown["name"]);
    for (const [member, word] of Object.entries(SECRET_MEMBERS))
      if (shown[member] !== undefined) missing.add(`${name}.${word}`);
    for (const member of ["url", "proxy"])
      if (shown[member] !== originals[index]?.[member]) missing.add(`${name}.${member}`);
    return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== HIDDEN));
  });
  return { uplinksFile, missing: [...missing] };
}

/** Addresses in a setting, without user name and password. */
function withoutUser(text: string): string {
  return text.replace(/(?<=[a-z0-9+.-]:\/\/)[^/?#,@\s]*@/gi, "");
}

/** A backup as it was read, or why it cannot be used: nothing was changed then. */
type OpenedBackup =
  | { readonly backup: Backup }
  | { readonly problem: string; readonly remedy: string };

export function openBackup(text: string): OpenedBackup {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return {
      problem: text.trimStart().startsWith("{")
        ? "the backup is truncated: its JSON is incomplete"
        : "this is not a backup: it is not JSON",
      remedy: "use the whole file that `gateside backup` wrote",
    };
  }
  const { gatesideBackup: form, version } = isJsonObject(value) ? value : {};
  if (typeof form !== "number" || typeof version !== "string")
    return {
      problem: "this is not a backup: gatesideBackup and version are missing",
      remedy: "use a file that `gateside backup` wrote",
    };
  if (form > BACKUP_FORM) {
    const needed = /^\d+\.\d+/.exec(version)?.[0] ?? version;
    return {
      problem: `the backup needs Gateside ${needed} or newer`,
      remedy: "update this box first",
    };
  }
  const backup = value as Backup;
  if (digestOf(backup) !== backup.sha256)
    return {
      problem: "the backup was altered: its content does not match its sha256",
      remedy: "use a copy that nobody has edited",
    };
  if (!hasForm(backup))
    return {
      problem: "this is not a backup: site or missing are of another type",
      remedy: "use a file that `gateside backup` wrote",
    };
  return { backup };
}

/** A backup of no site would be of any: nobody had to repeat its name. */
function hasForm({ site, missing }: Partial<Record<keyof Backup, unknown>>): boolean {
  const isText = (one: unknown) => typeof one === "string";
  return isText(site) && Array.isArray(missing) && missing.every(isText);
}
