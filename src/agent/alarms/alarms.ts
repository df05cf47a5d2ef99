import type { AlarmActions } from "../../core/alarm/view.ts";
import type { FindingViews } from "../../core/diagnosis/view.ts";
import { type AlarmActionsParts, StoredAlarmActions } from "./alarm-actions.ts";
import type { AlarmEngines } from "./engines.ts";
import { createFindingViews } from "./finding-views.ts";
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
