/** What other features may use of the alarms. */
import type { AlarmEvent } from "../../core/alarm/event.ts";
import type { Findings } from "./rules/findings.ts";
import type { AlarmActions } from "./rules/view.ts";

export { FINDING_ALARM, SAVED_PREFIX } from "./rules/finding-alarms.ts";
export type { Findings } from "./rules/findings.ts";
export type { FollowUp } from "./rules/follow-up.ts";
export { KeptStates, type SavedState } from "./rules/kept-states.ts";
export { amount, valueLabel } from "./rules/sentence.ts";
export { extended, passed, type Since, sinceFrom, sinceMs } from "./rules/since.ts";
export type { AlarmActions, StandingAlarm } from "./rules/view.ts";

/** Of an agent; null while ALARMS_ENABLED is false. */
export interface Alarms extends AlarmActions {
  /** The newest event of each alarm that stands. */
  events(): readonly AlarmEvent[];
  /** Calls the listener with the events of each commit. Returns how to stop that. */
  onEvents(listener: (events: readonly AlarmEvent[]) => void): () => void;
  /** Calls it with the sensors of which a commit has changed what alarms and findings keep. */
  onJudged(listener: (sensors: readonly string[]) => void): void;
}

/** Diagnosis, whose findings are alarms too. */
export interface Diagnosing {
  readonly findings: Findings;
  /** After each commit with events, and once all is loaded. */
  counted(): void;
}
