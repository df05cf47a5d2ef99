import type { FastifyInstance } from "fastify";
import { currentFaults } from "../core/query/faults.ts";
import { registerAlarmsApi } from "./api-alarms.ts";
import { registerBackupApi } from "./api-backup.ts";
import { registerCommandsApi } from "./api-commands.ts";
import { registerConfigurationApi } from "./api-configuration.ts";
import { apiOperations } from "./api-document.ts";
import { registerLogApi } from "./api-log.ts";
import { registerMachinesApi } from "./api-machines.ts";
import { registerMeasurementsApi } from "./api-measurements.ts";
import { registerReadingsApi } from "./api-readings.ts";
import { GAPS_QUERY } from "./api-schemas.ts";
import { registerSensorsApi } from "./api-sensors.ts";
import { registerSetupApi } from "./api-setup.ts";
import { registerWaveformApi } from "./api-waveforms.ts";
import { registerLiveEvents } from "./live-events.ts";
import type { HttpOptions, HttpParts } from "./parts.ts";
import { isGone, type SharedResponses, tooMany } from "./shared-responses.ts";

const API = "/api/v1";
const JSON_UTF8 = "application/json; charset=utf-8";

/** `/api/v1`: the JSON behind the dashboard, also for scripts. Described by /api/v1/openapi.json and docs/api.md. */
export function registerApi(
  app: FastifyInstance,
  parts: HttpParts,
  options: HttpOptions,
  responses: SharedResponses,
): void {
  const document = apiOperations(options.version);
  app.addHook("onSend", (request, reply, _payload, done) => {
    if (request.url.startsWith(API)) reply.header("cache-control", "no-store");
    done();
  });
  const statusJson = () => {
    const status = parts.status.status();
    return {
      ...status,
      faults: currentFaults(status, parts.site.current).length,
      alarms: parts.alarms?.counts() ?? null,
      setup: parts.setup !== null,
    };
  };
  app.get(`${API}/openapi.json`, ({ base }, reply) =>
    // Served by the agent that it describes.
    reply.send({ ...document, servers: [{ url: base, description: "This agent." }] }),
  );
  const large = (path: string, make: () => unknown) =>
    app.get(`${API}/${path}`, async (request, reply) => {
      const text = await responses.compute(path, isGone(request), () => JSON.stringify(make()));
      return text === null ? tooMany(reply) : reply.type(JSON_UTF8).send(text);
    });
  large("status", statusJson);
  large("faults", () => ({ faults: currentFaults(parts.status.status(), parts.site.current) }));
  app.get<{ Querystring: { limit: number } }>(
    `${API}/gaps`,
    { schema: { querystring: GAPS_QUERY } },
    (request, reply) => reply.send({ gaps: parts.gaps.recent(request.query.limit) }),
  );
  registerSensorsApi(app, parts, responses);
  registerReadingsApi(app, parts);
  registerWaveformApi(app, parts);
  registerMeasurementsApi(app, parts, options);
  const mayWriteOverTcp = options.token !== null || options.commandsEnabled !== false;
  registerCommandsApi(app, parts, { mayWriteOverTcp });
  registerConfigurationApi(app, parts);
  registerAlarmsApi(app, parts);
  registerMachinesApi(app, parts, options, responses);
  registerSetupApi(app, parts);
  registerBackupApi(app, parts);
  registerLogApi(app, parts);
  registerLiveEvents(app, parts, statusJson);
}
