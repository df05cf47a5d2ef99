/** Alarms and findings follow readings together: one state in the store, one transaction, one list of events. */
import type { AlarmEngine } from "../alarm/engine.ts";
import type { AlarmEvent } from "../alarm/event.ts";
import type {
  FollowedReading,
  FollowUp,
  MachineState,
  ReadingFollower,
} from "../alarm/follow-up.ts";
import type { Kind } from "../sensor.ts";
import type { FindingEngine } from "./engine.ts";

export interface DiagnosisFollowerOptions {
  /** Called with the findings' events after the commit; the alarm engine reports its own. */
  readonly onFindings: (events: readonly AlarmEvent[]) => void;
  /** A bug in the rules: the alarms and the reading continue without findings. */
  readonly onFailure: (error: unknown, sensor: string) => void;
}

export class DiagnosisFollower implements ReadingFollower {
  readonly #alarms: AlarmEngine;
  readonly #findings: FindingEngine;
  readonly #options: DiagnosisFollowerOptions;
  #events: AlarmEvent[] = [];

  constructor(alarms: AlarmEngine, findings: FindingEngine, options: DiagnosisFollowerOptions) {
    this.#alarms = alarms;
    this.#findings = findings;
    this.#options = options;
  }

  machineStateFor(sensor: string, kind: Kind, timeMs: number): MachineState | null {
    return this.#alarms.machineStateFor(sensor, kind, timeMs);
  }

  isFollowed(sensor: string, kind: Kind): boolean {
    const isDiagnosed = kind === "accel" && this.#findings.wantsTones(sensor);
    return isDiagnosed || this.#alarms.isFollowed(sensor, kind);
  }

  follow(sensor: string, kind: Kind, readings: readonly FollowedReading[]): FollowUp {
    // The alarms first: they know the speed and state of the machine.
    const alarms = this.#alarms.follow(sensor, kind, readings);
    try {
      const { events, states } = this.#findings.follow(sensor, kind, readings);
      if (events.length === 0 && states.length === 0) return alarms;
      this.#events.push(...events);
      const all = { events: [...alarms.events, ...events], states: [...alarms.states, ...states] };
      return { ...alarms, ...all };
    } catch (error) {
      this.#options.onFailure(error, sensor);
      return alarms;
    }
  }

  committed(): void {
    const events = this.#events;
    this.#events = [];
    this.#findings.committed();
    this.#alarms.committed();
    if (events.length > 0) this.#options.onFindings(events);
  }

  undone(): void {
    this.#events = [];
    this.#findings.undone();
    this.#alarms.undone();
  }
}
