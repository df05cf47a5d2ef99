import type { AlarmActions } from "../../core/alarm/view.ts";
import {
  type FindingViews,
  type MachineNow,
  machineFindings,
  machineView,
  stagesOf,
} from "../../core/diagnosis/view.ts";
import { type AlarmActionsParts, StoredAlarmActions } from "./alarm-actions.ts";
import type { AlarmEngines } from "./engines.ts";
import { AlarmUpkeep, type UpkeepParts } from "./upkeep.ts";

/** The alarms of an agent: the engines, what keeps them current, and what operators see and change. */
export interface Alarms {
  readonly engines: AlarmEngines;
  readonly upkeep: AlarmUpkeep;
  readonly actions: AlarmActions;
  readonly findingViews: FindingViews;
}

export function createAlarms(
  engines: AlarmEngines,
  parts: Omit<AlarmActionsParts, "engine"> & Omit<UpkeepParts, "engines">,
): Alarms {
  return {
    engines,
    upkeep: new AlarmUpkeep({ ...parts, engines }),
    actions: new StoredAlarmActions({ ...parts, engine: engines.alarms }),
    findingViews: createFindingViews(engines, parts.gatewayNow),
  };
}

/** The findings in the form shown to people. `gatewayNow`: the gateway's clock, ms. */
function createFindingViews(
  { alarms, findings }: AlarmEngines,
  gatewayNow: () => number,
): FindingViews {
  const machineNow: MachineNow = (machine) => {
    const now = gatewayNow();
    const { wait } = alarms;
    return { state: wait.stateOf(machine.id, now), speedRpm: wait.speedAt(machine.id, now) };
  };
  return {
    machines: () => findings.machines.map((machine) => machineView(findings, machine, machineNow)),
    stagesOf: (sensor) => stagesOf(findings, sensor),
    findingsOf(id) {
      const machine = findings.machines.find((candidate) => candidate.id === id);
      return machine === undefined ? null : machineFindings(findings, machine, machineNow);
    },
  };
}
