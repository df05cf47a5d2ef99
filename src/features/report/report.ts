import { PRESETS } from "../../core/read-units.ts";
import { DAY_MS } from "../../core/time-units.ts";
import { served } from "../../http/api-operation.ts";
import { instantMs } from "../../http/api-schemas.ts";
import { refuse } from "../../http/problem.ts";
import type { Feature } from "../feature.ts";
import { gatherReport, type ReportedParts, type ReportSources } from "./gather.ts";
import { reportDocument } from "./rules/document.ts";
import { REPORT_PAGE } from "./spec.ts";

const REPORT_MS = 30 * DAY_MS;

export function createReport(
  host: Omit<ReportSources, keyof ReportedParts>,
  reported: ReportedParts,
): Feature {
  return {
    serve: [
      served(REPORT_PAGE, async (request, reply) => {
        const { id } = request.params;
        const { from, to, units: preset, ...single } = request.query;
        const toMs = instantMs(to, host.gatewayNow());
        const fromMs = toMs === null ? null : instantMs(from, toMs - REPORT_MS);
        if (toMs === null || fromMs === null || fromMs >= toMs)
          return refuse(reply, 400, "from and to: two times, the first one earlier");
        const units = { ...PRESETS[preset], ...single };
        const found = await gatherReport({ ...host, ...reported }, { id, fromMs, toMs, units });
        if (found !== null) return reply.send(reportDocument(found));
        return refuse(reply, 404, `the site file has no machine ${id}`);
      }),
    ],
  };
}
