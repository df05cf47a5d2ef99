import type { SensorState } from "../../core/agent-status.ts";
import type { Runtime } from "../../core/ports.ts";
import type { DayMedianStore } from "../../core/query/day-medians.ts";
import type { Measurements } from "../../core/query/measurements.ts";
import type { HistoryReader, HourValues } from "../../core/query/ports.ts";
import type { ScaleChange } from "../../core/scaling.ts";
import type { SiteSource } from "../../core/site-source.ts";
import type { OutlookPort } from "../../http/outlook-port.ts";
import type { AlarmActions } from "../alarms/api.ts";
import type { FindingViews } from "../diagnosis/api.ts";
import type { Wait } from "../machines/api.ts";

/** What conditions are made of: the site file, the newest readings, alarms and findings. */
export interface ConditionParts extends Runtime {
  readonly site: SiteSource;
  /** The states of all sensors. */
  readonly sensors: () => readonly SensorState[];
  readonly history: HistoryReader;
  readonly hours: HourValues;
  readonly measurements: Measurements;
  /** Null while ALARMS_ENABLED is false. */
  readonly alarms: AlarmActions | null;
  /** Null while ALARMS_ENABLED is false. */
  readonly findings: FindingViews | null;
  readonly machineSignals: Pick<
    Wait,
    "knownUntilMs" | "runningOf" | "speedAt" | "stateAt" | "stateOf"
  >;
  readonly dayMedians: Pick<DayMedianStore, "of" | "changes">;
  /** Of a sensor, oldest first. */
  readonly scaleChanges?: (code: string) => readonly ScaleChange[];
  /** Those of a machine; none without the feature. */
  readonly outlook: OutlookPort["valuesOf"];
  /** The gateway's clock, ms. */
  readonly gatewayNow: () => number;
  /** The gateway's zone (IANA). */
  readonly timezone: string;
}
