import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ALARM_WORDS, type AlarmWord } from "../core/alarm/shown.ts";
import type { AlarmDesk } from "../core/alarm/view.ts";
import { INSTANT, instantMs, integer, objectOf, type Schema, SENSOR, text } from "./api-schemas.ts";
import type { HttpParts } from "./parts.ts";
import { problem } from "./problem.ts";

const BY = text(64, "Name of the person; by default the one in HTTP_USER_HEADER, else `http`.");
const NOTE = text(500, "Note for the log and for others.");
export const ALARMS_QUERY = objectOf({
  history: { ...integer(0, 1000, 100), description: "Maximum number of events in the history." },
  before: { ...integer(1, Number.MAX_SAFE_INTEGER), description: "`before` of the previous page." },
});
export const ALARM_ID = objectOf({ id: { type: "string", pattern: "^[0-9a-f]{32}$" } }, ["id"]);
export const WORD_BODIES: Readonly<Record<AlarmWord, Schema>> = {
  acknowledge: objectOf({ by: BY, note: NOTE }),
  shelve: objectOf({
    by: BY,
    note: NOTE,
    until: { ...INSTANT, description: "When it ends: ISO 8601 with zone, or ms since 1970 UTC." },
    minutes: {
      type: "number",
      exclusiveMinimum: 0,
      maximum: 44_640,
      description: "Alternative to `until`.",
    },
  }),
  unshelve: objectOf({ by: BY, note: NOTE }),
  note: objectOf({ by: BY, note: NOTE }, ["note"]),
};
export const LIMITS_QUERY = objectOf({ sensor: SENSOR }, ["sensor"]);
export const BASELINES_QUERY = objectOf({ sensor: SENSOR });
export const BASELINE = objectOf({ sensor: SENSOR, alarm: text(64), value: text(64) }, [
  "sensor",
  "alarm",
  "value",
]);
export const RELEARN_BODY = objectOf({ by: BY });
export const AUDIT_QUERY = objectOf({ limit: integer(1, 1000, 100) });

interface WordBody {
  readonly by?: string;
  readonly note?: string;
  readonly until?: string;
  readonly minutes?: number;
}

const STATUSES = { invalid: 400, unknown: 404, conflict: 409 } as const;

/** Alarms and baselines: current state, history, and actions of people. 501 if alarms are disabled. */
export function registerAlarmsApi(
  app: FastifyInstance,
  { alarms, gatewayNow }: Pick<HttpParts, "alarms" | "gatewayNow">,
): void {
  app.get<{ Querystring: { history: number; before?: number } }>(
    "/api/v1/alarms",
    { schema: { querystring: ALARMS_QUERY } },
    (request, reply) => {
      if (alarms === null) return off(reply);
      const { history, before } = request.query;
      return reply.send(alarms.lists({ limit: history, before: before ?? null }));
    },
  );
  app.get<{ Querystring: { limit: number } }>(
    "/api/v1/alarms/audit",
    { schema: { querystring: AUDIT_QUERY } },
    (request, reply) =>
      alarms === null ? off(reply) : reply.send({ actions: alarms.actions(request.query.limit) }),
  );
  app.get<{ Querystring: { sensor: string } }>(
    "/api/v1/alarms/limits",
    { schema: { querystring: LIMITS_QUERY } },
    (request, reply) =>
      alarms === null ? off(reply) : reply.send({ limits: alarms.limits(request.query.sensor) }),
  );
  for (const word of ALARM_WORDS) {
    app.post<{ Params: { id: string }; Body: WordBody | null }>(
      `/api/v1/alarms/:id/${word}`,
      { schema: { params: ALARM_ID, body: { ...WORD_BODIES[word], type: ["object", "null"] } } },
      (request, reply) =>
        alarms === null ? off(reply) : change(alarms, gatewayNow(), request, word, reply),
    );
  }
  app.get<{ Querystring: { sensor?: string } }>(
    "/api/v1/baselines",
    { schema: { querystring: BASELINES_QUERY } },
    (request, reply) =>
      alarms === null
        ? off(reply)
        : reply.send({ baselines: alarms.baselines(request.query.sensor ?? null) }),
  );
  app.post<{ Params: { sensor: string; alarm: string; value: string }; Body: WordBody | null }>(
    "/api/v1/baselines/:sensor/:alarm/:value/relearn",
    { schema: { params: BASELINE, body: { ...RELEARN_BODY, type: ["object", "null"] } } },
    async (request, reply) => {
      if (alarms === null) return off(reply);
      const done = await alarms.relearn(
        request.params,
        request.body?.by ?? nameOf(request),
        "http",
      );
      return done.ok ? reply.send(done) : reply.code(404).send(problem(404, done.detail));
    },
  );
}

async function change(
  alarms: AlarmDesk,
  nowMs: number,
  request: FastifyRequest<{ Params: { id: string }; Body: WordBody | null }>,
  word: AlarmWord,
  reply: FastifyReply,
): Promise<unknown> {
  const { id } = request.params;
  const { by = nameOf(request), note = null, minutes, until } = request.body ?? {};
  const untilMs =
    minutes === undefined
      ? until === undefined
        ? null
        : instantMs(until, 0)
      : nowMs + minutes * 60_000;
  const outcome = await alarms.act({ id, word, by, note, untilMs, source: "http" });
  if (outcome.ok) return reply.send({ alarm: outcome.alarm });
  const status = STATUSES[outcome.reason];
  return reply.code(status).send(problem(status, outcome.detail));
}

/** Whom a trusted proxy names. */
const nameOf = ({ person }: Pick<FastifyRequest, "person">): string => person ?? "http";

function off(reply: FastifyReply): FastifyReply {
  return reply.code(501).send(problem(501, "alarms are off: ALARMS_ENABLED is false"));
}
