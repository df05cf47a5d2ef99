/** States of nodes: what a sensor's own electronics report, read beside its records (plant sections 13 and 14). */

import { PROBED_STATES } from "../../core/configuration/setup.ts";
import { input } from "../../core/schema.ts";
import { type Operation, SETUP_IS_OFF } from "../../http/api-operation.ts";
import { SENSOR_ENTRY, TRY_REFUSED } from "../../http/trial.ts";
import type { FeatureSpec } from "../feature.ts";
import { checkStateReads } from "./site-rules.ts";

export const PROBE_STATES = {
  path: "/api/v1/setup/probe/states",
  method: "post",
  summary:
    "Performs each state read of a sensor once; the sensor need not be in the site file. Nothing is stored.",
  body: input({ sensor: SENSOR_ENTRY }, ["sensor"]),
  also: TRY_REFUSED,
  response: "The values of each read as they would be stored, or the reason why there are none.",
  schema: PROBED_STATES,
} as const satisfies Operation;

export const NODES_SPEC: FeatureSpec = {
  name: "nodes",
  site: { sensor: checkStateReads },
  operations: [PROBE_STATES],
  off: SETUP_IS_OFF,
  reads: {
    kind: "node",
    of: ({ stateReads = [] }) => stateReads.length > 0,
    load: async () => ({ ...(await import("./probe.ts")), ...(await import("./doctor.ts")) }),
  },
  after: { operations: "/api/v1/setup/probe" },
};
