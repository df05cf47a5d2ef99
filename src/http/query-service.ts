import type { FastifyInstance } from "fastify";
import type { HttpOptions, HttpParts } from "./parts.ts";

/** `POST /ApiWeb.svc/<Operation>`: the analytics query service over what the agent has stored (contract 7). */
export function registerQueryService(
  app: FastifyInstance,
  _parts: HttpParts,
  _options: HttpOptions,
): void {
  app.all("/ApiWeb.svc/*", (_request, reply) => reply.code(404).send());
}
