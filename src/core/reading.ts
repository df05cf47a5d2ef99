import type { AxisTones } from "../pipeline/signal/tones.ts";
import type { Doubt } from "./quality.ts";
import type { JsonValue } from "./record.ts";
import type { Kind } from "./sensor.ts";

export type Value = number | string | boolean | null;

/** Raw samples of one axis, stored beside the reading. */
export interface WaveformChannel {
  /** 1…3, as in the wire's channel{n}. */
  readonly channel: number;
  readonly axis: "H" | "V" | "A";
  /** Signed 16-bit counts; G = count × calibration. */
  readonly samples: Int16Array;
}

export interface Waveform {
  readonly sampleRateHz: number;
  /** G per count. */
  readonly calibration: number;
  readonly recordingReason: number | null;
  readonly channels: readonly WaveformChannel[];
}

/** What diagnosis keeps of one axis. */
export interface ChannelTones {
  /** 1…3 */
  readonly channel: number;
  readonly axis: "H" | "V" | "A";
  /** Length of the record, s. */
  readonly durationS: number;
  /** An overloaded sensor creates its own harmonics. */
  readonly isClipped: boolean;
  /** True: samples of the axis were lost, or it jumps; nothing is judged by it. */
  readonly isDamaged?: boolean;
  /** Null: the record is too short or has no signal. */
  readonly tones: AxisTones | null;
}

/** What baselines must know of the record that a reading was derived from. */
export interface RecordFacts {
  /** Worst zone of its channels; null without one, and of the record itself: its values have a zone each. */
  readonly zone: string | null;
  /** Equal for records of one rate and length. */
  readonly shape: string;
}

/** One converted record: values in engineering units with quality, ready to store and publish (contract section 6). */
export interface Reading {
  /** 32 hex digits; see identity.ts. */
  readonly id: string;
  readonly sensor: string;
  readonly kind: Kind;
  readonly timeMs: number;
  readonly offsetMinutes: number | null;
  readonly values: Readonly<Record<string, Value>>;
  readonly units: Readonly<Record<string, string>>;
  /** Only values that are not good. */
  readonly quality: Readonly<Record<string, Doubt>>;
  /** utc_offset, flags, version, … (contract section 5). */
  readonly attributes: Readonly<Record<string, JsonValue>>;
  /** The raw record without its samples, neutral names: what PUBLISH_RAW adds. */
  readonly raw: Readonly<Record<string, JsonValue>>;
  /** Null for scalar kinds and for accel records whose samples could not be kept. */
  readonly waveform: Waveform | null;
  /** If requested, by axis. */
  readonly tones?: readonly ChannelTones[] | null;
  /** Of acceleration and what is derived from it; never stored. */
  readonly record?: RecordFacts;
}

/** Flags that appear in `attributes.flags` (contract section 5, services.md). */
export type Flag =
  | "time_in_future"
  | "channel_length_mismatch"
  | "partial_answer"
  | "channel_count_mismatch"
  | "sample_out_of_range"
  | "sample_not_integer"
  | "not_an_array"
  | "time_from_time_data"
  | "recording_reason_unknown";

export function isFlagged({ attributes }: Pick<Reading, "attributes">, flag: Flag): boolean {
  const { flags } = attributes;
  return Array.isArray(flags) && flags.includes(flag);
}
