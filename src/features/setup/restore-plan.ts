/** What a backup would make of the two files of this box: its own secrets stay where they were given for. */

import type { ConfigurationTexts } from "../../core/configuration/configuration-files.ts";
import { canonicalJson } from "../../core/configuration/site-difference.ts";
import type { JsonObject } from "../../core/record.ts";
import { type Backup, SECRET_MEMBERS } from "./backup.ts";
import {
  contentOf,
  hideSecrets,
  type IsPath,
  isSameWay,
  mapUplinks,
  uplinksOf,
} from "./hidden-secrets.ts";

interface RestorePlan {
  readonly texts: ConfigurationTexts;
  /** Uplinks that are written with `enabled` false, with the secrets they lack. */
  readonly disabled: readonly string[];
  readonly isUnchanged: boolean;
}

const WORDS = [...new Set(Object.values(SECRET_MEMBERS)), "url", "proxy"];

/** @param isOwn whether a path is a file of typed secrets: it is of no use to another box */
export function planRestore(
  backup: Backup,
  current: ConfigurationTexts,
  isPath: IsPath,
  isOwn: (path: string) => boolean,
): RestorePlan {
  const before = contentOf(current.uplinks);
  const shown = uplinksOf(hideSecrets(before, isPath));
  const disabled: string[] = [];
  const uplinks = mapUplinks(backup.uplinksFile, (given) => {
    const lacking = WORDS.filter((word) =>
      backup.missing.includes(`${String(given["name"])}.${word}`),
    );
    if (lacking.length === 0) return given;
    const index = shown.findIndex(
      (one) => one["name"] === given["name"] && one["enabled"] !== false && isSameWay(one, given),
    );
    const own = uplinksOf(before)[index];
    const filled = own === undefined ? withoutFiles(given, isOwn) : withOwn(given, own);
    const still = lacking.filter((word) => !has(own, word));
    if (still.length === 0) return filled;
    disabled.push(`${String(given["name"])} (${still.join(", ")})`);
    return { ...filled, enabled: false };
  });
  const texts = {
    site: textFor(backup.siteFile, current.site),
    uplinks: backup.uplinksFile === null ? current.uplinks : textFor(uplinks, current.uplinks),
  };
  const isUnchanged = texts.site === current.site && texts.uplinks === current.uplinks;
  return { texts, disabled, isUnchanged };
}

/** The same content keeps its text, with the spaces of whoever wrote it. */
function textFor(content: unknown, current: string | null): string {
  if (current !== null && canonicalJson(contentOf(current)) === canonicalJson(content))
    return current;
  return `${JSON.stringify(content, null, 2)}\n`;
}

/** A secret serves only the name, address and proxy that it was given for. */
function withOwn(given: JsonObject, own: JsonObject): JsonObject {
  const secrets = [...Object.keys(SECRET_MEMBERS), "url", "proxy"].filter(
    (member) => own[member] !== undefined,
  );
  return { ...given, ...Object.fromEntries(secrets.map((member) => [member, own[member]])) };
}

function withoutFiles(given: JsonObject, isOwn: (path: string) => boolean): JsonObject {
  return Object.fromEntries(
    Object.entries(given).filter(
      ([member, value]) =>
        SECRET_MEMBERS[member] === undefined || typeof value !== "string" || !isOwn(value),
    ),
  );
}

function has(own: JsonObject | undefined, word: string): boolean {
  if (own === undefined) return false;
  if (word === "url" || word === "proxy") return own[word] !== undefined;
  return Object.entries(SECRET_MEMBERS).some(
    ([member, of]) => of === word && own[member] !== undefined,
  );
}
