import { Readable } from "node:stream";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ENVELOPE_TAIL, envelopeHead } from "../core/query/answers.ts";
import { LocalTime } from "../core/query/dates.ts";
import { OPERATION_KEYS, OPERATIONS, type OperationKey } from "../core/query/operations.ts";
import {
  fault,
  isFault,
  QUERY_STATUS,
  type QueryBody,
  type QueryFault,
  type QueryFields,
  readFields,
} from "../core/query/request.ts";
import { SiteTree } from "../core/query/site-tree.ts";
import { UnitTable } from "../core/query/units.ts";
import { API_LOGIN, API_REQUEST, API_SERVICE } from "../core/wire/names.ts";
import { FailureLimit, Sessions, TokenCheck } from "./auth.ts";
import type { HttpOptions, HttpParts } from "./parts.ts";
import { jsonAnswer, type QueryAnswer, type QueryContext } from "./query-context.ts";
import * as history from "./query-history.ts";
import * as lists from "./query-lists.ts";
import * as signal from "./query-signal.ts";
import { Turns } from "./turns.ts";

/** Rows of one history answer (services 6). */
const ROWS_MAX = 10_000;
/** Questions worked on at once and waiting: the box has other work, and answers are made one after another anyway. */
const WORKING_MAX = 2;
const WAITING_MAX = 32;
/** Different wrong tokens of one address in a minute; more than for people, for many tools may share an address. */
const WRONG_TOKENS_MAX = 60;

type Handler = (
  context: QueryContext,
  fields: QueryFields,
) => QueryAnswer | QueryFault | Promise<QueryAnswer | QueryFault>;

const HANDLERS: Readonly<Record<Exclude<OperationKey, "login">, Handler>> = {
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
  allDevices: lists.allDevices,
  sensorAssignedMachines: lists.assignedMachines,
  historyMeasures: history.historyMeasures,
  allHistoryMeasures: history.allHistoryMeasures,
  dataBySensor: history.dataBySensor,
  extraValues: history.extraValues,
  fftBase64: signal.fftBase64,
  fft: signal.fft,
};

