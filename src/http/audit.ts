import type { FastifyInstance, FastifyRequest } from "fastify";
import { AUDIT_PAGE } from "../core/audit.ts";
import { STORE_HELD } from "../core/command.ts";
import { input } from "../core/schema.ts";
import { type Operation, serve } from "./api-operation.ts";
import { integer } from "./api-schemas.ts";
import { accessTo } from "./change.ts";
import { isLocalSocket } from "./local-socket.ts";
import type { HttpParts } from "./parts.ts";
import { refuse } from "./problem.ts";

const API_PREFIX = "/api/v1/";
/** Described for every change (`api-document.ts`). */
const HELD_STATUS = 503;

declare module "fastify" {
  interface FastifyRequest {
    /** The subject of a change, for the audit log: codes and names, no secrets. */
    auditDetail: string;
    /** It was refused since no change can be stored, and so no entry of it. */
    isStoreHeld: boolean;
  }
}

const AUDIT = {
  path: "/api/v1/audit",
  method: "get",
  summary: "Changes with who, when, what and outcome, newest first.",
  query: input({
    limit: integer(1, 1000, 100),
    before: {
      ...integer(1, Number.MAX_SAFE_INTEGER),
      description: "`before` of the previous page.",
    },
  }),
  also: { 501: "Not available in this agent." },
  response: "A page; `before` requests the next page, and is null on the last one.",
  schema: AUDIT_PAGE,
} as const satisfies Operation;

export const AUDIT_OPERATIONS: readonly Operation[] = [AUDIT];

/**
 * Every change over HTTP is recorded with who, when and what, before the response is sent; so is one that was refused
 * to a known token.
 */
export function registerAudit(
  app: FastifyInstance,
  {
    audit,
    clock,
    logger,
    whyUnwritable,
  }: Pick<HttpParts, "audit" | "clock" | "logger" | "whyUnwritable">,
): void {
  app.decorateRequest("auditDetail", "");
  app.decorateRequest("isStoreHeld", false);
  app.addHook("preHandler", async (request, reply) => {
    if (!isOfLog(request)) return;
    const why = (await whyUnwritable?.()) ?? null;
    if (why === null) return;
    request.isStoreHeld = true;
    return refuse(reply, HELD_STATUS, `${STORE_HELD}: ${why}`);
  });
  app.addHook("onSend", async (request, reply) => {
    const { url: route } = request.routeOptions;
    // Unauthenticated requests would only fill the log.
    if (audit !== null && isOfLog(request) && request.role !== null && !request.isStoreHeld) {
      const outcome = String(reply.statusCode);
      const path = request.url.split("?", 1)[0] ?? "";
      // Everything that HTTP_VIEW_TOKEN is refused on a route is one kind of refusal.
      const what = request.role === "view" ? route : path;
      try {
        await audit.add({
          timeMs: clock.now(),
          who: whoOf(request),
          person: request.person,
          address: request.clientAddress,
          what: `${request.method} ${what}`,
          detail: request.auditDetail,
          outcome,
        });
      } catch (err) {
        // The change is done; if the disk is full, the log line records it.
        logger.error(
          { err, who: whoOf(request), route },
          "a change could not be written to the audit log",
        );
      }
    }
  });
  serve(app, AUDIT, (request, reply) => {
    if (audit === null) return refuse(reply, 501, "audit: not available in this agent");
    const { limit, before } = request.query;
    const entries = audit.newest(limit, before ?? null);
    const last = entries.length === limit ? entries.at(-1) : undefined;
    return reply.send({ entries, before: last?.entry ?? null });
  });
}

/** A change, which the log records. */
function isOfLog(request: FastifyRequest): boolean {
  const { url: route } = request.routeOptions;
  return route?.startsWith(API_PREFIX) === true && accessTo(request).isChange;
}

/** The token's name; if none was needed, the way the request arrived. */
export function whoOf(request: FastifyRequest): string {
  if (isLocalSocket(request)) return "local socket";
  if (!request.server.isTokenRequired) return "loopback";
  return request.role === "view" ? "HTTP_VIEW_TOKEN" : "HTTP_TOKEN";
}
