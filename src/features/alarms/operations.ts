import type { FastifyRequest } from "fastify";
import {
  ALARM,
  ALARM_ACTION_NAMES,
  ALARM_ACTIONS,
  ALARM_LISTS,
  type AlarmActionName,
  BASELINES,
  LIMITS,
} from "../../core/alarm/shown.ts";
import {
  input,
  known,
  NUMBER,
  type Of,
  object,
  type Schema,
  TEXT,
  YES_NO,
} from "../../core/schema.ts";
import {
  ALARMS_OFF,
  type Operation,
  type ServedOperation,
  served,
} from "../../http/api-operation.ts";
import { INSTANT, integer, orNone, SENSOR, text } from "../../http/api-schemas.ts";
import { refuse } from "../../http/problem.ts";
import { shelfEnd } from "./rules/shelf-end.ts";
import type { AlarmActions } from "./rules/view.ts";

const BY = text(64, "Name of the person; by default the one in HTTP_USER_HEADER, else `http`.");
const NOTE = text(500, "Note for the log and for others.");
const ALARM_ID = input({ id: { ...TEXT, pattern: "^[0-9a-f]{32}$" } }, ["id"]);
const NAME = input({ by: BY });
const SHELF = {
  by: BY,
  note: NOTE,
  until: {
    ...known<string | number>(INSTANT),
    type: ["string", "integer"],
    description: "When it ends: ISO 8601 with zone, or ms since 1970 UTC.",
  },
  minutes: {
    ...NUMBER,
    exclusiveMinimum: 0,
    maximum: 44_640,
    description: "Instead of `until`; both together are refused.",
  },
};
const ACTION = input(SHELF);
const REMARK = input({ by: BY, note: NOTE });
/** What each action accepts; `shelve` most. */
const BODIES: Readonly<Record<AlarmActionName, Schema<Of<typeof ACTION>>>> = {
  acknowledge: REMARK,
  shelve: ACTION,
  unshelve: REMARK,
  note: input({ by: BY, note: NOTE }, ["note"]),
};
const SUMMARIES: Readonly<Record<AlarmActionName, string>> = {
  acknowledge: "Acknowledges an alarm. Audited.",
  shelve: "Shelves an alarm until a given time, at most 31 days ahead. Audited.",
  unshelve: "Unshelves an alarm. Audited.",
  note: "Adds a note to an alarm. Audited.",
};
const ACTIONS = ALARM_ACTION_NAMES.map((word) => ({
  word,
  operation: {
    path: `/api/v1/alarms/{id}/${word}`,
    method: "post",
    summary: SUMMARIES[word],
    params: ALARM_ID,
    body: BODIES[word],
    accepts: orNone(BODIES[word]),
    also: {
      404: "No active or shelved alarm has this id.",
      ...(word === "acknowledge" && { 409: "Someone else has already acknowledged it." }),
      ...ALARMS_OFF,
    },
    response: "The current state of the alarm.",
    schema: object({ alarm: ALARM }),
  } as const satisfies Operation,
}));

const STATUSES = { invalid: 400, unknown: 404, conflict: 409 } as const;

const ALARM_LIST = {
  path: "/api/v1/alarms",
  method: "get",
  summary: "Alarms that are active, acknowledged or shelved, and the newest events.",
  query: input({
    history: { ...integer(0, 1000, 100), description: "Maximum number of events in the history." },
    before: {
      ...integer(1, Number.MAX_SAFE_INTEGER),
      description: "`before` of the previous page.",
    },
  }),
  also: ALARMS_OFF,
  response: "The lists; `before` requests the next page, and is null on the last one.",
  schema: ALARM_LISTS,
} as const satisfies Operation;

const ACTION_LIST = {
  path: "/api/v1/alarms/audit",
  method: "get",
  summary: "Actions by people on alarms, newest first.",
  query: input({ limit: integer(1, 1000, 100) }),
  also: ALARMS_OFF,
  response: "The entries.",
  schema: ALARM_ACTIONS,
} as const satisfies Operation;

const LIMIT_LIST = {
  path: "/api/v1/alarms/limits",
  method: "get",
  summary: "The fixed limits that apply to a sensor's values.",
  query: input({ sensor: SENSOR }, ["sensor"]),
  also: ALARMS_OFF,
  response: "The limits; null if there is none on that side.",
  schema: LIMITS,
} as const satisfies Operation;

const BASELINE_LIST = {
  path: "/api/v1/baselines",
  method: "get",
  summary: "Learned limits, and those that are being learned.",
  query: input({ sensor: SENSOR }),
  also: ALARMS_OFF,
  response: "The baselines.",
  schema: BASELINES,
} as const satisfies Operation;

const RELEARN = {
  path: "/api/v1/baselines/{sensor}/{alarm}/{value}/relearn",
  method: "post",
  summary:
    "Starts learning a baseline again; an alarm based on the old one ends. `finding/normal` is the normal state of the sensor's findings. Audited.",
  params: input({ sensor: SENSOR, alarm: text(64), value: text(64) }, ["sensor", "alarm", "value"]),
  body: NAME,
  accepts: orNone(NAME),
  also: { 404: "There is no such baseline.", ...ALARMS_OFF },
  response: "The outcome.",
  schema: object({ ok: YES_NO, detail: TEXT }),
} as const satisfies Operation;

export const ALARMS_OPERATIONS: readonly Operation[] = [
  ALARM_LIST,
  ACTION_LIST,
  LIMIT_LIST,
  BASELINE_LIST,
  RELEARN,
  ...ACTIONS.map(({ operation }) => operation),
];

/** Alarms and baselines: current state, history, and actions of people. */
export function servedAlarms(
  alarms: AlarmActions,
  gatewayNow: () => number,
): readonly ServedOperation[] {
  return [
    served(ALARM_LIST, (request, reply) => {
      const { history, before } = request.query;
      return reply.send(alarms.lists({ limit: history, before: before ?? null }));
    }),
    served(ACTION_LIST, (request, reply) =>
      reply.send({ actions: alarms.actions(request.query.limit) }),
    ),
    served(LIMIT_LIST, (request, reply) =>
      reply.send({ limits: alarms.limits(request.query.sensor) }),
    ),
    ...ACTIONS.map(({ word, operation }) =>
      served(operation, async (request, reply) => {
        const { id } = request.params;
        const { by = nameOf(request), note = null, ...shelf } = request.body ?? {};
        const untilMs = shelfEnd(word, shelf, gatewayNow());
        if (typeof untilMs === "string") return refuse(reply, 400, untilMs);
        const outcome = await alarms.act({ id, word, by, note, untilMs, source: "http" });
        return outcome.ok
          ? reply.send({ alarm: outcome.alarm })
          : refuse(reply, STATUSES[outcome.reason], outcome.detail);
      }),
    ),
    served(BASELINE_LIST, (request, reply) =>
      reply.send({ baselines: alarms.baselines(request.query.sensor ?? null) }),
    ),
    served(RELEARN, async (request, reply) => {
      const { params, body } = request;
      const done = await alarms.relearn(params, body?.by ?? nameOf(request), "http");
      return done.ok ? reply.send(done) : refuse(reply, 404, done.detail);
    }),
  ];
}

/** Whom a trusted proxy names. */
const nameOf = ({ person }: Pick<FastifyRequest, "person">): string => person ?? "http";
