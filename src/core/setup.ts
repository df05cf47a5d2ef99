/** Set-up over HTTP (plant section 12): the files being edited, reads and sessions tested before saving, discovery. */
import type { ConfigurationFault, ReloadReport } from "./configuration.ts";
import type { PolledKind } from "./sensor.ts";

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

export interface FileVersion {
  readonly version: number;
  /** When it was replaced by its successor. */
  readonly replacedAtMs: number;
  /** Who replaced it. */
  readonly replacedBy: string;
  readonly hash: string;
}

export interface FileCheck {
  readonly faults: readonly ConfigurationFault[];
  readonly warnings: readonly ConfigurationFault[];
  /** What a reload would change, a line each. */
  readonly changes: readonly string[];
}

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

/** One read of a sensor that need not be in the site file; nothing is stored. */
export interface ProbeReport {
  readonly day: string;
  /** Records of the day that became readings. */
  readonly records: number;
  readonly durationMs: number;
  /** Why nothing could be read; null if the gateway responded. */
  readonly error: string | null;
  /** The newest, null where there is none. */
  readonly reading: {
    readonly id: string;
    readonly time: string;
    readonly values: Readonly<Record<string, unknown>>;
    readonly units: Readonly<Record<string, string>>;
    readonly quality: Readonly<Record<string, unknown>>;
    readonly raw: unknown;
  } | null;
  /** What `main` would publish; long payloads are truncated. */
  readonly messages: readonly {
    readonly topic: string;
    readonly qos: number;
    readonly retain: boolean;
    readonly payload: string;
  }[];
}

/** One state read of a sensor that need not be in the site file; nothing is stored. */
export interface ProbedState {
  /** The operation, or the device and its word order. */
  readonly source: string;
  /** Null if the response has no time of its own. */
  readonly time: string | null;
  readonly values: readonly {
    readonly name: string;
    readonly value: unknown;
    readonly unit: string | null;
    readonly quality: string;
    /** The value of a 32-bit register with its words swapped; null if it is not a number. */
    readonly otherOrder?: number | null;
  }[];
  /** Why it failed; null if it did not. */
  readonly error: string | null;
}

/** One attempt at one address of an uplink. */
export interface AddressReport {
  /** Without credentials. */
  readonly url: string;
  readonly ok: boolean;
  readonly detail: string;
}

export interface DiscoveryRequest {
  readonly url: string;
  readonly email: string;
  readonly password: string;
  /** WIRE_WORD of that service; null: this agent's. */
  readonly wireWord: string | null;
}

/** What a person adds because the service does not have it. */
export interface DiscoveryHints {
  /** By sensor type code. */
  readonly kinds: Readonly<Record<string, readonly PolledKind[]>>;
  /** A, of every current channel. */
  readonly clamp: number | null;
  readonly loop: { readonly unit: string; readonly low: number; readonly high: number } | null;
}

export interface DiscoveryState {
  readonly state: "none" | "running" | "failed" | "found";
  /** Current step, or why it failed. */
  readonly detail: string;
  readonly devices: number;
}

export interface DiscoveryDraft {
  /** Sensors that are not in the site file yet, in its format. */
  readonly sensors: readonly unknown[];
  /** Found, and already in the file. */
  readonly kept: number;
  /** What could not be determined, a line each. */
  readonly notes: readonly string[];
  /** The type codes that were found. */
  readonly types: readonly {
    readonly type: number;
    readonly count: number;
    readonly example: string;
  }[];
}

/** The HTTP operations available while SETUP_ENABLED is true. */
export interface SetupDesk {
  readonly site: FileEditing;
  /** Null if UPLINKS_FILE is not set. */
  readonly uplinks: FileEditing | null;
  /** The published schemas, from which forms are generated. */
  readonly schemas: { readonly site: unknown; readonly uplinks: unknown };
  /** @param day yyyy-MM-dd in the gateway's zone; null: today */
  probe(sensor: unknown, kind: PolledKind, day: string | null): Promise<ProbeReport | Refused>;
  /** Each of the sensor's state reads once. */
  probeStates(sensor: unknown): Promise<readonly ProbedState[] | Refused>;
  /** Opens one session at each address and closes it at once. */
  tryUplink(uplink: unknown): Promise<readonly AddressReport[] | Refused>;
  /** Logs in and queries in the background. False while another one runs. */
  discover(request: DiscoveryRequest): boolean;
  readonly discovery: DiscoveryState;
  /** Null before something was found. */
  draft(hints: DiscoveryHints): DiscoveryDraft | null;
}

/** A backup to restore, as text. */
export interface RestoreRequest {
  readonly text: string;
  /** Repeats the site's name of a backup of another site. */
  readonly site: string | null;
  readonly isDryRun: boolean;
}

/** What a restore would do, or did. */
export interface RestoreView {
  readonly unchanged: boolean;
  /** A line each. */
  readonly changes: readonly string[];
  /** Uplinks that are not used, because this box lacks their secrets. */
  readonly disabled: readonly string[];
  /** In effect at the next start only: the site's name changes. */
  readonly nextStart: boolean;
}

export type RestoreOutcome =
  | { readonly outcome: "planned" | "unchanged"; readonly view: RestoreView }
  | { readonly outcome: "saved"; readonly view: RestoreView; readonly report: ReloadReport | null }
  | { readonly outcome: "faults"; readonly faults: readonly ConfigurationFault[] }
  /** busy: try later · other_site: say so with the site's name · unusable: no such backup · not_writable: the disk */
  | {
      readonly outcome: "busy" | "other_site" | "unusable" | "not_writable";
      readonly detail: string;
    };

/** Backup and restore; commands on this machine use it without SETUP_ENABLED. */
export interface BackupDesk {
  backup(): object;
  restore(request: RestoreRequest, by: string): Promise<RestoreOutcome>;
}
