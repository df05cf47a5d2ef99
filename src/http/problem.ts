import type { FastifyReply } from "fastify";
import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";
import { INTEGER, named, type Of, object, TEXT } from "../core/schema.ts";

/** The form of every error response (the query service has its own). */
export const PROBLEM = named(
  "Problem",
  object({ error: object({ status: INTEGER, message: TEXT }) }),
);
export type Problem = Of<typeof PROBLEM>;

export function problem(status: number, message: string): Problem {
  return { error: { status, message } };
}

/** Sends an error. */
export function refuse(reply: FastifyReply, status: number, message: string): FastifyReply {
  return reply.code(status).send(problem(status, message));
}

export function measurementGone(reply: FastifyReply): FastifyReply {
  return refuse(reply, 404, "this sensor has no measurement of this reading, or not any more");
}

/** What is wrong with a file or an entry, by location. */
export function refuseFaulty(
  reply: FastifyReply,
  message: string,
  faults: readonly ConfigurationFault[],
): FastifyReply {
  return reply.code(422).send({ ...problem(422, message), faults });
}

/** The required content type; Fastify only says that another one is refused. */
export function refusalOf(status: number, message: string): string {
  return status === 415 ? "send the body as Content-Type: application/json" : message;
}
