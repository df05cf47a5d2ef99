import type { FastifyInstance } from "fastify";
import { isUnnamed } from "../../core/empty-site.ts";
import { input, OBJECT, type Schema } from "../../core/schema.ts";
import { POLLED_KINDS } from "../../core/sensor.ts";
import {
  ADDRESS_REPORTS,
  type FileEditing,
  isRefusal,
  PROBE_REPORT,
  SETUP_SCHEMAS,
  SETUP_VIEW,
} from "../../core/setup.ts";
import { type Operation, SETUP_OFF, serve, setupOff } from "../../http/api-operation.ts";
import { choice, DAY } from "../../http/api-schemas.ts";
import type { HttpParts } from "../../http/parts.ts";
import { refuseTrial, SENSOR_ENTRY, TRY_REFUSED } from "../../http/trial.ts";
import { registerSetupFiles } from "./api-setup-files.ts";

const POLLED_KIND = choice(POLLED_KINDS);

const UPLINK_ENTRY: Schema<{ readonly name?: unknown }> = {
  ...OBJECT,
  description: "An uplink as in the uplinks file.",
};
const SETUP = {
  path: "/api/v1/setup",
  method: "get",
  summary: "What can be set up here, and what prevents a save.",
  also: SETUP_OFF,
  response: "The two files.",
  schema: SETUP_VIEW,
} as const satisfies Operation;

const SCHEMAS = {
  path: "/api/v1/setup/schemas",
  method: "get",
  summary: "The published schemas of both files. The forms are generated from them.",
  also: SETUP_OFF,
  response: "JSON Schemas.",
  schema: SETUP_SCHEMAS,
} as const satisfies Operation;

const PROBE = {
  path: "/api/v1/setup/probe",
  method: "post",
  summary:
    "Reads one day of a sensor that need not be in the site file. Nothing is stored or published.",
  body: input(
    {
      sensor: SENSOR_ENTRY,
      kind: POLLED_KIND,
      date: DAY,
    },
    ["sensor", "kind"],
  ),
  also: TRY_REFUSED,
  response:
    "The newest reading and the messages it would become, or the reason why nothing was read.",
  schema: PROBE_REPORT,
} as const satisfies Operation;

const TRY_UPLINK = {
  path: "/api/v1/setup/uplinks/test",
  method: "post",
  summary:
    "Opens and closes one session at each address of an uplink that need not be in the uplinks file.",
  body: input({ uplink: UPLINK_ENTRY }, ["uplink"]),
  also: TRY_REFUSED,
  response: "The result for each address.",
  schema: ADDRESS_REPORTS,
} as const satisfies Operation;

export const SETUP_OPERATIONS: readonly Operation[] = [SETUP, SCHEMAS, PROBE, TRY_UPLINK];

/** Set-up over HTTP (plant section 12). Everything here is 403 while SETUP_ENABLED is false. */
export function registerSetupApi(
  app: FastifyInstance,
  parts: Pick<HttpParts, "setup" | "site">,
): void {
  const { setup, site } = parts;
  serve(app, SETUP, (request, reply) => {
    if (setup === null) return setupOff(reply);
    const about = ({ path, trouble }: FileEditing) => ({ path, trouble });
    return reply.send({
      isNamed: !isUnnamed(site.current),
      sensors: site.current.sensors.length,
      mayChange: request.role === "all",
      site: about(setup.site),
      uplinks: setup.uplinks && about(setup.uplinks),
    });
  });
  serve(app, SCHEMAS, (_request, reply) =>
    setup === null ? setupOff(reply) : reply.send(setup.schemas),
  );
  registerSetupFiles(app, parts);
  registerTrials(app, parts);
}

/** Tests before saving. */
function registerTrials(app: FastifyInstance, { setup }: Pick<HttpParts, "setup">): void {
  serve(app, PROBE, async (request, reply) => {
    if (setup === null) return setupOff(reply);
    const { sensor, kind, date } = request.body;
    request.auditDetail = `${String(sensor.code).slice(0, 64)} ${kind}`;
    const report = await setup.probe(sensor, kind, date ?? null);
    return isRefusal(report) ? refuseTrial(reply, report) : reply.send(report);
  });
  serve(app, TRY_UPLINK, async (request, reply) => {
    if (setup === null) return setupOff(reply);
    const { uplink } = request.body;
    request.auditDetail = String(uplink.name).slice(0, 64);
    const tried = await setup.tryUplink(uplink);
    return isRefusal(tried) ? refuseTrial(reply, tried) : reply.send({ addresses: tried });
  });
}
