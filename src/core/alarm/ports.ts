/** The sockets between the alarm engine, the store, and those who show alarms. */
import type { FollowUp, LearningSample, ReadingFollower } from "./follow-up.ts";
import type { AlarmAction } from "./shown.ts";

export interface SavedAlarms {
  readonly states: readonly { readonly sensor: string; readonly text: string }[];
  readonly samples: readonly LearningSample[];
}

export interface StoredEvent {
  readonly seq: number;
  readonly storedAtMs: number;
  /** The payload of plant 11, as it is sent. */
  readonly payload: string;
}

/** What the alarms keep on disk. Reads and writes throw StoreFailure. */
export interface AlarmStore {
  /** What follows the readings into the store; null where alarms are off. */
  follower: ReadingFollower | null;
  saved(): SavedAlarms;
  /**
   * Runs `make` inside a transaction and writes what it answers; resolves once durable, with whether it answered anything.
   * @param isUrgent somebody waits for it
   */
  apply(what: string, make: () => FollowUp | null, isUrgent: boolean): Promise<boolean>;
  audit(action: AlarmAction): void;
  /** Newest first. */
  actions(max: number): readonly AlarmAction[];
  /** Newest first. @param before older than this `seq` only */
  events(before: number | null, max: number): readonly StoredEvent[];
}