/** `POST /ApiWeb.svc/<Operation>`: the analytics query service over what the agent has stored (contract 7). */
export function registerQueryService(
  app: FastifyInstance,
  parts: HttpParts,
  options: HttpOptions,
): void {
  const { names } = options;
  const context: QueryContext = {
    parts,
    tree: new SiteTree(parts.site),
    units: new UnitTable(parts.site),
    names,
    time: new LocalTime(options.timezone),
    timezone: options.timezone,
    rowsMax: options.historyRowsMax ?? ROWS_MAX,
  };
  const gate = new QueryGate(parts, options);
  const turns = new Turns(WORKING_MAX, WAITING_MAX);
  // Understood with either word; exact letter case (services 1).
  const operations = new Map<string, OperationKey>();
  for (const key of OPERATION_KEYS) {
    operations.set(OPERATIONS[key].name, key);
    operations.set(names.wire(OPERATIONS[key].name), key);
  }

  const answer = async (
    key: OperationKey,
    request: FastifyRequest,
  ): Promise<QueryAnswer | QueryFault> => {
    const body = request.body as QueryBody;
    if (key === "login") return gate.login(body, request.ip, parts.site.site);
    const refused = gate.check(names.member(body, API_REQUEST.token), request.ip);
    if (refused !== null) return refused;
    const fields = readFields(OPERATIONS[key], body, names);
    if (isFault(fields)) return fields;
    const end = await turns.take();
    if (end === null) return fault(QUERY_STATUS.busy, "busy; ask again in a moment");
    try {
      return await HANDLERS[key](context, fields);
    } finally {
      end();
    }
  };

  void app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      "application/json",
      { parseAs: "buffer" },
      (_request, body, parsed) => parsed(null, readBody(body as Buffer)),
    );
    scope.setErrorHandler((error: FastifyError, request, reply) => {
      const status = error.statusCode ?? 500;
      if (status < 500) return refuse(reply, status, objectFor(operations, request), error.message);
      parts.logger.error({ err: error, operation: operationOf(request) }, "query failed");
      return sendFault(reply, objectFor(operations, request), INTERNAL);
    });
    const path = `/${API_SERVICE}/*`;
    scope.post(path, async (request, reply) => {
      const key = operations.get(operationOf(request));
      if (key === undefined) return refuseUnknown(reply);
      const { isObject } = OPERATIONS[key];
      if (request.body === null || request.body === undefined) {
        return refuse(reply, 400, isObject, "the body must be a JSON object");
      }
      const outcome = await answer(key, request);
      return isFault(outcome) ? sendFault(reply, isObject, outcome) : sendAnswer(reply, outcome);
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

/** Tokens of the query service: the configured one, and those that Login gave out (contract 7). */
class QueryGate {
  readonly #token: TokenCheck;
  readonly #sessions: Sessions;
  readonly #wrongTokens: FailureLimit;
  readonly #wrongPasswords: FailureLimit;
  readonly #names: HttpOptions["names"];

  constructor({ clock }: Pick<HttpParts, "clock">, options: HttpOptions) {
    this.#token = new TokenCheck(options.token);
    this.#sessions = new Sessions(clock);
    this.#wrongTokens = new FailureLimit(clock, WRONG_TOKENS_MAX);
    this.#wrongPasswords = new FailureLimit(clock);
    this.#names = options.names;
  }

  /** Null: come in. Without a configured token any text passes. */
  check(token: unknown, address: string): QueryFault | null {
    if (typeof token !== "string") {
      return fault(QUERY_STATUS.tokenWrong, `${API_REQUEST.token} is missing`);
    }
    if (this.#sessions.use(token)) return null;
    if (this.#token.matches(token)) return null;
    const waitS = this.#wrongTokens.retryAfterS(address);
    if (waitS > 0) return fault(QUERY_STATUS.tokenWrong, `too many wrong tokens; wait ${waitS} s`);
    this.#wrongTokens.failed(address, token);
    return fault(QUERY_STATUS.tokenWrong, `${API_REQUEST.token} is wrong or has ended`);
  }

  login(body: QueryBody, address: string, site: string): QueryAnswer | QueryFault {
    const fields = readFields(OPERATIONS.login, body, this.#names);
    if (isFault(fields)) return fields;
    const password = fields.text(API_REQUEST.password);
    const waitS = this.#wrongPasswords.retryAfterS(address);
    if (waitS > 0) {
      return fault(QUERY_STATUS.tokenWrong, `too many wrong passwords; wait ${waitS} s`);
    }
    if (!this.#token.matches(password)) {
      this.#wrongPasswords.failed(address, password);
      return fault(QUERY_STATUS.tokenWrong, "the password is wrong");
    }
    return jsonAnswer([
      {
        [API_LOGIN.token]: this.#sessions.open(),
        [API_LOGIN.dataBase]: {
          [API_LOGIN.id]: 1,
          [API_LOGIN.name]: site,
          [API_LOGIN.dbName]: site,
        },
      },
    ]);
  }
}

const INTERNAL = fault(QUERY_STATUS.internalFault, "internal fault; see the agent's log");

/** Our number that goes with a refusal at transport level. */
const TRANSPORT_STATUS: Readonly<Record<number, number>> = {
  400: QUERY_STATUS.fieldWrong,
  404: QUERY_STATUS.notServed,
  405: QUERY_STATUS.notServed,
  413: QUERY_STATUS.busy,
  415: QUERY_STATUS.fieldWrong,
};

/** The object of a body; null for anything else, which the route refuses with its own words. */
function readBody(bytes: Buffer): QueryBody | null {
  try {
    const text = bytes.toString("utf8").replace(/^\uFEFF/, "");
    const body: unknown = JSON.parse(text);
    return typeof body === "object" && body !== null && !Array.isArray(body)
      ? (body as QueryBody)
      : null;
  } catch {
    return null;
  }
}

function operationOf(request: FastifyRequest): string {
  const params = request.params as { readonly "*"?: string };
  return params["*"] ?? "";
}
function objectFor(
  operations: ReadonlyMap<string, OperationKey>,
  request: FastifyRequest,
): boolean {
  const key = operations.get(operationOf(request));
  return key !== undefined && OPERATIONS[key].isObject;
}

/** For addresses of the service that name none of its operations. */
export function refuseUnknown(reply: FastifyReply): FastifyReply {
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
function sendAnswer(reply: FastifyReply, { pieces }: QueryAnswer): FastifyReply {
  function* whole(): Generator<string> {
    yield envelopeHead(QUERY_STATUS.ok, "OK");
    yield* pieces;
    yield ENVELOPE_TAIL;
  }
  // Small answers in one write with their length; large ones as the reader takes them.
  if (Array.isArray(pieces)) return reply.type(JSON_UTF8).send([...whole()].join(""));
  return reply.type(JSON_UTF8).send(Readable.from(whole()));
}

const JSON_UTF8 = "application/json; charset=utf-8";
