import type { FastifyInstance, FastifyReply } from "fastify";
import { currentFaults } from "../core/query/faults.ts";
import { registerCommandsApi } from "./api-commands.ts";
import { apiOperations } from "./api-document.ts";
import { registerReadingsApi } from "./api-readings.ts";
import { GAPS_QUERY } from "./api-schemas.ts";
import { registerSensorsApi } from "./api-sensors.ts";
import { registerWaveformApi } from "./api-waveforms.ts";
import { registerLiveEvents } from "./live-events.ts";
import type { HttpOptions, HttpParts } from "./parts.ts";

export const API = "/api/v1";

/** `/api/v1`: the JSON behind the dashboard, also for scripts. Described by /api/v1/openapi.json and docs/api.md. */
export function registerApi(app: FastifyInstance, parts: HttpParts, options: HttpOptions): void {
  const document = apiOperations(options.version);
  app.addHook("onSend", (request, reply, _payload, done) => {
    if (request.url.startsWith(API)) reply.header("cache-control", "no-store");
    done();
  });
  const statusJson = () => {
    const status = parts.status.status();
    return { ...status, faults: currentFaults(status, parts.site).length };
  };
  app.get(`${API}/openapi.json`, (_request, reply) => reply.send(document));
  app.get(`${API}/status`, (_request, reply) => reply.send(statusJson()));
  app.get(`${API}/faults`, (_request, reply) =>
    reply.send({ faults: currentFaults(parts.status.status(), parts.site) }),
  );
  app.get<{ Querystring: { limit: number } }>(
    `${API}/gaps`,
    { schema: { querystring: GAPS_QUERY } },
    (request, reply) => reply.send({ gaps: parts.gaps.recent(request.query.limit) }),
  );
  registerSensorsApi(app, parts);
  registerReadingsApi(app, parts);
  registerWaveformApi(app, parts);
  registerCommandsApi(app, parts);
  registerLiveEvents(app, parts, statusJson);
}

/** JSON that is text already. */
export function sendJsonText(reply: FastifyReply, text: string): FastifyReply {
  return reply.type("application/json; charset=utf-8").send(text);
}
