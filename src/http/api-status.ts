import type { FastifyInstance } from "fastify";
import { type ShownStatus, shownStatusOf } from "../core/agent-status.ts";
import { GAPS } from "../core/delivery/delivery.ts";
import { FAULTS } from "../core/query/fault.ts";
import { currentFaults } from "../core/query/faults.ts";
import { input, type Of } from "../core/schema.ts";
import type { FeatureSpec } from "../features/feature.ts";
import { SPECS } from "../features/specs.ts";
import { BUSY, type Operation, serve } from "./api-operation.ts";
import { integer, SENSOR } from "./api-schemas.ts";
import type { HttpParts } from "./parts.ts";
import type { SharedResponses } from "./shared-responses.ts";

const SHOWN_STATUS = shownStatusOf(
  Object.assign({}, ...SPECS.map(({ status }: FeatureSpec) => status?.members)),
);

const STATUS = {
  path: "/api/v1/status",
  method: "get",
  summary: "The agent at a glance: gateway, links, buffer, clock, sensors.",
  also: BUSY,
  response: "The agent's state.",
  schema: SHOWN_STATUS,
} as const satisfies Operation;

const FAULT_LIST = {
  path: "/api/v1/faults",
  method: "get",
  summary: "Current faults in plain words, each with its remedy.",
  also: BUSY,
  response: "The faults; empty if there are none.",
  schema: FAULTS,
} as const satisfies Operation;

const GAP_LIST = {
  path: "/api/v1/gaps",
  method: "get",
  summary: "Dropped readings, newest first.",
  query: input({ limit: integer(1, 1000, 100), sensor: SENSOR }),
  response: "The gaps.",
  schema: GAPS,
} as const satisfies Operation;

export const STATUS_OPERATIONS: readonly Operation[] = [STATUS, FAULT_LIST, GAP_LIST];

type Parts = Pick<HttpParts, "status" | "site" | "alarmCounts" | "isSetupOn" | "gaps">;

/** The agent's state as the API and live events show it. */
export function shownStatus({ status, site, alarmCounts, isSetupOn }: Parts): ShownStatus {
  const now = status.status();
  return {
    ...now,
    faults: currentFaults(now, site.current).length,
    alarms: alarmCounts?.() ?? null,
    setup: isSetupOn,
  };
}

/** The agent at a glance, its faults, and what was dropped. */
export function registerStatusApi(
  app: FastifyInstance,
  parts: Parts,
  responses: SharedResponses,
): void {
  serve(app, STATUS, (request, reply) =>
    responses.send(request, reply, "status", () => JSON.stringify(shownStatus(parts))),
  );
  const faults = (): Of<typeof FAULTS> => ({
    faults: currentFaults(parts.status.status(), parts.site.current),
  });
  serve(app, FAULT_LIST, (request, reply) =>
    responses.send(request, reply, "faults", () => JSON.stringify(faults())),
  );
  serve(app, GAP_LIST, (request, reply) =>
    reply.send({ gaps: parts.gaps.recent(request.query.limit, request.query.sensor) }),
  );
}
