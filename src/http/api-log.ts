import type { FastifyInstance } from "fastify";
import type { LogLevel } from "../core/log-view.ts";
import { choice, integer, objectOf, text } from "./api-schemas.ts";
import type { HttpParts } from "./parts.ts";
import { problem } from "./problem.ts";

interface LogRequest {
  readonly level: LogLevel;
  readonly q?: string;
  readonly after?: number;
  readonly limit: number;
  readonly format: "json" | "jsonl";
}

/** Of the lines that memory holds. */
const LIMIT_MAX = 5_000;
const DEBUG_MINUTES = 15;

export const LOG_QUERY = objectOf({
  level: choice(["debug", "info", "warn", "error"], "debug"),
  q: text(100, "Part of the line; any letter case."),
  after: {
    ...integer(0, Number.MAX_SAFE_INTEGER),
    description: "`last` of the previous response: only newer lines.",
  },
  limit: integer(1, LIMIT_MAX, 500),
  format: choice(["json", "jsonl"], "json"),
});

export const DEBUG_BODY = objectOf({
  minutes: {
    ...integer(0, DEBUG_MINUTES, DEBUG_MINUTES),
    description: "0 ends it.",
  },
});

/** The newest lines of the agent's log, for `HTTP_TOKEN` alone. */
export function registerLogApi(
  app: FastifyInstance,
  { log = null, site }: Pick<HttpParts, "log" | "site">,
): void {
  const missing = problem(501, "log: not available in this agent");
  app.get<{ Querystring: LogRequest }>(
    "/api/v1/log",
    { schema: { querystring: LOG_QUERY } },
    (request, reply) => {
      if (log === null) return reply.code(501).send(missing);
      const { level, q = "", after = null, limit, format } = request.query;
      const isFile = format === "jsonl";
      const page = log.page({ level, text: q, after, limit: isFile ? LIMIT_MAX : limit });
      if (isFile) {
        const name = `gateside-${site.current.site.replace(/[^\w.-]+/g, "_")}-log.jsonl`;
        return reply
          .header("content-disposition", `attachment; filename="${name}"`)
          .type("application/x-ndjson; charset=utf-8")
          .send(page.lines.map((line) => `${line.text}\n`).join(""));
      }
      const { level: inEffect, debugUntilMs } = log;
      const { last, dropped } = page;
      const head = JSON.stringify({ level: inEffect, debugUntilMs, last, dropped });
      const lines = page.lines.map((line) => line.text).join(",");
      return reply
        .type("application/json; charset=utf-8")
        .send(`${head.slice(0, -1)},"lines":[${lines}]}`);
    },
  );
  app.post<{ Body: { readonly minutes: number } }>(
    "/api/v1/log/debug",
    { schema: { body: DEBUG_BODY } },
    (request, reply) => {
      if (log === null) return reply.code(501).send(missing);
      const { minutes } = request.body;
      request.auditDetail = minutes === 0 ? "ended" : `${minutes} minutes`;
      log.debugFor(minutes);
      return reply.send({ level: log.level, debugUntilMs: log.debugUntilMs });
    },
  );
}
