import { Readable } from "node:stream";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { parsedObject } from "../../core/parsed-json.ts";
import { LocalTime } from "../../core/query/dates.ts";
import { UnitTable } from "../../core/query/units.ts";
import { isJsonObject } from "../../core/record.ts";
import { fromSite } from "../../core/site-source.ts";
import type { FailureLimit } from "../../http/auth.ts";
import { sourceOf } from "../../http/client.ts";
import type { HttpOptions, HttpSources, OwnRoutes } from "../../http/parts.ts";
import { refusalOf } from "../../http/problem.ts";
import { SharedResponses } from "../../http/shared-responses.ts";
import { yieldToLoop } from "../../lib/yield-to-loop.ts";
import { API_REQUEST, API_SERVICE } from "../../pipeline/wire/names.ts";
import type { Alarms } from "../alarms/api.ts";
import type { Feature } from "../feature.ts";
import { QueryBodies } from "./body.ts";
import { ClientGone, type QueryContext, type QueryResponse } from "./context.ts";
import { QueryGate } from "./gate.ts";
import * as history from "./history.ts";
import { HISTORY_LIMITS, type HistoryLimits } from "./history-limits.ts";
import * as lists from "./lists.ts";
import { RequestSlots, RequestTurns } from "./request-turns.ts";
import { OPERATION_KEYS, OPERATIONS, type OperationKey } from "./rules/operations.ts";
import { outlineOf } from "./rules/outline.ts";
import {
  fault,
  isFault,
  QUERY_STATUS,
  type QueryFault,
  type QueryFields,
  readFields,
} from "./rules/request.ts";
import { ENVELOPE_TAIL, envelopeHead } from "./rules/responses.ts";
import { SiteTree } from "./rules/site-tree.ts";
import * as signal from "./signal.ts";

/**
 * Queries processed at once and waiting: the box has other work, and responses are computed one after another anyway.
 */
const WORKING_MAX = 2;
const WAITING_MAX = 32;
/** A client that logs in is not known either, and sends two short texts. */
const LOGIN_CHARACTERS_MAX = 4_096;
/** Long responses that are computed while they are sent. */
const LONG_ANSWERS_MAX = 4;

type Handler = (
  context: QueryContext,
  fields: QueryFields,
) => QueryResponse | QueryFault | Promise<QueryResponse | QueryFault>;

const HANDLERS: Readonly<Record<Exclude<OperationKey, "login" | "allDevices">, Handler>> = {
  companies: lists.companies,
  areas: lists.areas,
  machines: lists.machines,
  points: lists.points,
  axes: lists.axes,
  units: lists.units,
  currentMeasures: lists.currentMeasuresOf,
  allCurrentMeasures: lists.allCurrentMeasures,
  devices: lists.devices,
  devicesByCode: lists.devicesByCode,
  sensorAssignedMachines: lists.assignedMachines,
  historyMeasures: history.historyMeasures,
  allHistoryMeasures: history.allHistoryMeasures,
  dataBySensor: history.dataBySensor,
  extraValues: history.extraValues,
  fftBase64: signal.fftBase64,
  fft: signal.fft,
};

/** `POST /ApiWeb.svc/<Operation>`: the analytics query service over stored data (contract section 7). */
export const queryRoutes = (
  alarms: QueryContext["alarms"],
  limits: HistoryLimits = HISTORY_LIMITS,
): OwnRoutes => ({
  below: `/${API_SERVICE}/`,
  add: (app, parts, options, failures) =>
    register(app, parts, options, failures, { alarms, limits }),
});

export const createQueryService = (alarms: Alarms | null): Feature => ({
  routes: [queryRoutes(alarms)],
});

