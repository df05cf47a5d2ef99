import {
  type FindingViews,
  type MachineNow,
  machineFindings,
  machineView,
  stagesOf,
} from "../../core/diagnosis/view.ts";
import type { AlarmEngines } from "./engines.ts";

/** The findings in the form shown to people. `gatewayNow`: the gateway's clock, ms. */
export function createFindingViews(
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
