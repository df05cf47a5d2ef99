import type { FastifyInstance } from "fastify";
import { reportDocument } from "../core/report/document.ts";
import type { UnitSystem } from "../core/report/units.ts";
import { choice, INSTANT, instantMs, integer, objectOf } from "./api-schemas.ts";
import { MachineConditions } from "./machine-conditions.ts";
import { outlookFor } from "./machine-outlook.ts";
import { gatherReport } from "./machine-report.ts";
import type { HttpOptions, HttpParts } from "./parts.ts";
import { problem } from "./problem.ts";
import { isGone, type SharedResponses, tooMany } from "./shared-responses.ts";

export const MACHINE_ID = objectOf({ id: integer(0, Number.MAX_SAFE_INTEGER) }, ["id"]);
export const MACHINES_QUERY = objectOf({
  sort: {
    type: "string",
    enum: ["worst"],
    description: "Every machine with its condition, worst first; also while alarms are disabled.",
  },
});

export const REPORT_QUERY = objectOf({
  from: INSTANT,
  to: INSTANT,
  units: choice(["metric", "us"], "metric"),
});
const REPORT_MS = 30 * 86_400_000;

const FINDINGS_OFF = problem(501, "findings are off: ALARMS_ENABLED is false");

/** Machines, their conditions and findings. Only the list by condition responds while alarms are disabled. */
export function registerMachinesApi(
  app: FastifyInstance,
  parts: HttpParts,
  options: Pick<HttpOptions, "timezone" | "version">,
  responses: SharedResponses,
): void {
  const { findings } = parts;
  const conditions = new MachineConditions(parts);
  app.get<{ Querystring: { sort?: "worst" } }>(
    "/api/v1/machines",
    { schema: { querystring: MACHINES_QUERY } },
    async (request, reply) => {
      if (request.query.sort === undefined)
        return findings === null
          ? reply.code(501).send(FINDINGS_OFF)
          : reply.send({ machines: findings.machines() });
      const text = await responses.compute("machines worst", isGone(request), async () =>
        JSON.stringify({ machines: await conditions.worstFirst() }),
      );
      if (text === null) return tooMany(reply);
      return reply.type("application/json; charset=utf-8").send(text);
    },
  );
  app.get<{
    Params: { id: number };
    Querystring: { from?: string; to?: string; units: UnitSystem };
  }>(
    "/api/v1/machines/:id/report",
    { schema: { params: MACHINE_ID, querystring: REPORT_QUERY } },
    async (request, reply) => {
      const { id } = request.params;
      const { from, to, units } = request.query;
      const toMs = instantMs(to, parts.gatewayNow());
      const fromMs = toMs === null ? null : instantMs(from, toMs - REPORT_MS);
      if (toMs === null || fromMs === null || fromMs >= toMs)
        return reply.code(400).send(problem(400, "from and to: two times, the first one earlier"));
      const input = await gatherReport(parts, options, { id, fromMs, toMs, units });
      if (input !== null) return reply.send(reportDocument(input));
      return reply.code(404).send(problem(404, `the site file has no machine ${id}`));
    },
  );
  app.get<{ Params: { id: number } }>(
    "/api/v1/machines/:id/outlook",
    { schema: { params: MACHINE_ID } },
    (request, reply) => {
      const { id } = request.params;
      const outlook = outlookFor(id, parts);
      if (outlook !== null) return reply.send(outlook);
      return reply.code(404).send(problem(404, `the site file has no machine ${id}`));
    },
  );
  app.get<{ Params: { id: number } }>(
    "/api/v1/machines/:id/findings",
    { schema: { params: MACHINE_ID } },
    (request, reply) => {
      if (findings === null) return reply.code(501).send(FINDINGS_OFF);
      const { id } = request.params;
      const found = findings.findingsOf(id);
      if (found !== null) return reply.send(found);
      return reply.code(404).send(problem(404, `the site file has no machine ${id}`));
    },
  );
}
