/** The differences between the two files that set-up edits: what is shown, how a browser's content becomes text, and which rules apply. */

import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import {
  changeLines,
  changesOf,
  SAME_SITE,
  uplinksDifference,
} from "../../core/configuration/configuration.ts";
import { type ConfigurationFault } from "../../core/configuration/configuration-fault.ts";
import type {
  ConfigurationFiles,
  PendingSecrets,
} from "../../core/configuration/configuration-files.ts";
import { isUnnamed } from "../../core/configuration/empty-site.ts";
import { siteDifference } from "../../core/configuration/site-difference.ts";
import type { Site } from "../../core/site.ts";
import { MAIN_UPLINK, type Uplink } from "../../core/uplink.ts";
import { SecretGate } from "../../lib/secrets.ts";
import type { FilePolicy } from "./file-policy.ts";
import {
  contentOf,
  hideSecrets,
  type IsPath,
  secretsIn,
  shownSite,
  withSecrets,
} from "./hidden-secrets.ts";
import type { EditedFile, FileCheck } from "./shown.ts";
import type { TypedSecrets } from "./typed-secrets.ts";

interface WrittenPart {
  readonly text: string;
  /** Typed values that go into files named by the text. */
  readonly secrets?: PendingSecrets;
}

export interface EditedPart {
  readonly setting: "SITE_FILE" | "UPLINKS_FILE";
  readonly path: string;
  /** The current file; null if there is none. */
  text(): string | null;
  /** The parts of this file's text that may be shown. */
  shown(text: string | null): Pick<EditedFile, "text" | "content">;
  /** The text made from a browser's content; faults if that names something it may not. */
  written(content: unknown): WrittenPart | { readonly faults: readonly ConfigurationFault[] };
  check(text: string, secrets?: PendingSecrets): FileCheck;
  /** Where typed secrets are stored; absent for a file that names none. */
  readonly secrets?: TypedSecrets;
  /** Faults without the file's secrets. */
  safe(faults: readonly ConfigurationFault[], text?: string): readonly ConfigurationFault[];
}

interface FileParts {
  readonly path: string;
  readonly configuration: Pick<ConfigurationFiles, "examine" | "texts">;
}

/** Values that texts about the file are searched for, in every encoding; 200 uplinks have fewer. */
const HIDDEN_MAX = 1_000;
const TOO_MUCH_HIDDEN: ConfigurationFault = {
  place: "uplinks",
  problem: `has more than ${HIDDEN_MAX} values that may be secrets`,
  remedy: "remove what does not belong into the file",
};

const UNCHANGED = uplinksDifference([], []);
const textOf = (content: unknown) => `${JSON.stringify(content, null, 2)}\n`;

export function sitePart({
  path,
  configuration,
  running,
}: FileParts & { readonly running: () => Site }): EditedPart {
  return {
    setting: "SITE_FILE",
    path,
    text: () => configuration.texts().site,
    shown(text) {
      const { content, isWhole } = shownSite(contentOf(text));
      return { text: content !== null && isWhole ? text : null, content };
    },
    written: (content) => ({ text: textOf(content) }),
    check(text) {
      const { site, faults, warnings } = configuration.examine({ site: text });
      const changes =
        site === null ? [] : changeLines(changesOf(siteDifference(running(), site), UNCHANGED));
      return { faults: [...faults, ...renamed(site, running().site)], warnings, changes };
    },
    safe: (faults) => faults,
  };
}

/** The reload refuses it, too, but only once the file is written. */
function renamed(site: Site | null, running: string): ConfigurationFault[] {
  if (site === null || site.site === running || isUnnamed({ site: running })) return [];
  return [
    {
      place: "SITE_FILE: site",
      problem: `the site's name is ${JSON.stringify(site.site)}, and ${JSON.stringify(running)} is running`,
      remedy: "keep the name; to change it, edit the file and restart the agent",
    },
  ];
}

export function uplinksPart({
  path,
  configuration,
  running,
  policy,
  secrets,
}: FileParts & {
  readonly secrets: TypedSecrets;
  readonly running: () => readonly Uplink[];
  /** Which files may be named. */
  readonly policy: FilePolicy;
}): EditedPart {
  const text = () => configuration.texts().uplinks;
  const isPath = pathsBeside(path);
  const safe = (faults: readonly ConfigurationFault[], ...texts: readonly (string | null)[]) => {
    const gate = new SecretGate(
      [text(), ...texts].flatMap((one) => secretsIn(contentOf(one), isPath)),
    );
    return faults.map(({ place, problem, remedy }) => ({
      place,
      problem: gate.redact(problem),
      remedy: gate.redact(remedy),
    }));
  };
  return {
    setting: "UPLINKS_FILE",
    path,
    text,
    shown: (one) => ({ text: null, content: hideSecrets(contentOf(one), isPath) }),
    written(content) {
      const current = contentOf(text());
      if (secretsIn(content, isPath).length > HIDDEN_MAX) return { faults: [TOO_MUCH_HIDDEN] };
      const { value, faults } = withSecrets(content, current, isPath);
      const taken = secrets.take(value, current);
      const named = policy.faults(taken.value, current, taken.own);
      const all = [...faults, ...taken.faults, ...named];
      return all.length > 0
        ? { faults: all }
        : { text: textOf(taken.value), secrets: taken.secrets };
    },
    secrets,
    check(one, pending) {
      const { uplinks, faults, warnings } = configuration.examine({ uplinks: one }, pending);
      const others = (uplinks ?? []).filter(({ name }) => name !== MAIN_UPLINK);
      const difference = uplinksDifference(running(), others);
      return {
        faults: safe(faults, one),
        warnings: safe(warnings, one),
        changes: uplinks === null ? [] : changeLines(changesOf(SAME_SITE, difference)),
      };
    },
    safe: (faults, one) => safe(faults, one ?? null),
  };
}

/** Paths as they are written in a file, relative ones beside it. */
export function pathsBeside(file: string): IsPath {
  return (written) => /^\.{0,2}\//.test(written) || isFile(file, written);
}

/** @param path relative to the directory of `besides` */
function isFile(besides: string, path: string): boolean {
  try {
    return statSync(resolve(dirname(besides), path)).isFile();
  } catch {
    return false;
  }
}
