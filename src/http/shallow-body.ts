import type { FastifyReply, FastifyRequest } from "fastify";
import { DEPTH_MAX, isDeeper } from "../core/depth.ts";
import { hasLongText, TEXT_LENGTH_MAX } from "../core/text-length.ts";
import { refuse } from "./problem.ts";

/** For `preValidation`: refuses a body that would exhaust the stack of the code that walks it, or that holds a text nobody means. */
export function shallowBody(
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
