import type { FastifyInstance } from "fastify";
import { MACHINE_FINDINGS, REPORT } from "../core/diagnosis/shown.ts";
import { PRESETS, READ_UNITS } from "../core/read-units.ts";
import { input } from "../core/schema.ts";
import { DAY_MS } from "../core/time-units.ts";
import { MACHINES } from "../features/condition/rules/shown.ts";
import { reportDocument } from "../features/report/rules/document.ts";
import { ALARMS_OFF, MACHINE_ID, type Operation, serve } from "./api-operation.ts";
import { choice, INSTANT, instantMs } from "./api-schemas.ts";
import { gatherReport } from "./machine-report.ts";
import type { HttpOptions, HttpParts } from "./parts.ts";
import { refuse } from "./problem.ts";
import type { SharedResponses } from "./shared-responses.ts";

const REPORT_MS = 30 * DAY_MS;

const FINDINGS_OFF = "findings are off: ALARMS_ENABLED is false";

const MACHINE_LIST = {
  path: "/api/v1/machines",
  method: "get",
  summary:
    "Machines of the site file with state, speed and number of active findings; with `sort=worst` every machine with its condition, worst first.",
  query: input({
    sort: {
      ...choice(["worst"]),
      description: "Every machine with its condition, worst first; also while alarms are disabled.",
    },
  }),
  also: ALARMS_OFF,
  response: "The machines.",
  schema: MACHINES,
} as const satisfies Operation;

const REPORT_PAGE = {
  path: "/api/v1/machines/{id}/report",
  method: "get",
  summary:
    "The report on a machine as one HTML document. Without a time range, the last 30 days. Units of single quantities replace those of `units`.",
  params: MACHINE_ID,
  query: input({
    from: INSTANT,
    to: INSTANT,
    units: choice(["metric", "us"], "metric"),
    velocity: choice(READ_UNITS.velocity),
    displacement: choice(READ_UNITS.displacement),
    acceleration: choice(READ_UNITS.acceleration),
    temperature: choice(READ_UNITS.temperature),
    frequency: choice(READ_UNITS.frequency),
  }),
  also: { 404: "No machine of this id." },
  response: "Its title, and the document: inline SVG, no script, nothing loaded.",
  schema: REPORT,
} as const satisfies Operation;

const FINDING_LIST = {
  path: "/api/v1/machines/{id}/findings",
  method: "get",
  summary: "Findings of a machine with their evidence, and the faults that could not be checked.",
  params: MACHINE_ID,
  also: { 404: "There is no machine with this id.", ...ALARMS_OFF },
  response: "Active findings, and what was checked on each sensor.",
  schema: MACHINE_FINDINGS,
} as const satisfies Operation;

export const MACHINES_OPERATIONS: readonly Operation[] = [MACHINE_LIST, REPORT_PAGE, FINDING_LIST];

/** Machines, their conditions and findings. Only the list by condition responds while alarms are disabled. */
export function registerMachinesApi(
  app: FastifyInstance,
  parts: HttpParts,
  options: Pick<HttpOptions, "timezone" | "version">,
  responses: SharedResponses,
): void {
  const { findings } = parts;
  serve(app, MACHINE_LIST, async (request, reply) => {
    if (request.query.sort === undefined)
      return findings === null
        ? refuse(reply, 501, FINDINGS_OFF)
        : reply.send({ machines: findings.machines() });
    return responses.send(request, reply, "machines worst", async () =>
      JSON.stringify({ machines: await parts.conditions.worstFirst() }),
    );
  });
  serve(app, REPORT_PAGE, async (request, reply) => {
    const { id } = request.params;
    const { from, to, units: preset, ...single } = request.query;
    const toMs = instantMs(to, parts.gatewayNow());
    const fromMs = toMs === null ? null : instantMs(from, toMs - REPORT_MS);
    if (toMs === null || fromMs === null || fromMs >= toMs)
      return refuse(reply, 400, "from and to: two times, the first one earlier");
    const units = { ...PRESETS[preset], ...single };
    const found = await gatherReport(parts, options, { id, fromMs, toMs, units });
    if (found !== null) return reply.send(reportDocument(found));
    return refuse(reply, 404, `the site file has no machine ${id}`);
  });
  serve(app, FINDING_LIST, (request, reply) => {
    if (findings === null) return refuse(reply, 501, FINDINGS_OFF);
    const { id } = request.params;
    const found = findings.findingsOf(id);
    if (found !== null) return reply.send(found);
    return refuse(reply, 404, `the site file has no machine ${id}`);
  });
}
