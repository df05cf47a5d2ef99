/** Diagnosis: faults of machines from spectra at their speed (plant section 12). */
import { MACHINE_FINDINGS } from "../../core/diagnosis/shown.ts";
import { ALARMS_OFF, MACHINE_ID, type Operation } from "../../http/api-operation.ts";
import type { FeatureSpec } from "../feature.ts";

export const FINDING_LIST = {
  path: "/api/v1/machines/{id}/findings",
  method: "get",
  summary: "Findings of a machine with their evidence, and the faults that could not be checked.",
  params: MACHINE_ID,
  also: { 404: "There is no machine with this id.", ...ALARMS_OFF },
  response: "Active findings, and what was checked on each sensor.",
  schema: MACHINE_FINDINGS,
} as const satisfies Operation;

export const DIAGNOSIS_SPEC = {
  name: "diagnosis",
  operations: [FINDING_LIST],
  off: { status: 501, message: "findings are off: ALARMS_ENABLED is false" },
  after: { operations: "/api/v1/machines" },
} as const satisfies FeatureSpec;
