import type { FastifyInstance } from "fastify";
import { MACHINE_FINDINGS } from "../core/diagnosis/shown.ts";
import { unmeasuredFindings } from "../core/diagnosis/view.ts";
import { input } from "../core/schema.ts";
import { siteMachines } from "../core/site-machines.ts";
import { MACHINES } from "../features/condition/rules/shown.ts";
import { ALARMS_OFF, BUSY, MACHINE_ID, type Operation, serve } from "./api-operation.ts";
import { choice } from "./api-schemas.ts";
import type { HttpParts } from "./parts.ts";
import { refuse } from "./problem.ts";
import type { SharedResponses } from "./shared-responses.ts";

const FINDINGS_OFF = "findings are off: ALARMS_ENABLED is false";

const MACHINE_LIST = {
  path: "/api/v1/machines",
  method: "get",
  summary:
    "Machines of the site file with state, speed and number of active findings; with `sort=worst` every machine with its condition, worst first.",
  query: input({
    sort: {
      ...choice(["worst"]),
      description: "Every machine with its condition, worst first; also while alarms are disabled.",
    },
  }),
  also: { ...ALARMS_OFF, ...BUSY },
  response: "The machines.",
  schema: MACHINES,
} as const satisfies Operation;

const FINDING_LIST = {
  path: "/api/v1/machines/{id}/findings",
  method: "get",
  summary: "Findings of a machine with their evidence, and the faults that could not be checked.",
  params: MACHINE_ID,
  also: { 404: "There is no machine with this id.", ...ALARMS_OFF },
  response: "Active findings, and what was checked on each sensor.",
  schema: MACHINE_FINDINGS,
} as const satisfies Operation;

export const MACHINES_OPERATIONS: readonly Operation[] = [MACHINE_LIST, FINDING_LIST];

/** Machines, their conditions and findings. Only the list by condition responds while alarms are disabled. */
export function registerMachinesApi(
  app: FastifyInstance,
  parts: HttpParts,
  responses: SharedResponses,
): void {
  const { findings } = parts;
  serve(app, MACHINE_LIST, async (request, reply) => {
    if (request.query.sort === undefined)
      return findings === null
        ? refuse(reply, 501, FINDINGS_OFF)
        : reply.send({ machines: findings.machines() });
    return responses.send(request, reply, "machines worst", async () =>
      JSON.stringify({ machines: await parts.conditions.worstFirst() }),
    );
  });
  serve(app, FINDING_LIST, (request, reply) => {
    if (findings === null) return refuse(reply, 501, FINDINGS_OFF);
    const { id } = request.params;
    const found = findings.findingsOf(id);
    if (found !== null) return reply.send(found);
    const mounted = siteMachines(parts.site.current).find((machine) => machine.id === id);
    if (mounted !== undefined) return reply.send(unmeasuredFindings(mounted));
    return refuse(reply, 404, `the site file has no machine ${id}`);
  });
}
