import type { FastifyInstance, FastifyReply } from "fastify";
import { isUnnamed } from "../core/empty-site.ts";
import { POLLED_KINDS, type PolledKind } from "../core/sensor.ts";
import type { DiscoveryHints, DiscoveryRequest, FileEditing, Refused } from "../core/setup.ts";
import { choice, DAY, objectOf, type Schema, text } from "./api-schemas.ts";
import { registerSiteFile, registerUplinksFile, setupOff } from "./api-setup-files.ts";
import type { HttpParts } from "./parts.ts";
import { problem } from "./problem.ts";
import { shallowBody } from "./shallow-body.ts";

const POLLED_KIND = choice(POLLED_KINDS);
export const PROBE_BODY = objectOf(
  {
    sensor: { type: "object", description: "A sensor as in the site file." },
    kind: POLLED_KIND,
    date: DAY,
  },
  ["sensor", "kind"],
);
export const PROBE_STATES_BODY = objectOf(
  { sensor: { type: "object", description: "A sensor as in the site file." } },
  ["sensor"],
);
export const TRY_BODY = objectOf(
  { uplink: { type: "object", description: "An uplink as in the uplinks file." } },
  ["uplink"],
);
/** The password is sent to the login of that service and is not stored. */
export const DISCOVER_BODY = objectOf(
  {
    url: {
      ...text(2048, "Base address of the analytics service."),
      pattern: "^https?://[^/@\\s?#]+(/[^@\\s?#]*)?$",
    },
    email: text(320),
    password: text(1024),
    wireWord: {
      ...text(64, "WIRE_WORD of that service; this agent's by default."),
      pattern: "^[A-Za-z]+$",
    },
  },
  ["url", "email", "password"],
);
const LOOP: Schema = objectOf(
  { unit: text(32), low: { type: "number" }, high: { type: "number" } },
  ["unit", "low", "high"],
);
export const DRAFT_BODY = objectOf({
  kinds: {
    type: "object",
    description: "Kinds by sensor type code.",
    maxProperties: 1000,
    propertyNames: { pattern: "^\\d{1,10}$" },
    additionalProperties: { type: "array", maxItems: POLLED_KINDS.length, items: POLLED_KIND },
  },
  clamp: choice([50, 100, 250, 500]),
  loop: LOOP,
});

const NO_ADDRESS = {
  place: "url",
  problem: "is not an address",
  remedy: "check its host and its port, which is at most 65535",
} as const;

/** Set-up over HTTP (plant section 12). Everything here is 403 while SETUP_ENABLED is false. */
export function registerSetupApi(
  app: FastifyInstance,
  parts: Pick<HttpParts, "setup" | "site">,
): void {
  const { setup, site } = parts;
  app.get("/api/v1/setup", (request, reply) => {
    if (setup === null) return setupOff(reply) ?? reply;
    const about = (file: FileEditing | null) => file && { path: file.path, trouble: file.trouble };
    return reply.send({
      isNamed: !isUnnamed(site.current),
      sensors: site.current.sensors.length,
      mayChange: request.role === "all",
      site: about(setup.site),
      uplinks: about(setup.uplinks),
    });
  });
  app.get("/api/v1/setup/schemas", (_request, reply) =>
    setup === null ? (setupOff(reply) ?? reply) : reply.send(setup.schemas),
  );
  registerSiteFile(app, parts);
  registerUplinksFile(app, parts);
  registerTrials(app, parts);
  registerDiscovery(app, parts);
}

/** Tests before saving. */
function registerTrials(app: FastifyInstance, { setup }: Pick<HttpParts, "setup">): void {
  app.post<{ Body: { sensor: { code?: unknown }; kind: PolledKind; date?: string } }>(
    "/api/v1/setup/probe",
    { schema: { body: PROBE_BODY }, preValidation: shallowBody },
    async (request, reply) => {
      if (setup === null) return setupOff(reply) ?? reply;
      const { sensor, kind, date } = request.body;
      request.auditDetail = `${String(sensor.code).slice(0, 64)} ${kind}`;
      const report = await setup.probe(sensor, kind, date ?? null);
      return isRefused(report) ? refuse(reply, report) : reply.send(report);
    },
  );
  app.post<{ Body: { sensor: { code?: unknown } } }>(
    "/api/v1/setup/probe/states",
    { schema: { body: PROBE_STATES_BODY }, preValidation: shallowBody },
    async (request, reply) => {
      if (setup === null) return setupOff(reply) ?? reply;
      const { sensor } = request.body;
      request.auditDetail = `${String(sensor.code).slice(0, 64)} node`;
      const reads = await setup.probeStates(sensor);
      return isRefused(reads) ? refuse(reply, reads) : reply.send({ reads });
    },
  );
  app.post<{ Body: { uplink: { name?: unknown } } }>(
    "/api/v1/setup/uplinks/test",
    { schema: { body: TRY_BODY }, preValidation: shallowBody },
    async (request, reply) => {
      if (setup === null) return setupOff(reply) ?? reply;
      const { uplink } = request.body;
      request.auditDetail = String(uplink.name).slice(0, 64);
      const tried = await setup.tryUplink(uplink);
      return isRefused(tried) ? refuse(reply, tried) : reply.send({ addresses: tried });
    },
  );
}

function registerDiscovery(app: FastifyInstance, { setup }: Pick<HttpParts, "setup">): void {
  app.post<{ Body: Omit<DiscoveryRequest, "wireWord"> & { wireWord?: string } }>(
    "/api/v1/setup/discover",
    { schema: { body: DISCOVER_BODY }, preValidation: shallowBody },
    (request, reply) => {
      if (setup === null) return setupOff(reply) ?? reply;
      const { wireWord, ...login } = request.body;
      // The schema's pattern lets through what is no address, such as port 99999.
      if (!URL.canParse(login.url)) return refuse(reply, { faults: [NO_ADDRESS] });
      request.auditDetail = new URL(login.url).host;
      if (!setup.discover({ ...login, wireWord: wireWord ?? null }))
        return reply.code(409).send(problem(409, "a search is already running"));
      return reply.code(202).send(setup.discovery);
    },
  );
  app.get("/api/v1/setup/discover", (_request, reply) =>
    setup === null ? (setupOff(reply) ?? reply) : reply.send(setup.discovery),
  );
  app.post<{ Body: Partial<DiscoveryHints> }>(
    "/api/v1/setup/discover/draft",
    { schema: { body: DRAFT_BODY }, preValidation: shallowBody },
    (request, reply) => {
      if (setup === null) return setupOff(reply) ?? reply;
      const { kinds = {}, clamp = null, loop = null } = request.body;
      const draft = setup.draft({ kinds, clamp, loop });
      if (draft === null) return reply.code(404).send(problem(404, "there is no result yet"));
      return reply.send(draft);
    },
  );
}

function isRefused(result: object): result is Refused {
  return "faults" in result || "busy" in result;
}

function refuse(reply: FastifyReply, refused: Refused): FastifyReply {
  if ("busy" in refused) return reply.code(409).send(problem(409, refused.busy));
  const message = "there are errors; nothing was tried";
  return reply.code(422).send({ ...problem(422, message), faults: refused.faults });
}
