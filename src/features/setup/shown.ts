/** Set-up over HTTP (plant section 12): the files being edited, and backups restored. */
import { RELOAD_REPORT, type ReloadReport } from "../../core/configuration/configuration.ts";
import type { ConfigurationFault } from "../../core/configuration/configuration-fault.ts";
import {
  INTEGER,
  list,
  MS,
  type Of,
  object,
  oneOf,
  orNull,
  type Schema,
  TEXT,
  YES_NO,
} from "../../core/schema.ts";

/** A file as it is now, whoever wrote it last. */
export interface EditedFile {
  /** Null if there is none, or if the file may contain secrets. */
  readonly text: string | null;
  /** Its content, secrets hidden; null if it is not JSON. */
  readonly content: unknown;
  /** Identifies this text: a change must name it to be accepted. 64 hex digits, new with each start of the agent. */
  readonly hash: string;
  /** It does not exist, or is empty. */
  readonly isBlank: boolean;
}

const FILE_VERSION = object({
  version: INTEGER,
  /** When and by whom it was replaced by its successor. */
  replacedAtMs: MS,
  replacedBy: TEXT,
  hash: TEXT,
});
export type FileVersion = Of<typeof FILE_VERSION>;
export const FILE_VERSIONS = object({ versions: list(FILE_VERSION) });

const FAULTS = list(object({ place: TEXT, problem: TEXT, remedy: TEXT }));
/** `changes`: what a reload would change, a line each. */
export const FILE_CHECK = object({ faults: FAULTS, warnings: FAULTS, changes: list(TEXT) });
export type FileCheck = Of<typeof FILE_CHECK>;

export type SaveOutcome =
  | { readonly outcome: "saved"; readonly file: EditedFile; readonly report: ReloadReport }
  /** The file differs from the editor's version: somebody else changed it. Nothing was written. */
  | {
      readonly outcome: "changed_elsewhere";
      readonly file: EditedFile;
      /** Changes in the file that are not running yet. */
      readonly changes: readonly string[];
    }
  | { readonly outcome: "faults"; readonly faults: readonly ConfigurationFault[] }
  | { readonly outcome: "busy" | "unknown_version" | "not_writable"; readonly detail: string };

const SETUP_FILE = object({
  path: TEXT,
  trouble: { ...orNull(TEXT), description: "Why it cannot be saved." },
});
export const SETUP_VIEW = object({
  isNamed: { ...YES_NO, description: "False before the first site file." },
  sensors: INTEGER,
  mayChange: { ...YES_NO, description: "False for HTTP_VIEW_TOKEN." },
  site: SETUP_FILE,
  uplinks: { ...orNull(SETUP_FILE), description: "Null if UPLINKS_FILE is not set." },
});
/** A file, if it is JSON. */
const CONTENT: Schema<unknown> = { type: ["object", "null"], additionalProperties: true };
export const SETUP_SCHEMAS = object({ site: CONTENT, uplinks: CONTENT });
export const SITE_TEXT = object({ hash: TEXT, site: CONTENT, text: orNull(TEXT) });
export const UPLINKS_CONTENT = object({ hash: TEXT, isBlank: YES_NO, content: CONTENT });
export const SITE_VERSION = object({
  version: INTEGER,
  site: CONTENT,
  text: TEXT,
  changes: list(TEXT),
});
export const UPLINKS_VERSION = object({ version: INTEGER, content: CONTENT, changes: list(TEXT) });
export const SAVED_FILE = object({ hash: TEXT, report: RELOAD_REPORT });

/** A backup to restore, as text. */
export interface RestoreRequest {
  readonly text: string;
  /** Repeats the site's name of a backup of another site. */
  readonly site: string | null;
  readonly isDryRun: boolean;
  /** Only while the files of this box are those that a dry run named so; null: whatever they are. */
  readonly basis: string | null;
  /** Over the socket in DATA_DIR, whose owner may edit the files: it may name any file. */
  readonly isLocal: boolean;
}

/** What a restore would do, or did. */
const RESTORE = {
  unchanged: YES_NO,
  /** A line each. */
  changes: list(TEXT),
  disabled: {
    ...list(TEXT),
    description: "Uplinks that are not used here, with what they lack.",
  },
  basis: {
    ...TEXT,
    description: "Names the files of this box, with which the backup was compared.",
  },
  /** The site's name changes. */
  nextStart: { ...YES_NO, description: "In effect at the next start only." },
};
const RESTORE_VIEW = object(RESTORE);
export type RestoreView = Of<typeof RESTORE_VIEW>;
export const RESTORED = object({
  outcome: oneOf(["planned", "unchanged", "saved"]),
  ...RESTORE,
  hash: orNull(TEXT),
  report: orNull(RELOAD_REPORT),
});

export type RestoreOutcome =
  | { readonly outcome: "planned" | "unchanged"; readonly view: RestoreView }
  | { readonly outcome: "saved"; readonly view: RestoreView; readonly report: ReloadReport | null }
  | { readonly outcome: "faults"; readonly faults: readonly ConfigurationFault[] }
  /** busy: try later · changed: the files are not those of `basis` · other_site: say so with the site's name · unusable: no such backup · not_writable: the disk */
  | {
      readonly outcome: "busy" | "changed" | "other_site" | "unusable" | "not_writable";
      readonly detail: string;
    };

/** `detail`: why there is none. */
export type BackupOutcome = { readonly backup: object } | { readonly detail: string };