function register(
  app: FastifyInstance,
  parts: HttpSources,
  options: HttpOptions,
  failures: FailureLimit,
  { alarms, limits }: Pick<QueryContext, "alarms" | "limits">,
): void {
  const { names } = options;
  const tree = fromSite(parts.site, (site) => new SiteTree(site));
  const units = fromSite(parts.site, (site) => new UnitTable(site));
  const shared: Omit<QueryContext, "pause"> = {
    parts,
    alarms,
    get tree() {
      return tree();
    },
    get units() {
      return units();
    },
    names,
    time: new LocalTime(options.timezone),
    timezone: options.timezone,
    limits,
    absentFacts: new Map(),
    longAnswers: new RequestSlots(LONG_ANSWERS_MAX),
  };
  const gate = new QueryGate(parts, options, failures);
  const turns = new RequestTurns(WORKING_MAX, WAITING_MAX);
  const whole = new SharedResponses();
  /** The same for everybody, and long on a large site: those who wait for it share it. */
  const allDevices = async (isGone: () => boolean): Promise<QueryResponse | QueryFault> => {
    const make = async () => {
      const { pieces } = await lists.allDevices({ ...shared, pause: yieldToLoop });
      return [...pieces].join("");
    };
    const body = await whole.compute("allDevices", isGone, make);
    if (body !== null) return { pieces: new Set([body]) };
    if (isGone()) throw new ClientGone("the client has disconnected");
    return BUSY;
  };
  const bodies = new QueryBodies();
  // Either word is accepted; exact letter case (services section 1).
  const operations = new Map<string, OperationKey>();
  for (const key of OPERATION_KEYS) {
    operations.set(OPERATIONS[key].name, key);
    operations.set(names.wire(OPERATIONS[key].name), key);
  }

  /** Null if the body is not a JSON object. */
  const respond = async (
    key: OperationKey,
    text: string,
    address: string,
    isGone: () => boolean,
  ): Promise<QueryResponse | QueryFault | null> => {
    if (key === "login") {
      const body = parsedObject(text);
      return body && gate.login(body, address, parts.site.current.site);
    }
    // Nothing is parsed for an unauthenticated client.
    const { isObject, text: token } = outlineOf(text, API_REQUEST.token);
    if (!isObject) return null;
    const refused = gate.check(token, address);
    if (refused !== null) return refused;
    const body = parsedObject(text);
    if (body === null) return null;
    const fields = readFields(OPERATIONS[key], body, names);
    if (isFault(fields)) return fields;
    if (key === "allDevices") return await allDevices(isGone);
    const end = await turns.take();
    if (end === null) return BUSY;
    const pause = async (): Promise<void> => {
      await yieldToLoop();
      if (isGone()) throw new ClientGone("the client has disconnected");
    };
    try {
      if (isGone()) throw new ClientGone("the client has disconnected");
      // A query sees one site file, even if it is replaced meanwhile.
      return await HANDLERS[key]({ ...shared, pause }, fields);
    } finally {
      end();
    }
  };

  void app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("application/json", (_request, body, done) => done(null, body));
    scope.setErrorHandler((error: FastifyError, request, reply) => {
      if (error instanceof ClientGone) return reply.hijack();
      const status = error.statusCode ?? 500;
      const refusal = refusalOf(status, error.message);
      if (status < 500) return refuse(reply, status, objectFor(operations, request), refusal);
      parts.logger.error({ err: error, operation: operationOf(request) }, "query failed");
      return sendFault(reply, objectFor(operations, request), INTERNAL);
    });
    const path = `/${API_SERVICE}/*`;
    scope.post(path, async (request, reply) => {
      const key = operations.get(operationOf(request));
      if (key === undefined) return refuseUnknown(reply);
      const { isObject } = OPERATIONS[key];
      // Scanned (query-outline.ts) before the client is known, and parsed only for clients with a valid token.
      const text = await bodies.read(request, reply);
      if (typeof text !== "string") {
        reply.header("connection", "close");
        return refuse(reply, text.status, isObject, text.description);
      }
      if (key === "login" && text.length > LOGIN_CHARACTERS_MAX)
        return refuse(reply, 413, isObject, "Request body is too large");
      // Closed before everything was written: the client left.
      const isGone = () => reply.raw.destroyed && !reply.raw.writableFinished;
      const outcome = await respond(key, text, sourceOf(request), isGone);
      if (outcome === null) return refuse(reply, 400, isObject, "the body must be a JSON object");
      return isFault(outcome) ? sendFault(reply, isObject, outcome) : sendResponse(reply, outcome);
    });
    scope.route({
      method: ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"],
      url: path,
      handler(request, reply) {
        const key = operations.get(operationOf(request));
        if (key === undefined) return refuseUnknown(reply);
        return refuse(reply.header("allow", "POST"), 405, OPERATIONS[key].isObject, "use POST");
      },
    });
    done();
  });
}

const BUSY = fault(QUERY_STATUS.busy, "busy; try again in a moment");
const INTERNAL = fault(QUERY_STATUS.internalFault, "internal error; see the agent's log");

/** Our error number for a transport-level refusal. */
const TRANSPORT_STATUS: Readonly<Record<number, number>> = {
  400: QUERY_STATUS.fieldWrong,
  404: QUERY_STATUS.notServed,
  405: QUERY_STATUS.notServed,
  413: QUERY_STATUS.busy,
  415: QUERY_STATUS.fieldWrong,
  503: QUERY_STATUS.busy,
};

function operationOf(request: FastifyRequest): string {
  const { params } = request;
  const name = isJsonObject(params) ? params["*"] : null;
  return typeof name === "string" ? name : "";
}
function objectFor(
  operations: ReadonlyMap<string, OperationKey>,
  request: FastifyRequest,
): boolean {
  const key = operations.get(operationOf(request));
  return key !== undefined && OPERATIONS[key].isObject;
}

/** For paths of the service that are not operations. */
function refuseUnknown(reply: FastifyReply): FastifyReply {
  return refuse(reply, 404, false, "unknown operation");
}

function refuse(
  reply: FastifyReply,
  status: number,
  isObject: boolean,
  description: string,
): FastifyReply {
  const statusNumber = TRANSPORT_STATUS[status] ?? QUERY_STATUS.fieldWrong;
  return sendFault(reply.code(status), isObject, { statusNumber, description });
}
function sendFault(reply: FastifyReply, isObject: boolean, outcome: QueryFault): FastifyReply {
  const head = envelopeHead(outcome.statusNumber, outcome.description);
  return reply.type(JSON_UTF8).send(`${head}${isObject ? "{}" : "[]"}${ENVELOPE_TAIL}`);
}
function sendResponse(reply: FastifyReply, { pieces, release }: QueryResponse): FastifyReply {
  reply.type(JSON_UTF8);
  // Small responses in one write with their length; large ones as fast as the client reads.
  if (Array.isArray(pieces)) {
    return reply.send([envelopeHead(QUERY_STATUS.ok, "OK"), ...pieces, ENVELOPE_TAIL].join(""));
  }
  const body = Readable.from(wholeAnswer(pieces));
  if (release !== undefined) body.once("close", release);
  return reply.send(body);
}
async function* wholeAnswer(pieces: QueryResponse["pieces"]): AsyncGenerator<string | Uint8Array> {
  yield envelopeHead(QUERY_STATUS.ok, "OK");
  yield* pieces;
  yield ENVELOPE_TAIL;
}

const JSON_UTF8 = "application/json; charset=utf-8";
