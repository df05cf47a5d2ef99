import type { FastifyInstance } from "fastify";
import type { BackfillRequest } from "../core/query/ports.ts";
import { DAY, objectOf, SENSOR } from "./api-schemas.ts";
import type { HttpParts } from "./parts.ts";
import { problem } from "./problem.ts";

/** A sensor left out or null: every sensor. */
export const BACKFILL_BODY = objectOf(
  { from: DAY, to: DAY, sensor: { ...SENSOR, type: ["string", "null"] } },
  ["from", "to"],
);
/** The fields and bounds of contract 8 are checked by the command room, which also says what is wrong with them. */
export const SETTINGS_BODY = { type: "object", maxProperties: 20 };

/** What changes something: a re-read of past days, and settings for a sensor. */
export function registerCommandsApi(
  app: FastifyInstance,
  parts: Pick<HttpParts, "backfill" | "settings">,
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
      // 200 for every outcome: `ok` and `outcome` tell, as over MQTT (contract 8).
      return reply.send(await parts.settings.execute(request.body));
    },
  );
}

function unavailable(
  reply: { code(status: number): { send(body: unknown): void } },
  what: string,
): void {
  reply.code(501).send(problem(501, `${what}: not available in this agent`));
}
