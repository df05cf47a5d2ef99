/** What other features may use of the alarms. */
import type { AlarmEvent } from "../../core/alarm/event.ts";
import type { Findings } from "../../core/alarm/findings.ts";
import type { AlarmActions } from "../../core/alarm/view.ts";

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
