/** The interpretation of a message. */
export type Item =
  | ReadingItem
  | WaveformItem
  | EventItem
  | GapItem
  | BoxStateItem
  | BoxStatsItem
  | SensorStateItem
  | AboutItem
  | MachineItem
  | IgnoredItem
  | RejectedItem;

export interface ReadingItem {
  readonly type: "reading";
  readonly id: string;
  readonly site: string;
  readonly sensor: string;
  readonly kind: string;
  readonly timeMs: number;
  readonly values: Readonly<Record<string, unknown>>;
  readonly units: Readonly<Record<string, unknown>>;
  /** False: its sensor's description has them. */
  readonly hasUnits: boolean;
  readonly quality: Readonly<Record<string, unknown>>;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly raw: unknown;
  readonly name: string | null;
  readonly location: unknown;
  readonly historical: boolean;
}

export interface WaveformItem {
  readonly type: "waveform";
  readonly id: string;
  readonly site: string;
  readonly sensor: string;
  readonly timeMs: number;
  readonly channel: string;
  readonly axis: string | null;
  readonly unit: string | null;
  readonly sampleRate: number | null;
  readonly recordingReason: string | null;
  /** 32-bit little-endian floats. */
  readonly data: Buffer;
}

export interface EventItem {
  readonly type: "event";
  readonly id: string;
  readonly site: string;
  readonly timeMs: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface GapItem {
  readonly type: "gap";
  readonly site: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** `body` is null if the retained message was cleared. */
export interface BoxStateItem {
  readonly type: "boxState";
  readonly site: string;
  readonly body: Readonly<Record<string, unknown>> | null;
}

export interface BoxStatsItem {
  readonly type: "boxStats";
  readonly site: string;
  readonly body: Readonly<Record<string, unknown>> | null;
}

export interface SensorStateItem {
  readonly type: "sensorState";
  readonly site: string;
  readonly sensor: string;
  readonly body: Readonly<Record<string, unknown>> | null;
}

export interface AboutItem {
  readonly type: "about";
  readonly site: string;
  readonly sensor: string;
  readonly body: Readonly<Record<string, unknown>> | null;
}

/** `body` is null if the retained message was cleared. */
export interface MachineItem {
  readonly type: "machine";
  readonly site: string;
  readonly machine: number;
  readonly body: MachineBody | null;
}

interface MachineBody {
  /** When the box said so, ms. */
  readonly atMs: number;
  readonly name: string | null;
  readonly area: string | null;
  readonly condition: string;
  readonly reason: string | null;
  readonly sinceMs: number | null;
  readonly sinceAtLeast: boolean | null;
  readonly running: boolean | null;
  readonly speedRpm: number | null;
  readonly zone: string | null;
  readonly stage: number | null;
  readonly acknowledged: boolean;
  readonly alarms: number;
  readonly warnings: number;
  /** As JSON. */
  readonly changed: string | null;
  readonly findings: string;
  readonly outlook: string | null;
  /** Of all that makes a change. */
  readonly key: string;
}

/** Ours, but not stored; the names are stable, because a metric counts by them. */
interface IgnoredItem {
  readonly type: "ignored";
  readonly family: "plain" | "command" | "alarm" | "doctor" | "cleared" | "other";
}

/** Why a message cannot be used; the names are stable, because dashboards count by them. */
export type MessageReject =
  | "too_large"
  | "foreign_topic"
  | "not_json"
  | "not_an_object"
  | "too_deep"
  | "unsupported_version"
  | "site_mismatch"
  | "ambiguous_topic"
  | "wrong_member"
  | "time_out_of_range"
  | "unknown_message"
  | "too_many_streams"
  | "refused_by_database"
  /** By itself it took too long, three times. */
  | "statement_timeout"
  /** A fault of ours, which one message brought about. */
  | "internal_error";

export interface RejectedItem {
  readonly type: "rejected";
  readonly reason: MessageReject;
  /** What exactly is wrong, in a few words. */
  readonly detail: string;
  /** Who sent it, as far as its topic tells. */
  readonly site?: string | null;
}

/** An item with its time of arrival, for items without their own time. */
export interface Received<T> {
  readonly item: T;
  readonly receivedMs: number;
}
