import type { DayReadAt } from "../machine-state/signal-reads.ts";
import type { Reading, RecordFacts } from "../reading.ts";
import type { Kind } from "../sensor.ts";
import type { Tx } from "../tx.ts";
import type { AlarmEvent } from "./event.ts";

/** A stored reading as the alarms see it. */
export interface FollowedReading
  extends Pick<Reading, "id" | "timeMs" | "values" | "quality" | "tones"> {
  /** Dated in the future by a wrong clock: it says nothing about the present. */
  readonly isFuture: boolean;
  /** Of acceleration and what is derived from it. */
  readonly record?: RecordFacts | undefined;
  /** Of readings that waited: JSON of the `Scales` by which they were measured. */
  readonly scales?: string;
}

export type MachineState = "running" | "standing";

/** What must be written in the transaction that stores the followed readings. */
export interface FollowUp {
  /** In the order they are to be reported. */
  readonly events: readonly AlarmEvent[];
  /** State of sensors that changed; text null removes it. */
  readonly states: readonly { readonly sensor: string; readonly text: string | null }[];
  /** What baselines learn from, until they are learned. */
  readonly samples: readonly LearningSample[];
  /** Sensors for which nothing is being learned any more. */
  readonly forgotten: readonly string[];
  /** Readings that completed a baseline. */
  readonly completed?: readonly CompletedBaseline[];
}

export interface CompletedBaseline {
  readonly sensor: string;
  readonly kind: Kind;
  /** Rule, value and running state. */
  readonly baseline: string;
  /** Of the reading. */
  readonly timeMs: number;
  readonly id: string;
}

export interface LearningSample {
  readonly sensor: string;
  /** Increases per sensor. */
  readonly number: number;
  readonly text: string;
}

/** Follows readings into the store: its two ends are the alarm engine and the writer of responses. */
export interface ReadingFollower {
  /**
   * Whether the machine was running when a reading was taken, to be published with it; null while that is unknown, if
   * nothing shows it, and for readings of the signal that shows it.
   */
  machineStateFor(sensor: string, kind: Kind, timeMs: number): MachineState | null;
  /**
   * New readings of one sensor and kind, about to be committed.
   * @param read the read of a day that they complete; null while there is more of it to come
   */
  follow(
    tx: Tx,
    sensor: string,
    kind: Kind,
    readings: readonly FollowedReading[],
    read: DayReadAt | null,
  ): FollowUp;
  /** Whether `follow` needs the values of readings of this sensor and kind at all. */
  isFollowed(sensor: string, kind: Kind): boolean;
}
