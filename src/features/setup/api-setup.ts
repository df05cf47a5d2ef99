/** What can be set up here, and tests before saving, while SETUP_ENABLED is true. */
import { isUnnamed } from "../../core/configuration/empty-site.ts";
import { isRefusal } from "../../core/configuration/setup.ts";
import type { SiteSource } from "../../core/site-source.ts";
import { type ServedOperation, served } from "../../http/api-operation.ts";
import { refuseTrial } from "../../http/trial.ts";
import type { Setup } from "./actions.ts";
import { setupFiles } from "./api-setup-files.ts";
import type { FileEditor } from "./file-editor.ts";
import { PROBE, SCHEMAS, SETUP, TRY_UPLINK } from "./operations.ts";

export function setupOperations(setup: Setup, site: SiteSource): readonly ServedOperation[] {
  const about = ({ path, trouble }: FileEditor) => ({ path, trouble });
  return [
    served(SETUP, (request, reply) =>
      reply.send({
        isNamed: !isUnnamed(site.current),
        sensors: site.current.sensors.length,
        mayChange: request.role === "all",
        site: about(setup.site),
        uplinks: setup.uplinks && about(setup.uplinks),
      }),
    ),
    served(SCHEMAS, (_request, reply) => reply.send(setup.schemas)),
    served(PROBE, async (request, reply) => {
      const { sensor, kind, date } = request.body;
      request.auditDetail = `${String(sensor.code).slice(0, 64)} ${kind}`;
      const report = await setup.probe(sensor, kind, date ?? null);
      return isRefusal(report) ? refuseTrial(reply, report) : reply.send(report);
    }),
    served(TRY_UPLINK, async (request, reply) => {
      const { uplink } = request.body;
      request.auditDetail = String(uplink.name).slice(0, 64);
      const tried = await setup.tryUplink(uplink);
      return isRefusal(tried) ? refuseTrial(reply, tried) : reply.send({ addresses: tried });
    }),
    ...setupFiles(setup),
  ];
}
