import type { FastifyInstance, FastifyReply } from "fastify";
import { objectOf } from "./api-schemas.ts";
import type { HttpParts } from "./parts.ts";
import { problem } from "./problem.ts";

/** Digests that the client made of its own settings; see `settingDigest`. */
export const COMPARE_BODY = objectOf(
  {
    nonce: { type: "string", minLength: 16, maxLength: 128 },
    digests: {
      type: "object",
      maxProperties: 200,
      additionalProperties: { type: "string", maxLength: 64 },
    },
  },
  ["nonce", "digests"],
);

interface Comparison {
  readonly nonce: string;
  readonly digests: Readonly<Record<string, string>>;
}

/** The configuration in effect, what differs from it, and the reload that applies changes. */
export function registerConfigurationApi(
  app: FastifyInstance,
  { configuration, status }: Pick<HttpParts, "configuration" | "status">,
): void {
  app.get("/api/v1/configuration", (_request, reply) => {
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
  app.post<{ Body: Comparison }>(
    "/api/v1/configuration/compare",
    { schema: { body: COMPARE_BODY } },
    (request, reply) => {
      if (configuration === null) return unavailable(reply);
      const { nonce, digests } = request.body;
      const withSecrets = request.role === "all";
      return reply.send({ differing: configuration.compare(nonce, digests, withSecrets) });
    },
  );
  app.post("/api/v1/reload", async (_request, reply) => {
    if (configuration === null) return unavailable(reply);
    // 200 for every outcome: `outcome` and `faults` carry it.
    return reply.send(await configuration.reload("command"));
  });
}

function unavailable(reply: FastifyReply): FastifyReply {
  return reply.code(501).send(problem(501, "reload: not available in this agent"));
}
