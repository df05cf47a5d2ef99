/** Set-up over the HTTP side (plant 12): the files as they are edited, reads and sessions that are tried before they are saved, discovery. */
import type { ConfigurationFault, ReloadReport } from "./configuration.ts";
import type { PolledKind } from "./sensor.ts";

/** A file as it is now, whoever wrote it last. */
export interface EditedFile {
  /** Null where there is none, and where the file may hold secrets. */
  readonly text: string | null;
  /** What it holds, secrets hidden; null where that is no JSON. */
  readonly content: unknown;
  /** Told from another text by it: what a change must name to be taken. 64 hex digits, new with each start of the agent. */
  readonly hash: string;
  /** There is none, or nothing stands in it. */
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
  /** The file is not what the editor saw: somebody else changed it. Nothing was written. */
  | {
      readonly outcome: "changed_elsewhere";
      readonly file: EditedFile;
      /** What the file has that is not running yet. */
      readonly changes: readonly string[];
    }
  | { readonly outcome: "faults"; readonly faults: readonly ConfigurationFault[] }
  | { readonly outcome: "busy" | "unknown_version" | "not_writable"; readonly detail: string };

/** One of the two files: checked whole, kept in versions, applied by difference. */
export interface FileEditing {
  /** Absolute. */
  readonly path: string;
  /** Why it cannot be saved; null where it can. */
  readonly trouble: string | null;
  read(): EditedFile;
  /** Faults and warnings of a content that is not written, and what a reload would change. */
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

/** What is wrong with a request, by its places; or why it cannot be done now. */
export type Refused =
  | { readonly faults: readonly ConfigurationFault[] }
  | { readonly busy: string };

/** One read of a sensor that need not be in the site file; nothing is stored. */
export interface ProbeReport {
  readonly day: string;
  /** Records of the day that became readings. */
  readonly records: number;
  readonly durationMs: number;
  /** Why nothing could be read; null where the gateway answered. */
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
  /** What `main` would publish; long payloads are cut. */
  readonly messages: readonly {
    readonly topic: string;
    readonly qos: number;
    readonly retain: boolean;
    readonly payload: string;
  }[];
}

/** One state read of a sensor that need not be in the site file; nothing is stored. */
export interface ProbedState {
  /** The operation, or the device and the order of its words. */
  readonly source: string;
  /** Null where the answer has no time of its own. */
  readonly time: string | null;
  readonly values: readonly {
    readonly name: string;
    readonly value: unknown;
    readonly unit: string | null;
    readonly quality: string;
    /** What a 32-bit register would be with its words swapped; null for no number. */
    readonly otherOrder?: number | null;
  }[];
  /** Why it gave nothing; null where it did. */
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

/** What a person adds to what the service cannot tell. */
export interface DiscoveryHints {
  /** By sensor type code. */
  readonly kinds: Readonly<Record<string, readonly PolledKind[]>>;
  /** A, of every current channel. */
  readonly clamp: number | null;
  readonly loop: { readonly unit: string; readonly low: number; readonly high: number } | null;
}

export interface DiscoveryState {
  readonly state: "none" | "running" | "failed" | "found";
  /** What it is doing, or why it failed. */
  readonly detail: string;
  readonly devices: number;
}

export interface DiscoveryDraft {
  /** Sensors that the site file does not have yet, as they would stand in it. */
  readonly sensors: readonly unknown[];
  /** Found, and in the file already. */
  readonly kept: number;
  /** What could not be known, a line each. */
  readonly notes: readonly string[];
  /** The type codes that were found. */
  readonly types: readonly {
    readonly type: number;
    readonly count: number;
    readonly example: string;
  }[];
}

/** What the HTTP side offers while SETUP_ENABLED is true. */
export interface SetupDesk {
  readonly site: FileEditing;
  /** Null where UPLINKS_FILE is not set. */
  readonly uplinks: FileEditing | null;
  /** The published schemas, which forms are made of. */
  readonly schemas: { readonly site: unknown; readonly uplinks: unknown };
  /** @param day yyyy-MM-dd in the gateway's zone; null: today */
  probe(sensor: unknown, kind: PolledKind, day: string | null): Promise<ProbeReport | Refused>;
  /** Each of the sensor's state reads once. */
  probeStates(sensor: unknown): Promise<readonly ProbedState[] | Refused>;
  /** Opens one session at each address and leaves it at once. */
  tryUplink(uplink: unknown): Promise<readonly AddressReport[] | Refused>;
  /** Logs in and asks in the background. False while another one runs. */
  discover(request: DiscoveryRequest): boolean;
  readonly discovery: DiscoveryState;
  /** Null before something was found. */
  draft(hints: DiscoveryHints): DiscoveryDraft | null;
}
