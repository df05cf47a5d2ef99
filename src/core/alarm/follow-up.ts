import type { Doubt } from "../quality.ts";
import type { ChannelTones, Value } from "../reading.ts";
import type { Kind } from "../sensor.ts";
import type { AlarmEvent } from "./event.ts";

/** A stored reading as the alarms see it. */
export interface FollowedReading {
  readonly id: string;
  readonly timeMs: number;
  /** Dated into the future by a clock that is wrong: it says nothing of now. */
  readonly isFuture: boolean;
  readonly values: Readonly<Record<string, Value>>;
  /** Only values that are not good. */
  readonly quality: Readonly<Record<string, Doubt>>;
  /** Of acceleration records, where diagnosis asked for them. */
  readonly tones?: readonly ChannelTones[] | null;
}

export type MachineState = "running" | "standing";

/** What has to be written in the transaction of what was followed. */
export interface FollowUp {
  /** In the order they are to be reported. */
  readonly events: readonly AlarmEvent[];
  /** State of sensors that changed; text null removes it. */
  readonly states: readonly { readonly sensor: string; readonly text: string | null }[];
  /** What baselines learn from, until they are learned. */
  readonly samples: readonly LearningSample[];
  /** Sensors of which nothing is being learned any more. */
  readonly forgotten: readonly string[];
}

export interface LearningSample {
  readonly sensor: string;
  /** Rises per sensor. */
  readonly number: number;
  readonly text: string;
}

/**
 * What follows readings into the store (its two ends are the alarm engine and the writer of answers). All three calls come
 * from inside the store: `follow` within the transaction, one of the others after it.
 */
export interface ReadingFollower {
  /**
   * Whether the machine ran when a reading was taken, to be told with it; null while that is unknown, where nothing says,
   * and for readings of the signal that says it.
   */
  machineStateFor(sensor: string, kind: Kind, timeMs: number): MachineState | null;
  /** New readings of one sensor and kind, about to be committed. */
  follow(sensor: string, kind: Kind, readings: readonly FollowedReading[]): FollowUp;
  /** Of readings of this sensor and kind, whether `follow` wants to see their values at all. */
  isFollowed(sensor: string, kind: Kind): boolean;
  /** What was followed is durable. */
  committed(): void;
  /** It is not. */
  undone(): void;
}
