import type { AlarmEvent } from "../../../core/alarm/event.ts";
import type { Kind } from "../../../core/sensor.ts";

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
