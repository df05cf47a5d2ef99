import type { FastifyInstance, FastifyReply } from "fastify";
import { PUBLISH_TRIAL } from "../core/agent-status.ts";
import { BACKFILL_PROGRESS } from "../core/query/ports.ts";
import { input, list, object, orNull, type Schema } from "../core/schema.ts";
import { type Operation, serve } from "./api-operation.ts";
import { DAY, SENSOR } from "./api-schemas.ts";
import { isLocalSocket } from "./local-socket.ts";
import type { HttpParts } from "./parts.ts";
import { refuse } from "./problem.ts";

const DOCTOR_REFUSED =
  "only gateside doctor on this machine may ask for this, over the socket in DATA_DIR";

const BACKFILL_JOB = object({ job: orNull(BACKFILL_PROGRESS) });

const TRY_PUBLISH = {
  path: "/api/v1/doctor/publish",
  method: "post",
  summary:
    "Publishes {} to agent/state/doctor on every uplink, for gateside doctor on this machine.",
  also: { 403: "Not over the socket in DATA_DIR.", 501: "Not available in this agent." },
  response: "How the publish of each session ended, and what its broker refuses.",
  schema: object({ uplinks: list(PUBLISH_TRIAL) }),
} as const satisfies Operation;

const BACKFILL = {
  path: "/api/v1/backfill",
  method: "get",
  summary: "The running or most recent backfill.",
  response: "The job; null before the first one.",
  schema: BACKFILL_JOB,
} as const satisfies Operation;

/** Omitted or null: every sensor. */
const ANY_SENSOR: Schema<string | null> = { ...SENSOR, type: ["string", "null"] };
const START_BACKFILL = {
  path: "/api/v1/backfill",
  method: "post",
  summary: "Starts a backfill, which reads days again. Nothing is stored or sent twice.",
  body: input({ from: DAY, to: DAY, sensor: ANY_SENSOR }, ["from", "to"]),
  status: 202,
  also: {
    400: "A day or sensor cannot be read.",
    409: "One is running.",
    501: "Not available in this agent.",
  },
  response: "The job; null before the first one.",
  schema: BACKFILL_JOB,
} as const satisfies Operation;

export const COMMANDS_OPERATIONS: readonly Operation[] = [TRY_PUBLISH, BACKFILL, START_BACKFILL];

/** A re-read of past days, and the publishes of `doctor`. */
export function registerCommandsApi(
  app: FastifyInstance,
  parts: Pick<HttpParts, "backfill" | "tryPublish">,
): void {
  serve(app, BACKFILL, (_request, reply) => reply.send({ job: parts.backfill?.current() ?? null }));
  serve(app, START_BACKFILL, (request, reply) => {
    if (parts.backfill === null) return unavailable(reply, "backfill");
    const { from, to, sensor } = request.body;
    if (from > to) return refuse(reply, 400, "from is after to");
    const start = parts.backfill.start({ from, to, sensor: sensor ?? null });
    if (start.accepted) return reply.code(202).send({ job: start.progress });
    const status = start.reason === "busy" ? 409 : 400;
    return refuse(reply, status, start.detail);
  });
  serve(app, TRY_PUBLISH, async (request, reply) => {
    if (!parts.tryPublish) return unavailable(reply, "doctor");
    if (!isLocalSocket(request)) return refuse(reply, 403, DOCTOR_REFUSED);
    return reply.send({ uplinks: await parts.tryPublish() });
  });
}

function unavailable(reply: FastifyReply, what: string): FastifyReply {
  return refuse(reply, 501, `${what}: not available in this agent`);
}
