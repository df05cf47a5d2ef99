import type { FastifyInstance } from "fastify";
import { input } from "../core/schema.ts";
import { LOG_STATE, SHOWN_LOG } from "../core/status/log-view.ts";
import { type Operation, serve } from "./api-operation.ts";
import { choice, integer, text } from "./api-schemas.ts";
import type { HttpParts } from "./parts.ts";
import { refuse } from "./problem.ts";
import { JSON_UTF8 } from "./shared-responses.ts";

/** Of the lines that memory holds. */
const LIMIT_MAX = 5_000;
const DEBUG_MINUTES = 15;

const LOG = {
  path: "/api/v1/log",
  method: "get",
  role: "all",
  summary:
    "The newest 5,000 lines or 2 MB of the agent's log since its start, secrets masked. For HTTP_TOKEN alone.",
  query: input({
    level: choice(["debug", "info", "warn", "error"], "debug"),
    q: text(100, "Part of the line; any letter case."),
    after: {
      ...integer(0, Number.MAX_SAFE_INTEGER),
      description: "`last` of the previous response: only newer lines.",
    },
    limit: integer(1, LIMIT_MAX, 500),
    format: choice(["json", "jsonl"], "json"),
  }),
  also: { 501: "Not available in this agent." },
  response: "Lines, oldest first; with `format=jsonl` a file of them.",
  otherType: "application/x-ndjson",
  schema: SHOWN_LOG,
} as const satisfies Operation;

const DEBUG = {
  path: "/api/v1/log/debug",
  method: "post",
  summary: "Logs at level debug for up to 15 minutes; 0 ends that. Audited.",
  body: input({
    minutes: {
      ...integer(0, DEBUG_MINUTES, DEBUG_MINUTES),
      description: "0 ends it.",
    },
  }),
  also: { 501: "Not available in this agent." },
  response: "The level in effect.",
  schema: LOG_STATE,
} as const satisfies Operation;

export const LOG_OPERATIONS: readonly Operation[] = [LOG, DEBUG];

/** The newest lines of the agent's log, for `HTTP_TOKEN` alone. */
export function registerLogApi(
  app: FastifyInstance,
  { log = null, site }: Pick<HttpParts, "log" | "site">,
): void {
  const missing = "log: not available in this agent";
  serve(app, LOG, (request, reply) => {
    if (log === null) return refuse(reply, 501, missing);
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
    return reply.type(JSON_UTF8).send(`${head.slice(0, -1)},"lines":[${lines}]}`);
  });
  serve(app, DEBUG, (request, reply) => {
    if (log === null) return refuse(reply, 501, missing);
    const { minutes } = request.body;
    request.auditDetail = minutes === 0 ? "ended" : `${minutes} minutes`;
    log.debugFor(minutes);
    return reply.send({ level: log.level, debugUntilMs: log.debugUntilMs });
  });
}
