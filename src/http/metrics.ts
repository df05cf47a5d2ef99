import type { FastifyInstance } from "fastify";
import type { AgentStatus } from "../core/agent-status.ts";
import { backlogOf } from "../core/delivery/backlog.ts";
import { parseLaneName } from "../core/delivery/lane-plan.ts";
import type { Metrics } from "../lib/metrics.ts";
import { BUSY, type Operation, serve } from "./api-operation.ts";
import type { HttpParts } from "./parts.ts";
import { sensorSeries } from "./sensor-series.ts";
import type { SharedResponses } from "./shared-responses.ts";

/** The times of readings are the gateway's, not our clock's. */
const gatewayNowMs = ({ nowMs, gateway }: AgentStatus): number => nowMs + (gateway.skewMs ?? 0);

/** State gauges are set when they are read, from the same status that people see. */
function refreshGauges(metrics: Metrics, status: AgentStatus): void {
  metrics.gatewayUp.set(status.gateway.isUp ? 1 : 0);
  if (status.gateway.skewMs !== null) metrics.gatewaySkew.set(status.gateway.skewMs / 1000);
  metrics.linkConnected.reset();
  for (const link of status.links) {
    metrics.linkConnected.set({ link: link.name, uplink: link.uplink }, link.isConnected ? 1 : 0);
  }
  const isConnected = status.links.length > 0 && status.links.every((link) => link.isConnected);
  metrics.brokerConnected.set(isConnected ? 1 : 0);
  // Lanes of a removed uplink are removed with it.
  metrics.laneOutbox.reset();
  for (const [name, depth] of Object.entries(status.buffer.lanes)) {
    const parts = parseLaneName(name);
    if (parts !== null) metrics.laneOutbox.set({ ...parts }, depth.readings);
  }
  const { readings, oldestTimeMs } = backlogOf(status.buffer.lanes);
  metrics.outbox.set(readings);
  metrics.outboxOldestAge.set(
    oldestTimeMs === null ? 0 : Math.max(0, (gatewayNowMs(status) - oldestTimeMs) / 1000),
  );
  metrics.certificateExpiry.reset();
  // Of several with one name the first to end, which is set last.
  const certificates = [...status.certificates].sort((a, b) => b.untilMs - a.untilMs);
  for (const { uplink, file, untilMs } of certificates)
    metrics.certificateExpiry.set({ uplink, file }, (untilMs - status.nowMs) / 1000);
  metrics.databaseBytes.set(status.buffer.databaseBytes);
  const { held } = status.buffer;
  metrics.storeHeld.set(held === undefined ? 0 : Math.max(1, (status.nowMs - held.sinceMs) / 1000));
  const { bytes, oldestHourMs, oldestDayMs } = status.buffer.hours;
  metrics.hoursBytes.set(bytes);
  metrics.oldestHour.set(oldestHourMs === null ? Number.NaN : oldestHourMs / 1000);
  metrics.oldestDay.set(oldestDayMs === null ? Number.NaN : oldestDayMs / 1000);
  metrics.keptBytes.set(status.buffer.kept.bytes);
  metrics.keptMeasurements.set(status.buffer.kept.measurements);
  if (status.buffer.diskFreeBytes !== null) metrics.diskFreeBytes.set(status.buffer.diskFreeBytes);
  // Unknown is not a number of hours: a rule `< 24` must not fire on it.
  metrics.hoursUntilFull.set(status.buffer.hoursUntilFull ?? Number.NaN);
  metrics.residentMemory.set(process.memoryUsage.rss());
  metrics.buildInfo.set({ version: status.version, node: process.version }, 1);
}

const METRICS = {
  path: "/metrics",
  method: "get",
  summary: "Prometheus text; every name begins with gateside_.",
  also: BUSY,
  response: "The metrics.",
  schema: null,
  contentType: "text/plain",
} as const satisfies Operation;

export const METRICS_OPERATIONS: readonly Operation[] = [METRICS];

export function registerMetrics(
  app: FastifyInstance,
  parts: Pick<HttpParts, "loopDelay" | "metricText" | "metrics" | "status">,
  responses: SharedResponses,
): void {
  const { loopDelay, metricText, metrics, status } = parts;
  const scrape = async () => {
    const now = status.status();
    metrics.registry.setDefaultLabels({ site: now.site });
    refreshGauges(metrics, now);
    for (const { quantile, seconds } of loopDelay.quantiles())
      metrics.eventLoopDelay.set({ quantile }, seconds);
    const text = await metrics.registry.metrics();
    const sensors = await sensorSeries(now.site, now.sensors, gatewayNowMs(now));
    // The text format uses `NaN`; prom-client writes `Nan`.
    return `${text.replaceAll(" Nan\n", " NaN\n")}\n${sensors}${await metricText(now.site)}`;
  };
  serve(app, METRICS, (request, reply) =>
    responses.send(request, reply.type(metrics.registry.contentType), "metrics", scrape),
  );
}
