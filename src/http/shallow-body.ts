import type { FastifyReply, FastifyRequest } from "fastify";
import { DEPTH_MAX, isDeeper } from "../core/depth.ts";
import { refuse } from "./problem.ts";

/** For `preValidation`: refuses a body that would exhaust the stack of the code that walks it. */
export function shallowBody(
  request: FastifyRequest,
  reply: FastifyReply,
  done: (error?: Error) => void,
): void {
  if (!isDeeper(request.body)) return done();
  void refuse(reply, 400, `the body is nested deeper than ${DEPTH_MAX}`);
}
