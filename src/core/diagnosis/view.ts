/** Machines and findings in the form of the API. */
import type { MachineState } from "../alarm/follow-up.ts";
import { sinceMs } from "../alarm/since.ts";
import type { Machine } from "../machine.ts";
import type { FindingEngine } from "./engine.ts";
import type { Cannot, EvidenceLine, FindingKind, LineUnit, Stage } from "./finding.ts";
import type { FindingState } from "./sensor-findings.ts";
import { findingSentence } from "./sentence.ts";

export interface MachineView {
  readonly id: number;
  readonly name: string | null;
  /** Null: no signal, or no recent value. */
  readonly state: MachineState | null;
  /** r/min, now; null while it is unknown. */
  readonly speedRpm: number | null;
  /** Codes of the sensors that findings are based on. */
  readonly sensors: readonly string[];
  /** Active findings, and their worst stage. */
  readonly findings: number;
  readonly worstStage: Stage | null;
}

interface FindingView {
  /** Of the event that reported it. */
  readonly id: string;
  readonly finding: FindingKind;
  readonly bearing: string | null;
  readonly sensor: string;
  readonly point: number | null;
  readonly stage: Stage;
  readonly worstStage: Stage;
  /** Since when the machine has shown it, the reading with which it was told, and the newest that shows it, ISO. */
  readonly since: string;
  readonly raised: string;
  readonly lastSeen: string;
  readonly readingId: string;
  /** How many readings in a row showed it; 0: the newest ones did not. */
  readonly inRow: number;
  readonly speedRpm: number;
  readonly level: number;
  readonly unit: LineUnit;
  readonly limit: number;
  readonly evidence: readonly EvidenceLine[];
  readonly text: string;
}

interface CheckedSensor {
  readonly sensor: string;
  readonly point: number | null;
  /** The newest reading evaluated since the agent started; null: none yet. */
  readonly time: string | null;
  readonly readingId: string | null;
  readonly speedRpm: number | null;
  /** What was checked, as `finding` or `finding/bearing`. */
  readonly lookedFor: readonly string[];
  /** What was not, and why. */
  readonly cannotTell: readonly Cannot[];
}

export interface MachineFindings {
  readonly machine: MachineView;
  readonly findings: readonly FindingView[];
  readonly checked: readonly CheckedSensor[];
}

/** The findings as HTTP needs them. */
export interface FindingDesk {
  machines(): readonly MachineView[];
  /** Null: no machine of this id. */
  findingsOf(machine: number): MachineFindings | null;
}

/** Current state and speed of a machine. */
export type MachineNow = (machine: Machine) => Pick<MachineView, "state" | "speedRpm">;

export function machineView(engine: FindingEngine, machine: Machine, now: MachineNow): MachineView {
  const sensors = engine.sensorsOf(machine.id);
  const standing = sensors.flatMap(({ code }) => standingOf(engine, code));
  const stages = standing.map(({ last }) => last.verdict.stage);
  const worst = stages.length === 0 ? null : (Math.max(...stages) as Stage);
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
        text: findingSentence(last.verdict, state, machine, sensor),
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

/** A machine without speed reports that before its first reading. */
const NEEDS_SPEED: Cannot = {
  finding: null,
  bearing: null,
  reason: "speed_unknown",
  text: "Findings need the shaft speed: set the machine's `speed` to a sensor of kind rpm.",
};

const iso = (ms: number) => new Date(ms).toISOString();
