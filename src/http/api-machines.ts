import type { FastifyInstance, FastifyReply } from "fastify";
import { integer, objectOf } from "./api-schemas.ts";
import type { HttpParts } from "./parts.ts";
import { problem } from "./problem.ts";

export const MACHINE_ID = objectOf({ id: integer(0, Number.MAX_SAFE_INTEGER) }, ["id"]);

/** Machines of the site file and their findings. 501 if alarms are disabled. */
export function registerMachinesApi(
  app: FastifyInstance,
  { findings }: Pick<HttpParts, "findings">,
): void {
  app.get("/api/v1/machines", (_request, reply) =>
    findings === null ? off(reply) : reply.send({ machines: findings.machines() }),
  );
  app.get<{ Params: { id: number } }>(
    "/api/v1/machines/:id/findings",
    { schema: { params: MACHINE_ID } },
    (request, reply) => {
      if (findings === null) return off(reply);
      const { id } = request.params;
      const found = findings.findingsOf(id);
      if (found !== null) return reply.send(found);
      return reply.code(404).send(problem(404, `the site file has no machine ${id}`));
    },
  );
}

function off(reply: FastifyReply): FastifyReply {
  return reply.code(501).send(problem(501, "findings are off: ALARMS_ENABLED is false"));
}
