/** Set-up over HTTP (plant section 12): the files being edited, reads and sessions tested before saving. */
import { RELOAD_REPORT, type ReloadReport } from "./configuration.ts";
import { type ConfigurationFault } from "./configuration-fault.ts";
import {
  ANYTHING,
  INTEGER,
  ISO,
  list,
  MS,
  map,
  NUMBER,
  type Of,
  object,
  oneOf,
  optional,
  orNull,
  type Schema,
  TEXT,
  YES_NO,
} from "./schema.ts";
import type { PolledKind, Sensor } from "./sensor.ts";

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

/** One of the two files: fully checked, kept in versions, applied by difference. */
export interface FileEditing {
  /** Absolute. */
  readonly path: string;
  /** Why it cannot be saved; null if it can. */
  readonly trouble: string | null;
  read(): EditedFile;
  /** Faults and warnings of content that is not written, and what a reload would change. */
  check(content: unknown): FileCheck;
  /** @param expected hash of the file that the change was made from */
  save(content: unknown, expected: string, by: string): Promise<SaveOutcome>;
  versions(): readonly FileVersion[];
  /** Null for a version that is not kept. */
  version(
    version: number,
  ): (Pick<EditedFile, "text" | "content"> & Pick<FileCheck, "changes">) | null;
  restore(version: number, expected: string, by: string): Promise<SaveOutcome>;
}

/** What is wrong with a request, by location; or why it cannot be done now. */
export type Refused =
  | { readonly faults: readonly ConfigurationFault[] }
  | { readonly busy: string };

export const isRefusal = (result: object): result is Refused =>
  "faults" in result || "busy" in result;

/** One read of a sensor that need not be in the site file; nothing is stored. */
export const PROBE_REPORT = object({
  day: TEXT,
  /** Records of the day that became readings. */
  records: INTEGER,
  durationMs: NUMBER,
  error: { ...orNull(TEXT), description: "Why nothing could be read." },
  /** The newest, null where there is none. */
  reading: orNull(
    object({
      id: TEXT,
      time: ISO,
      values: map(ANYTHING),
      units: map(TEXT),
      quality: map(ANYTHING),
      raw: ANYTHING,
    }),
  ),
  /** What `main` would publish; long payloads are truncated. */
  messages: list(object({ topic: TEXT, qos: INTEGER, retain: YES_NO, payload: TEXT })),
});
export type ProbeReport = Of<typeof PROBE_REPORT>;

/** One state read of a sensor that need not be in the site file; nothing is stored. */
const PROBED_STATE = object({
  /** The operation, or the device and its word order. */
  source: TEXT,
  /** Null if the response has no time of its own. */
  time: orNull(ISO),
  values: list(
    object({
      name: TEXT,
      value: ANYTHING,
      unit: orNull(TEXT),
      quality: TEXT,
      /** The value of a 32-bit register with its words swapped; null if it is not a number. */
      otherOrder: optional({ ...orNull(NUMBER), description: "With the words swapped." }),
    }),
  ),
  error: { ...orNull(TEXT), description: "Why there are no values." },
});
export type ProbedState = Of<typeof PROBED_STATE>;
export const PROBED_STATES = object({ reads: list(PROBED_STATE) });

/** One attempt at one address of an uplink, shown without credentials. */
const ADDRESS_REPORT = object({ url: TEXT, ok: YES_NO, detail: TEXT });
export type AddressReport = Of<typeof ADDRESS_REPORT>;
export const ADDRESS_REPORTS = object({ addresses: list(ADDRESS_REPORT) });

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

/** The HTTP operations available while SETUP_ENABLED is true. */
export interface SetupActions {
  readonly site: FileEditing;
  /** Null if UPLINKS_FILE is not set. */
  readonly uplinks: FileEditing | null;
  /** The published schemas, from which forms are generated. */
  readonly schemas: { readonly site: unknown; readonly uplinks: unknown };
  /** @param day yyyy-MM-dd in the gateway's zone; null: today */
  probe(sensor: unknown, kind: PolledKind, day: string | null): Promise<ProbeReport | Refused>;
  /** Another read of a sensor, one at a time and not for long, as `probe`. */
  trySensor<T>(
    sensor: unknown,
    attempt: (sensor: Sensor, signal: AbortSignal) => Promise<T>,
  ): Promise<T | Refused>;
  /** Opens one session at each address and closes it at once. */
  tryUplink(uplink: unknown): Promise<readonly AddressReport[] | Refused>;
}

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

/** Backup and restore; commands on this machine use it without SETUP_ENABLED. */
export interface BackupActions {
  backup(): BackupOutcome;
  restore(request: RestoreRequest, by: string): Promise<RestoreOutcome>;
}
