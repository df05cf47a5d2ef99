/** Interfaces between the alarm engine, the store, and the displays of alarms. */
import type { WaitRows } from "../machine-state/wait-rows.ts";
import type { Tx } from "../tx.ts";
import type { AlarmEvent } from "./event.ts";
import type { FollowUp, LearningSample, ReadingFollower } from "./follow-up.ts";
import type { SavedState } from "./kept-states.ts";
import type { AlarmAction } from "./shown.ts";

export interface SavedAlarms {
  readonly states: Iterable<SavedState>;
  readonly samples: Iterable<LearningSample>;
}

export interface StoredEvent {
  readonly seq: number;
  readonly storedAtMs: number;
  /** The payload of plant section 11, as it is sent. */
  readonly payload: string;
}

/** Persistent state of the alarms. Reads and writes throw StoreFailure. */
export interface AlarmStore {
  /** Follows readings into the store; null if alarms are disabled. */
  follower: ReadingFollower | null;
  /** Called after each commit that wrote events, with these in order. */
  onEvents: (events: readonly AlarmEvent[]) => void;
  /** Called after each commit that changed states of alarms or findings, with the sensors as states are saved. */
  onStates: (sensors: Iterable<string>) => void;
  /** What waits for the state or speed of its machine. */
  readonly waiting: WaitRows;
  /** Each of the two is read page by page while it is walked through. */
  saved(): SavedAlarms;
  /** A row of this table, as `saved` gave it, cannot be read. */
  damaged(table: string, row: string): void;
  /**
   * Runs `make` inside a transaction and writes what it returns; resolves once durable, with whether it returned
   * anything.
   * @param isUrgent somebody is waiting for it
   */
  apply(what: string, make: (tx: Tx) => FollowUp | null, isUrgent: boolean): Promise<boolean>;
  audit(action: AlarmAction): Promise<void>;
  /** Newest first. */
  actions(max: number): readonly AlarmAction[];
  /** Newest first. @param before only those older than this `seq` */
  events(before: number | null, max: number): readonly StoredEvent[];
}
