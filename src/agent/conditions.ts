import { codeOfFindings, isFindingState } from "../core/alarm/finding-alarms.ts";
import { type ConditionParts } from "../features/condition/condition-parts.ts";
import { MachineConditions } from "../features/condition/machine-conditions.ts";
import { historyPages } from "../pipeline/store/readings/history-pages.ts";
import type { Store } from "../pipeline/store/store.ts";
import type { AgentBase } from "./base.ts";
import type { ReadingSide } from "./reading-side.ts";

interface ConditionSources extends AgentBase, Pick<ReadingSide, "alarms" | "signals"> {
  readonly store: Store;
  readonly sensors: ConditionParts["sensors"];
  readonly outlook: ConditionParts["outlook"];
  readonly scaleChanges: NonNullable<ConditionParts["scaleChanges"]>;
}

/** The conditions of the machines over the store, told of what is judged. */
export function createConditions(sources: ConditionSources): MachineConditions {
  const { site, store, alarms, signals, gatewayClock, settings, clock, logger } = sources;
  const parts = {
    site,
    sensors: sources.sensors,
    outlook: sources.outlook,
    scaleChanges: sources.scaleChanges,
    history: historyPages(store.history),
    hours: store.hours,
    measurements: store.measurements,
    alarms: alarms?.actions ?? null,
    findings: alarms?.findingViews ?? null,
    machineSignals: signals.wait,
    dayMedians: store.dayMedians,
    gatewayNow: gatewayClock.now,
    timezone: settings.gatewayTimezone,
    clock,
    logger,
  };
  const conditions = new MachineConditions(parts);
  store.alarms.onStates = (codes) => {
    for (const code of codes) conditions.judged(isFindingState(code) ? codeOfFindings(code) : code);
  };
  alarms?.engines.onEvents(() => conditions.wake());
  return conditions;
}
