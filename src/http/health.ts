import type { FastifyInstance } from "fastify";
import { type AgentStatus, isGatewayWell } from "../core/agent-status.ts";
import { linkTitle } from "../core/delivery/link-title.ts";
import { map, named, type Of, object, oneOf, optional, TEXT, YES_NO } from "../core/schema.ts";
import { certificateTitle, endingText, firstToEnd } from "../core/status/certificate.ts";
import { type Operation, serve } from "./api-operation.ts";
import type { HttpParts } from "./parts.ts";

const READINESS = { ok: YES_NO, detail: TEXT };
const SESSIONS = map(object(READINESS));
const CHECK = object({
  ...READINESS,
  uplinks: optional({
    ...SESSIONS,
    description: "By uplink; only for the broker, in /readyz.",
  }),
});
const HEALTH = named(
  "Health",
  object({ status: oneOf(["ok", "failing", "ready", "not ready"]), checks: map(CHECK) }),
);
type Readiness = Of<typeof CHECK>;

/** Gateway, broker, buffer and certificates, each with its state in plain words (contract section 7). */
function readiness(status: AgentStatus): Readonly<Record<string, Readiness>> {
  const { gateway, links, buffer, certificates } = status;
  const ended = certificates.filter(({ state }) => state === "ended");
  const first = firstToEnd(certificates);
  const names = [...new Set(links.map(({ uplink }) => uplink))];
  const uplinks = names.map((name) => [
    name,
    sessions(
      links.filter(({ uplink }) => uplink === name),
      links,
    ),
  ]);
  return {
    gateway: {
      ok: isGatewayWell(gateway),
      detail: gatewayText(gateway),
    },
    broker: { ...sessions(links, links), uplinks: Object.fromEntries(uplinks) },
    buffer: {
      ok: buffer.isWritable && buffer.alarm === null,
      detail: buffer.alarm ?? (buffer.isWritable ? "writable" : "not writable"),
    },
    certificates: {
      ok: ended.length === 0,
      detail:
        (ended.length > 0 ? ended : first === null ? [] : [first])
          .map((one) => `${certificateTitle(one)} ${endingText(one)}`)
          .join("; ") || "none",
    },
  };
}

function gatewayText({ isUp, isNeeded, lastError }: AgentStatus["gateway"]): string {
  if (isUp) return "answering";
  return isNeeded === false ? "nothing is read through it" : (lastError ?? "no response yet");
}

/** Whether all of these sessions are up and nothing is refused there, and what is wrong with each of the others. */
function sessions(links: AgentStatus["links"], all: AgentStatus["links"]): Readiness {
  const down = links.filter(
    (link) =>
      !link.isConnected ||
      link.hostOnline === false ||
      link.refused ||
      link.stolen ||
      link.otherAgent,
  );
  const lack = down.map((link) => {
    const title = linkTitle(link, all);
    if (link.stolen) return `${title}: the session is ${link.stolen}`;
    if (!link.isConnected) return `${title}: ${link.lastError ?? "not connected"}`;
    return link.hostOnline === false
      ? `${title}: primary host is offline`
      : `${title}: ${link.refused?.text ?? link.otherAgent}`;
  });
  return {
    ok: links.length > 0 && down.length === 0,
    detail: down.length === 0 ? "connected" : lack.join("; "),
  };
}

const HEALTHZ = {
  path: "/healthz",
  method: "get",
  summary: "200 while the agent's event loop and database work. No token is required.",
  alike: { 503: "One of them does not work." },
  response: "Each part.",
  schema: HEALTH,
} as const satisfies Operation;

const READYZ = {
  path: "/readyz",
  method: "get",
  summary: "200 while gateway, broker and buffer are all working.",
  alike: { 503: "At least one is not working." },
  response: "The state of each.",
  schema: HEALTH,
} as const satisfies Operation;

export const HEALTH_OPERATIONS: readonly Operation[] = [HEALTHZ, READYZ];

/** `/healthz`: is the process doing its work. `/readyz`: is everything it depends on working too. */
export function registerHealth(
  app: FastifyInstance,
  parts: Pick<HttpParts, "health" | "status">,
): void {
  serve(app, HEALTHZ, (_request, reply) => {
    const checks = parts.health.parts();
    const isWell = checks.every((check) => check.isWell);
    return reply.code(isWell ? 200 : 503).send({
      status: isWell ? "ok" : "failing",
      checks: Object.fromEntries(
        checks.map(({ name, isWell: ok, detail }) => [name, { ok, detail }]),
      ),
    });
  });
  serve(app, READYZ, (_request, reply) => {
    const checks = readiness(parts.status.status());
    const isReady = Object.values(checks).every(({ ok }) => ok);
    return reply
      .code(isReady ? 200 : 503)
      .send({ status: isReady ? "ready" : "not ready", checks });
  });
}
