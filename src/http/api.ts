import type { FastifyInstance } from "fastify";
import { registerCommandsApi } from "./api-commands.ts";
import { registerConfigurationApi } from "./api-configuration.ts";
import { apiOperations } from "./api-document.ts";
import { registerLogApi } from "./api-log.ts";
import { registerMeasurementsApi } from "./api-measurements.ts";
import { registerReadingsApi } from "./api-readings.ts";
import { registerSensorsApi } from "./api-sensors.ts";
import { registerStatusApi, shownStatus } from "./api-status.ts";
import { registerWaveformApi } from "./api-waveforms.ts";
import { registerLiveEvents } from "./live-events.ts";
import type { HttpOptions, HttpParts } from "./parts.ts";
import type { SharedResponses } from "./shared-responses.ts";

const API = "/api/v1";

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
  app.get(`${API}/openapi.json`, ({ base }, reply) =>
    // Served by the agent that it describes.
    reply.send({ ...document, servers: [{ url: base, description: "This agent." }] }),
  );
  registerStatusApi(app, parts, responses);
  registerSensorsApi(app, parts, responses);
  registerReadingsApi(app, parts);
  registerWaveformApi(app, parts);
  registerMeasurementsApi(app, parts, options);
  registerCommandsApi(app, parts);
  registerConfigurationApi(app, parts);
  registerLogApi(app, parts);
  for (const operation of parts.operations) operation.add(app, responses);
  registerLiveEvents(app, parts, () => shownStatus(parts));
}
