import type { FastifyInstance, FastifyReply } from "fastify";
import { PUBLISH_TRIAL } from "../core/agent-status.ts";
import { SETTINGS_BOUNDS } from "../core/command.ts";
import { BACKFILL_PROGRESS, SETTINGS_OUTCOME } from "../core/query/ports.ts";
import { input, list, object, orNull, type Schema } from "../core/schema.ts";
import { type Operation, serve } from "./api-operation.ts";
import { DAY, integer, SENSOR } from "./api-schemas.ts";
import { isLocalSocket } from "./local-socket.ts";
import type { HttpParts } from "./parts.ts";
import { refuse } from "./problem.ts";

/**
 * The command room checks the fields and limits of contract section 8, names what is wrong, responds as over MQTT and
 * records every command; only what is not a request at all is refused here.
 */
const ANY_SETTINGS: Schema<Readonly<Record<string, unknown>>> = {
  type: "object",
  maxProperties: 20,
};

const SETTINGS_REFUSED =
  "sensor settings are not accepted over TCP here: set HTTP_TOKEN or COMMANDS_ENABLED=true, or use gateside settings on this machine";

const DOCTOR_REFUSED =
  "only gateside doctor on this machine may ask for this, over the socket in DATA_DIR";

function whole(
  name: "IntervalSendData" | "Range" | "IntervalRMS",
  description: string,
): Schema<number> {
  const { min, max } = SETTINGS_BOUNDS[name];
  return { ...integer(min, max), description };
}

function alarm(axis: number): Schema<number> {
  const { min, max } = SETTINGS_BOUNDS.alarm;
  const description = `Alarm threshold of axis ${axis}, mm/s.`;
  return { type: "number", minimum: min, maximum: max, description };
}

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

const SETTINGS_FIELDS = [
  "sensor",
  "IntervalSendData",
  "Range",
  "IntervalRMS",
  "alarm1",
  "alarm2",
  "alarm3",
] as const;

const SEND_SETTINGS = {
  path: "/api/v1/settings",
  method: "post",
  summary:
    "Queues settings for a sensor on the gateway. A request that violates the schema gets the outcome `rejected_local` and is recorded.",
  body: input(
    {
      sensor: {
        type: ["string", "integer"],
        pattern: "^\\s*\\d{1,15}\\s*$",
        minimum: 0,
        maximum: 999_999_999_999_999,
        description: "Serial number of a sensor in the site file.",
      },
      IntervalSendData: whole("IntervalSendData", "Minutes between full data sends."),
      Range: whole("Range", "Measuring range, G; the gateway knows which ones the sensor has."),
      IntervalRMS: whole("IntervalRMS", "Seconds between alarm checks."),
      alarm1: alarm(1),
      alarm2: alarm(2),
      alarm3: alarm(3),
    },
    SETTINGS_FIELDS,
  ),
  accepts: ANY_SETTINGS,
  also: { 501: "Not available in this agent." },
  response: "The outcome, including that of a refusal. `queued` does not mean applied.",
  schema: SETTINGS_OUTCOME,
} as const satisfies Operation;

export const COMMANDS_OPERATIONS: readonly Operation[] = [
  TRY_PUBLISH,
  BACKFILL,
  START_BACKFILL,
  SEND_SETTINGS,
];

/** The settings that a request names, for the audit log; nothing else of it, which may be anything. */
function settingsIn(body: Readonly<Record<string, unknown>>): string {
  return SETTINGS_FIELDS.filter((name) =>
    /^\s*-?\d+(?:\.\d+)?\s*$/.test(String(body[name]).slice(0, 20)),
  )
    .map((name) => `, ${name} ${String(body[name]).trim()}`)
    .join("");
}

/** Changing operations: a re-read of past days, and settings for a sensor. */
export function registerCommandsApi(
  app: FastifyInstance,
  parts: Pick<HttpParts, "backfill" | "settings" | "tryPublish">,
  { mayWriteOverTcp }: { readonly mayWriteOverTcp: boolean },
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
  serve(app, SEND_SETTINGS, async (request, reply) => {
    if (parts.settings === null) return unavailable(reply, "sensor settings");
    if (!mayWriteOverTcp && !isLocalSocket(request)) {
      return refuse(reply, 403, SETTINGS_REFUSED);
    }
    // 200 for every outcome: `ok` and `outcome` carry it, as over MQTT (contract section 8).
    const result = await parts.settings.execute(request.body);
    request.auditDetail = `${result.outcome}${settingsIn(request.body)}`;
    return reply.send(result);
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
