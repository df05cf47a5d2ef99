import type { FastifyInstance, FastifyReply } from "fastify";
import { RELOAD_REPORT } from "../core/configuration/configuration.ts";
import { input, list, map, named, OBJECT, object, TEXT } from "../core/schema.ts";
import { type Operation, serve } from "./api-operation.ts";
import type { HttpParts } from "./parts.ts";
import { refuse } from "./problem.ts";

const IN_EFFECT = {
  path: "/api/v1/configuration",
  method: "get",
  summary: "The configuration in effect, and changes to settings and files that are pending.",
  also: { 501: "Not available in this agent." },
  response: "Site and uplinks as they are in effect, without secrets.",
  schema: named(
    "Configuration",
    object({
      configuration: TEXT,
      pendingRestart: list(TEXT),
      pendingReload: list(TEXT),
      faults: list(TEXT),
      site: { ...OBJECT, description: "As in the site file, defaults filled in." },
      uplinks: { ...list(OBJECT), description: "Without secrets, and without main." },
    }),
  ),
} as const satisfies Operation;

/** By digests that the client made of its own settings; see `settingDigest`. */
const COMPARE = {
  path: "/api/v1/configuration/compare",
  method: "post",
  asks: true,
  summary: "Which settings differ from the running ones, compared by digests keyed with a nonce.",
  body: input(
    {
      nonce: { ...TEXT, minLength: 16, maxLength: 128 },
      digests: {
        ...map({ ...TEXT, maxLength: 64 }),
        maxProperties: 1000,
      },
    },
    ["nonce", "digests"],
  ),
  also: { 501: "Not available in this agent." },
  response:
    "Names of the settings that differ, and of secrets of uplinks as `uplinks.{name}.{member}`.",
  schema: object({ differing: list(TEXT) }),
} as const satisfies Operation;

const RELOAD = {
  path: "/api/v1/reload",
  method: "post",
  summary: "Reloads the site and uplinks files and applies the differences.",
  also: { 501: "Not available in this agent." },
  response: "The changes, or why the reload was refused; 200 for every outcome.",
  schema: RELOAD_REPORT,
} as const satisfies Operation;

export const CONFIGURATION_OPERATIONS: readonly Operation[] = [IN_EFFECT, COMPARE, RELOAD];

/** The configuration in effect, what differs from it, and the reload that applies changes. */
export function registerConfigurationApi(
  app: FastifyInstance,
  { configuration, status }: Pick<HttpParts, "configuration" | "status">,
): void {
  serve(app, IN_EFFECT, (_request, reply) => {
    if (configuration === null) return unavailable(reply);
    const now = status.status();
    return reply.send({
      configuration: now.configuration,
      pendingRestart: now.pendingRestart,
      pendingReload: now.pendingReload,
      faults: now.configurationFaults,
      ...configuration.inEffect(),
    });
  });
  serve(app, COMPARE, (request, reply) => {
    if (configuration === null) return unavailable(reply);
    const { nonce, digests } = request.body;
    const withSecrets = request.role === "all";
    return reply.send({ differing: configuration.compare(nonce, digests, withSecrets) });
  });
  serve(app, RELOAD, async (_request, reply) => {
    if (configuration === null) return unavailable(reply);
    // 200 for every outcome: `outcome` and `faults` carry it.
    return reply.send(await configuration.reload("command"));
  });
}

function unavailable(reply: FastifyReply): FastifyReply {
  return refuse(reply, 501, "reload: not available in this agent");
}
