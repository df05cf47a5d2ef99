/** Machines and findings in the form of the API. */

import type { Cannot } from "../../../core/diagnosis/finding.ts";
import type {
  CheckedSensor,
  FindingView,
  MachineFindings,
  MachineView,
} from "../../../core/diagnosis/shown.ts";
import type { Machine } from "../../../core/machine.ts";
import type { SiteMachine } from "../../../core/site-machines.ts";
import { sinceMs } from "../../alarms/api.ts";
import type { FindingEngine } from "./engine.ts";
import type { FindingState } from "./sensor-findings.ts";
import { findingSentence } from "./sentence.ts";

/** The findings as HTTP needs them. */
export interface FindingViews {
  machines(): readonly MachineView[];
  /** Null: no machine of this id. */
  findingsOf(machine: number): MachineFindings | null;
  /** The active findings of a sensor with their stages, as a text: another one after any change of these. */
  stagesOf(sensor: string): string;
}

/** Current state and speed of a machine. */
export type MachineNow = (machine: Machine) => Pick<MachineView, "state" | "speedRpm">;

export function machineView(engine: FindingEngine, machine: Machine, now: MachineNow): MachineView {
  const sensors = engine.sensorsOf(machine.id);
  const standing = sensors.flatMap(({ code }) => standingOf(engine, code));
  const stages = standing.map(({ last }) => last.verdict.stage);
  const worst = stages.toSorted((a, b) => b - a)[0] ?? null;
  const { id, name = null } = machine;
  const codes = sensors.map(({ code }) => code);
  return {
    id,
    name,
    ...now(machine),
    sensors: codes,
    findings: standing.length,
    worstStage: worst,
  };
}

export const stagesOf = (engine: FindingEngine, sensor: string): string =>
  standingOf(engine, sensor)
    .map(({ finding, bearing, last }) => `${finding}/${bearing} ${last.verdict.stage}`)
    .join();

function standingOf(engine: FindingEngine, sensor: string): FindingState[] {
  return [...engine.of(sensor).states.values()].filter(({ stands }) => stands !== null);
}

export function machineFindings(
  engine: FindingEngine,
  machine: Machine,
  now: MachineNow,
): MachineFindings {
  const sensors = engine.sensorsOf(machine.id);
  const findings = sensors.flatMap((sensor) =>
    standingOf(engine, sensor.code).map((state): FindingView => {
      const { finding, bearing, inRow, worstStage, stands, last } = state;
      const { stage, level, unit, limit, lines } = last.verdict;
      return {
        id: stands?.id ?? "",
        finding,
        bearing,
        sensor: sensor.code,
        point: sensor.location?.point ?? null,
        stage,
        worstStage,
        since: iso(sinceMs(state.since)),
        raised: iso(stands?.sinceMs ?? last.timeMs),
        lastSeen: iso(last.timeMs),
        readingId: last.readingId,
        inRow,
        speedRpm: last.speedRpm,
        level,
        unit,
        limit,
        evidence: lines,
        text: findingSentence(last.verdict, state, machine, sensor, engine.placeOf(sensor.code)),
      };
    }),
  );
  const checked = sensors.map(({ code, location }): CheckedSensor => {
    const { seen } = engine.of(code);
    const why = machine.speed === undefined ? [NEEDS_SPEED] : [];
    return {
      sensor: code,
      point: location?.point ?? null,
      time: seen === null ? null : iso(seen.timeMs),
      readingId: seen?.readingId ?? null,
      speedRpm: seen?.speedRpm ?? null,
      lookedFor: seen?.judged ?? [],
      cannotTell: seen?.cannot ?? why,
    };
  });
  return { machine: machineView(engine, machine, now), findings, checked };
}

/** A machine that only the locations of its sensors name: nothing measures its speed, so nothing can be found on it. */
export function unmeasuredFindings({ id, name, sensors }: SiteMachine): MachineFindings {
  const own = sensors.filter(({ kinds }) => kinds.includes("accel"));
  return {
    machine: {
      id,
      name,
      state: null,
      speedRpm: null,
      sensors: own.map(({ code }) => code),
      findings: 0,
      worstStage: null,
    },
    findings: [],
    checked: own.map(({ code, location }) => ({
      sensor: code,
      point: location?.point ?? null,
      time: null,
      readingId: null,
      speedRpm: null,
      lookedFor: [],
      cannotTell: [NEEDS_SPEED],
    })),
  };
}

/** A machine without speed reports that before its first reading. */
const NEEDS_SPEED: Cannot = {
  finding: null,
  bearing: null,
  reason: "speed_unknown",
  text: "Findings need the shaft speed: set the machine's `speed` to a sensor of kind rpm.",
};

const iso = (ms: number) => new Date(ms).toISOString();
