import type { FastifyInstance, FastifyRequest } from "fastify";
import { integer, objectOf } from "./api-schemas.ts";
import { isChange } from "./change.ts";
import type { HttpParts } from "./parts.ts";
import { problem } from "./problem.ts";

export const AUDIT_LOG_QUERY = objectOf({
  limit: integer(1, 1000, 100),
  before: { ...integer(1, Number.MAX_SAFE_INTEGER), description: "`before` of the last page." },
});

const API_PREFIX = "/api/v1/";

declare module "fastify" {
  interface FastifyRequest {
    /** What a change was of, for the audit log: codes and names, no secret. */
    auditDetail: string;
  }
}

/** Every change over the HTTP side is kept with who, when and what, before it is answered; also one that was refused to a known token. */
export function registerAudit(
  app: FastifyInstance,
  { audit, clock, logger }: Pick<HttpParts, "audit" | "clock" | "logger">,
): void {
  app.decorateRequest("auditDetail", "");
  app.addHook("onSend", (request, reply, _payload, done) => {
    const { url: route } = request.routeOptions;
    const isAudited = route?.startsWith(API_PREFIX) === true && isChange(request.method, route);
    // Who is not known at all would only fill the log.
    if (audit !== null && isAudited && request.role !== null) {
      const outcome = String(reply.statusCode);
      const path = request.url.split("?", 1)[0] ?? "";
      // Whatever HTTP_VIEW_TOKEN asks of a route, its refusals are of one kind.
      const what = request.role === "view" ? route : path;
      try {
        audit.add({
          timeMs: clock.now(),
          who: whoOf(request),
          address: request.raw.socket.remoteAddress ?? "",
          what: `${request.method} ${what}`,
          detail: request.auditDetail,
          outcome,
        });
      } catch (err) {
        // What was done is done; the log line keeps it where the disk is full.
        logger.error(
          { err, who: whoOf(request), route },
          "a change could not be written to the audit log",
        );
      }
    }
    done();
  });
  app.get<{ Querystring: { limit: number; before?: number } }>(
    "/api/v1/audit",
    { schema: { querystring: AUDIT_LOG_QUERY } },
    (request, reply) => {
      if (audit === null)
        return reply.code(501).send(problem(501, "audit: not available in this agent"));
      const { limit, before } = request.query;
      const entries = audit.newest(limit, before ?? null);
      const last = entries.length === limit ? entries.at(-1) : undefined;
      return reply.send({ entries, before: last?.entry ?? null });
    },
  );
}

/** The token's name; where none is required, the way they came in. */
export function whoOf({ role, server, raw }: FastifyRequest): string {
  if (server.isTokenRequired) return role === "view" ? "HTTP_VIEW_TOKEN" : "HTTP_TOKEN";
  return raw.socket.remoteAddress === undefined ? "local socket" : "loopback";
}
