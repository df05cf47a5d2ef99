import type { FastifyInstance, FastifyRequest } from "fastify";
import { SETTINGS_BOUNDS } from "../core/command.ts";
import type { BackfillRequest } from "../core/query/ports.ts";
import { DAY, integer, objectOf, type Schema, SENSOR } from "./api-schemas.ts";
import type { HttpParts } from "./parts.ts";
import { problem } from "./problem.ts";

/** A sensor omitted or null: every sensor. */
export const BACKFILL_BODY = objectOf(
  { from: DAY, to: DAY, sensor: { ...SENSOR, type: ["string", "null"] } },
  ["from", "to"],
);
/**
 * The command room checks the fields and limits of contract section 8, names what is wrong, responds as over MQTT and
 * records every command; only what is not a request at all is refused here.
 */
const SETTINGS_BODY = { type: "object", maxProperties: 20 };

/** What the command room accepts, for the OpenAPI document. */
export const SETTINGS_FORM = objectOf(
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
  ["sensor", "IntervalSendData", "Range", "IntervalRMS", "alarm1", "alarm2", "alarm3"],
);

const SETTINGS_REFUSED =
  "sensor settings are not accepted over TCP here: set HTTP_TOKEN or COMMANDS_ENABLED=true, or use gateside settings on this machine";

const DOCTOR_REFUSED =
  "only gateside doctor on this machine may ask for this, over the socket in DATA_DIR";

function whole(name: "IntervalSendData" | "Range" | "IntervalRMS", description: string): Schema {
  const { min, max } = SETTINGS_BOUNDS[name];
  return { ...integer(min, max), description };
}

function alarm(axis: number): Schema {
  const { min, max } = SETTINGS_BOUNDS.alarm;
  const description = `Alarm threshold of axis ${axis}, mm/s.`;
  return { type: "number", minimum: min, maximum: max, description };
}

/** Changing operations: a re-read of past days, and settings for a sensor. */
export function registerCommandsApi(
  app: FastifyInstance,
  parts: Pick<HttpParts, "backfill" | "settings" | "tryPublish">,
  { mayWriteOverTcp }: { readonly mayWriteOverTcp: boolean },
): void {
  app.get("/api/v1/backfill", (_request, reply) =>
    reply.send({ job: parts.backfill?.current() ?? null }),
  );
  app.post<{ Body: Omit<BackfillRequest, "sensor"> & { readonly sensor?: string | null } }>(
    "/api/v1/backfill",
    { schema: { body: BACKFILL_BODY } },
    (request, reply) => {
      if (parts.backfill === null) return unavailable(reply, "backfill");
      const { from, to, sensor } = request.body;
      if (from > to) return reply.code(400).send(problem(400, "from is after to"));
      const start = parts.backfill.start({ from, to, sensor: sensor ?? null });
      if (start.accepted) return reply.code(202).send({ job: start.progress });
      const status = start.reason === "busy" ? 409 : 400;
      return reply.code(status).send(problem(status, start.detail));
    },
  );
  app.post<{ Body: Readonly<Record<string, unknown>> }>(
    "/api/v1/settings",
    { schema: { body: SETTINGS_BODY } },
    async (request, reply) => {
      if (parts.settings === null) return unavailable(reply, "sensor settings");
      if (!mayWriteOverTcp && !isLocalSocket(request)) {
        return reply.code(403).send(problem(403, SETTINGS_REFUSED));
      }
      // 200 for every outcome: `ok` and `outcome` carry it, as over MQTT (contract section 8).
      return reply.send(await parts.settings.execute(request.body));
    },
  );
  app.post("/api/v1/doctor/publish", async (request, reply) => {
    if (!parts.tryPublish) return unavailable(reply, "doctor");
    if (!isLocalSocket(request)) return reply.code(403).send(problem(403, DOCTOR_REFUSED));
    return reply.send({ uplinks: await parts.tryPublish() });
  });
}

/**
 * Only its owner can open the socket in DATA_DIR, and it has no address; a port is open to every program on the machine.
 */
/** A command on this machine. */
export function isLocalSocket({ raw }: FastifyRequest): boolean {
  return raw.socket.remoteAddress === undefined;
}

function unavailable(
  reply: { code(status: number): { send(body: unknown): void } },
  what: string,
): void {
  reply.code(501).send(problem(501, `${what}: not available in this agent`));
}
