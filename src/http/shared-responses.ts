import type { FastifyReply, FastifyRequest } from "fastify";
import { yieldToLoop } from "../lib/yield-to-loop.ts";
import { refuse } from "./problem.ts";

/** Different responses that wait to be computed. */
const WAITING_MAX = 64;
export const JSON_UTF8 = "application/json; charset=utf-8";

interface WaitingResponse {
  readonly response: Promise<Buffer | null>;
  readonly clients: (() => boolean)[];
}

/**
 * Computes the large responses of a site one after another, with other work in between. Requests for the same response
 * before its computation starts share it: ten concurrent ones cost two, and none gets a state older than its request.
 */
export class SharedResponses {
  readonly #waiting = new Map<string, WaitingResponse>();
  #last: Promise<unknown> = Promise.resolve();

  /** Responds with the text for `key`, JSON unless the reply has another type, or that too many wait. */
  async send(
    request: FastifyRequest,
    reply: FastifyReply,
    key: string,
    make: () => Promise<string> | string,
  ): Promise<FastifyReply> {
    const text = await this.compute(key, () => request.raw.destroyed, make);
    if (!reply.hasHeader("content-type")) reply.type(JSON_UTF8);
    if (text !== null) return reply.send(text);
    reply.type(JSON_UTF8);
    return refuse(reply.header("retry-after", "1"), 503, "busy; try again in a moment");
  }

  /**
   * The response for `key`. Null if too many wait, or if nobody waits for this one any more when its turn comes.
   * Rejects as `make` does.
   */
  compute(
    key: string,
    isGone: () => boolean,
    make: () => Promise<string> | string,
  ): Promise<Buffer | null> {
    const known = this.#waiting.get(key);
    if (known !== undefined) {
      known.clients.push(isGone);
      return known.response;
    }
    if (this.#waiting.size >= WAITING_MAX) return Promise.resolve(null);
    const clients = [isGone];
    const response = this.#last.then(yieldToLoop).then(async () => {
      this.#waiting.delete(key);
      return clients.every((isAway) => isAway()) ? null : Buffer.from(await make());
    });
    this.#waiting.set(key, { response, clients });
    this.#last = response.catch(() => {});
    return response;
  }
}
