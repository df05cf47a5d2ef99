import type { PolledKind } from "./sensor.ts";

/** A parsed object whose members are not checked yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Neither null nor a list. */
export const isJsonArray = (value: JsonValue): value is readonly JsonValue[] =>
  Array.isArray(value);

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** An instant, with the writer's UTC offset if the wire had it. The offset never shifts the instant. */
export interface Timestamp {
  readonly ms: number;
  readonly offsetMinutes: number | null;
}

/** One axis of an acceleration record as it arrived. */
export type ChannelSamples =
  | { readonly state: "absent" }
  | { readonly state: "ok"; readonly samples: Int16Array }
  | {
      /** Not convertible: a sample is not an integer, or does not fit into 16 bits, or this is not an array. */
      readonly state: "damaged";
      readonly reason: "sample_out_of_range" | "sample_not_integer" | "not_an_array";
      /** Represents the samples in the record's identity. */
      readonly digest: string;
    };

/** A field that could not be read. It affects only itself (services section 2, rule 9). */
export interface FieldFault {
  readonly field: string;
  readonly reason:
    | "not_a_number"
    | "wrong_type"
    | "bad_time"
    | "time_implausible"
    | "time_without_zone"
    | "iso_time";
}

export type TimeField = "time_data" | "realnodetime" | "startPeriod" | "endPeriod";

/**
 * A record as decoded: raw counts and wire fields under their neutral names (core/wire/names.ts), nothing converted.
 * A missing value (null or absent) is an absent key; a number field whose text was not a finite number is NaN.
 */
export interface RawRecord {
  readonly kind: PolledKind;
  /** `sensor_code` as trimmed text; null if the record has none. */
  readonly sensorCode: string | null;
  /** Known scalar fields other than times and sensor_code, by neutral name, with no prototype. */
  readonly fields: Readonly<Record<string, number | string | boolean>>;
  /** Plausible times only (services 3.2). */
  readonly times: Readonly<Partial<Record<TimeField, Timestamp>>>;
  /** The same times as received, including unusable ones: for PUBLISH_RAW, never for the identity. */
  readonly timeTexts?: Readonly<Partial<Record<TimeField, string>>>;
  /** accel only: channel1…channel3. */
  readonly channels: readonly ChannelSamples[];
  /** Unknown members, kept for the raw store; no prototype. */
  readonly extra: Readonly<Record<string, JsonValue>>;
  readonly faults: readonly FieldFault[];
}

/** Why a whole record was not used; each is a value of gateside_records_rejected_total{reason}. */
export type RejectReason =
  | "foreign_record"
  | "no_time"
  | "time_without_zone"
  | "not_an_object"
  | "malformed"
  | "record_too_large"
  | "too_many_members"
  | "too_many_values"
  | "text_too_long"
  | "too_many_samples";

export interface Reject {
  readonly reason: RejectReason;
  readonly detail: string;
}
