/** When rising values of a machine will reach their next limit (plant section 19). */
import { MACHINE_ID, type Operation } from "../../http/api-operation.ts";
import type { FeatureSpec } from "../feature.ts";
import { MACHINE_OUTLOOK } from "./rules/words.ts";

export const OUTLOOK = {
  path: "/api/v1/machines/{id}/outlook",
  method: "get",
  summary:
    "When rising velocities and bands of a machine will reach their next limit, or why that is not told.",
  params: MACHINE_ID,
  also: { 404: "There is no machine with this id." },
  response: "Each value with its level, limit and slope.",
  schema: MACHINE_OUTLOOK,
} as const satisfies Operation;

export const OUTLOOK_SPEC = {
  name: "outlook",
  operations: [OUTLOOK],
  after: { operations: "/api/v1/machines/{id}/findings" },
} as const satisfies FeatureSpec;
