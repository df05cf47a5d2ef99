import type { FastifyReply, FastifyRequest } from "fastify";
import { problem } from "./problem.ts";

/** No file of ours is nested deeper; what writes it goes down level by level. */
const DEPTH_MAX = 64;

/** For `preValidation`: refuses a body that would exhaust the stack of whatever walks it. */
export function shallowBody(
  request: FastifyRequest,
  reply: FastifyReply,
  done: (error?: Error) => void,
): void {
  if (!isDeeper(request.body, DEPTH_MAX)) return done();
  void reply.code(400).send(problem(400, `the body is nested deeper than ${DEPTH_MAX}`));
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((one) => isDeeper(one, levels - 1));
}
