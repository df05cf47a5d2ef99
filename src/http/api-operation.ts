import type { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from "fastify";
import { DEPTH_MAX, isDeeper } from "../core/configuration/depth.ts";
import { input, type Of, type Schema } from "../core/schema.ts";
import { integer } from "./api-schemas.ts";
import { accessOf } from "./change.ts";
import { type Problem, refuse } from "./problem.ts";
import type { SharedResponses } from "./shared-responses.ts";

/** An operation of the API, once: its route, what it accepts and what it responds, and how its document describes it. */
export interface Operation {
  /** As in OpenAPI: `{code}` is a parameter. */
  readonly path: string;
  readonly method: "get" | "post" | "put" | "delete";
  readonly summary: string;
  /** A POST that changes nothing; every other one is a change, which HTTP_VIEW_TOKEN may not make. */
  readonly asks?: true;
  /** For HTTP_TOKEN alone though it changes nothing: it shows addresses or accounts, or would confirm a guess at a secret. */
  readonly role?: "all";
  readonly query?: Schema;
  readonly params?: Schema;
  readonly body?: Schema;
  /** What a body is validated with, if it may be left out or is checked elsewhere; default `body`. */
  readonly accepts?: Schema;
  /** The response, in a few words. */
  readonly response: string;
  /** Its schema; null if it is not JSON. */
  readonly schema: Schema | null;
  /** Status of that response; default 200. */
  readonly status?: number;
  readonly contentType?: string;
  /** Another form that a parameter asks for, without a schema. */
  readonly otherType?: string;
  /** Errors other than 400 and 401. */
  readonly also?: Readonly<Record<number, string>>;
  /** Statuses whose responses have the same schema. */
  readonly alike?: Readonly<Record<number, string>>;
}

/** Of responses that are made one after another (`SharedResponses`). */
export const BUSY = {
  503: "Busy: many other responses wait to be made. Try again after Retry-After.",
} as const;

export const MACHINE_ID = input({ id: integer(0, Number.MAX_SAFE_INTEGER) }, ["id"]);

/** Where set-up is off. */
export const SETUP_IS_OFF = {
  status: 403,
  message: "set-up is off: set SETUP_ENABLED=true and restart the agent",
} as const;
export const SETUP_OFF = {
  403: "SETUP_ENABLED is false, or the token is HTTP_VIEW_TOKEN.",
} as const;
export const setupOff = (reply: FastifyReply): FastifyReply =>
  refuse(reply, SETUP_IS_OFF.status, SETUP_IS_OFF.message);

export const ALARMS_OFF = { 501: "ALARMS_ENABLED is false." } as const;

type OperationPart<O, Name extends string> =
  O extends Readonly<Record<Name, infer S>> ? Of<S> : unknown;
interface Types<O> {
  Querystring: OperationPart<O, "query">;
  Params: OperationPart<O, "params">;
  Body: O extends { readonly accepts: infer S } ? Of<S> : OperationPart<O, "body">;
  /** Text: JSON that was joined from stored texts. */
  Reply: OperationPart<O, "schema"> | Problem | string | Readable;
}

type Handler<O extends Operation> = (
  request: FastifyRequest<Types<O>>,
  reply: FastifyReply<Types<O>>,
) => FastifyReply | Promise<FastifyReply | undefined>;

/** An operation with what answers it: how a feature brings its own. */
export interface ServedOperation {
  readonly operation: Operation;
  add(app: FastifyInstance, responses: SharedResponses): void;
}

export const served = <O extends Operation>(
  operation: O,
  handler: (
    ...of: [...Parameters<Handler<O>>, responses: SharedResponses]
  ) => ReturnType<Handler<O>>,
): ServedOperation => ({
  operation,
  add: (app, responses) =>
    serve(app, operation, (request, reply) => handler(request, reply, responses)),
});

/** For an operation of a feature that is off. */
export const refused = (
  operation: Operation,
  { status, message }: { readonly status: number; readonly message: string },
): ServedOperation => served(operation, (_request, reply) => refuse(reply, status, message));

/** Adds the route of an operation. */
export function serve<O extends Operation>(
  app: FastifyInstance,
  operation: O,
  handler: Handler<O>,
): void {
  const { path, method, query, params, body, accepts = body } = operation;
  app.route({
    method: method.toUpperCase(),
    url: path.replace(/\{(\w+)\}/g, ":$1"),
    schema: {
      ...(query && { querystring: query }),
      ...(params && { params }),
      ...(accepts && { body: accepts }),
    },
    ...(accepts && { preValidation: shallowBody }),
    config: { access: accessOf(operation) },
    // Fastify has no type for a handler of requests that an operation types.
    handler: handler as unknown as RouteHandlerMethod,
  });
}

/** For `preValidation`: refuses a body that would exhaust the stack of the code that walks it, or that holds a text nobody means. */
function shallowBody(
  request: FastifyRequest,
  reply: FastifyReply,
  done: (error?: Error) => void,
): void {
  if (isDeeper(request.body))
    return void refuse(reply, 400, `the body is nested deeper than ${DEPTH_MAX}`);
  if (hasLongText(request.body))
    return void refuse(
      reply,
      400,
      `the body has a text of more than ${TEXT_LENGTH_MAX} characters`,
    );
  done();
}

/** Twice what the longest text of a form, a password, may have: whatever works on texts from outside meets no longer one. */
const TEXT_LENGTH_MAX = 32_768;

/** True if a parsed JSON value holds a longer text, as a name of a member too. */
function hasLongText(value: unknown): boolean {
  if (typeof value === "string") return value.length > TEXT_LENGTH_MAX;
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(
    ([name, member]) => name.length > TEXT_LENGTH_MAX || hasLongText(member),
  );
}
