import type { AlarmDesk } from "../../core/alarm/view.ts";
import type { FindingDesk } from "../../core/diagnosis/view.ts";
import { type DeskParts, StoredAlarmDesk } from "./desk.ts";
import type { AlarmEngines } from "./engines.ts";
import { createFindingDesk } from "./finding-desk.ts";
import { AlarmUpkeep, type UpkeepParts } from "./upkeep.ts";

/** The alarms of an agent: the engines, what keeps them current, and what operators see and change. */
export interface Alarms {
  readonly engines: AlarmEngines;
  readonly upkeep: AlarmUpkeep;
  readonly desk: AlarmDesk;
  readonly findingDesk: FindingDesk;
}

export function createAlarms(
  engines: AlarmEngines,
  parts: Omit<DeskParts, "engine"> & Omit<UpkeepParts, "engines">,
): Alarms {
  return {
    engines,
    upkeep: new AlarmUpkeep({ ...parts, engines }),
    desk: new StoredAlarmDesk({ ...parts, engine: engines.alarms }),
    findingDesk: createFindingDesk(engines, parts.gatewayNow),
  };
}
