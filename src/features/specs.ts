/** Every feature as help, documents and checks know it, in order. */
import { ALARMS_SPEC } from "./alarms/spec.ts";
import { BANDS_SPEC } from "./bands/spec.ts";
import { COMMANDS_SPEC } from "./commands/spec.ts";
import { CONDITION_SPEC } from "./condition/spec.ts";
import { DIAGNOSIS_SPEC } from "./diagnosis/spec.ts";
import { DISCOVER_SPEC } from "./discover/spec.ts";
import type { FeatureSpec } from "./feature.ts";
import { HOURS_SPEC } from "./hours/spec.ts";
import { KEPT_SPEC } from "./kept/spec.ts";
import { MACHINES_SPEC } from "./machines/spec.ts";
import { MODBUS_SPEC } from "./modbus/spec.ts";
import { NODES_SPEC } from "./nodes/spec.ts";
import { NOTIFY_SPEC } from "./notify/spec.ts";
import { OUTLOOK_SPEC } from "./outlook/spec.ts";
import { PLATFORMS_SPEC } from "./platforms/spec.ts";
import { QUERY_SERVICE_SPEC } from "./query-service/spec.ts";
import { REPORT_SPEC } from "./report/spec.ts";
import { SETUP_SPEC } from "./setup/spec.ts";
import { SPARKPLUG_SPEC } from "./sparkplug/spec.ts";

export const SPECS = [
  MACHINES_SPEC,
  HOURS_SPEC,
  CONDITION_SPEC,
  DIAGNOSIS_SPEC,
  ALARMS_SPEC,
  OUTLOOK_SPEC,
  COMMANDS_SPEC,
  MODBUS_SPEC,
  NOTIFY_SPEC,
  REPORT_SPEC,
  SETUP_SPEC,
  DISCOVER_SPEC,
  QUERY_SERVICE_SPEC,
  BANDS_SPEC,
  SPARKPLUG_SPEC,
  PLATFORMS_SPEC,
  NODES_SPEC,
  KEPT_SPEC,
] as const satisfies readonly FeatureSpec[];
