/** Alarms and findings follow readings together: one state in the store, one transaction, one list of events. */
import type { AlarmEngine } from "../alarm/engine.ts";
import type {
  FollowedReading,
  FollowUp,
  MachineState,
  ReadingFollower,
} from "../alarm/follow-up.ts";
import type { DayReadAt } from "../machine-state/signal-reads.ts";
import type { Kind } from "../sensor.ts";
import type { Tx } from "../tx.ts";
import type { FindingEngine } from "./engine.ts";

export interface DiagnosisFollowerOptions {
  /** A bug in the rules: the alarms and the reading continue without findings. */
  readonly onFailure: (error: unknown, sensor: string) => void;
}

export class DiagnosisFollower implements ReadingFollower {
  readonly #alarms: AlarmEngine;
  readonly #findings: FindingEngine;
  readonly #options: DiagnosisFollowerOptions;

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

  follow(
    tx: Tx,
    sensor: string,
    kind: Kind,
    readings: readonly FollowedReading[],
    read: DayReadAt | null,
  ): FollowUp {
    // The alarms first: they know the speed and state of the machine.
    const alarms = this.#alarms.follow(tx, sensor, kind, readings, read);
    const find = () => this.#findings.follow(tx, sensor, kind, readings);
    return this.#withFindings(tx, alarms, sensor, find);
  }

  /** Ends alarms and findings that the site file no longer describes. */
  reconcile(tx: Tx, nowMs: number): FollowUp {
    const alarms = this.#alarms.reconcile(tx, nowMs);
    return {
      ...alarms,
      states: [
        ...alarms.states,
        ...this.#findings.reconcile(tx, (code) => this.#alarms.hasReadings(code)),
      ],
    };
  }

  /** Judges what has waited for long enough for the state and speed of its machine. */
  judgeDue(tx: Tx): FollowUp {
    const find = () => this.#findings.judgeDue(tx);
    return this.#withFindings(tx, this.#alarms.judgeDue(tx), "any", find);
  }

  #withFindings(
    tx: Tx,
    alarms: FollowUp,
    sensor: string,
    find: () => Pick<FollowUp, "events" | "states">,
  ): FollowUp {
    try {
      const { events, states } = find();
      if (events.length === 0 && states.length === 0) return alarms;
      const adopted = this.#alarms.adoptFindings(tx, events);
      return {
        ...alarms,
        events: [...alarms.events, ...adopted.events],
        states: [...alarms.states, ...states, ...adopted.states],
      };
    } catch (error) {
      this.#options.onFailure(error, sensor);
      return alarms;
    }
  }
}
