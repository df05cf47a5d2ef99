import type { FastifyReply, FastifyRequest } from "fastify";
import { breathe } from "./breath.ts";
import { problem } from "./problem.ts";

/** Different responses that wait to be computed. */
const WAITING_MAX = 64;

interface Waiting {
  readonly response: Promise<Buffer | null>;
  readonly clients: (() => boolean)[];
}

/**
 * Computes the large responses of a site one after another, with other work in between. Requests for the same response
 * before its computation starts share it: ten concurrent ones cost two, and none gets a state older than its request.
 */
export class SharedResponses {
  readonly #waiting = new Map<string, Waiting>();
  #last: Promise<unknown> = Promise.resolve();

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
    const response = this.#last.then(breathe).then(async () => {
      this.#waiting.delete(key);
      return clients.every((isAway) => isAway()) ? null : Buffer.from(await make());
    });
    this.#waiting.set(key, { response, clients });
    this.#last = response.catch(() => {});
    return response;
  }
}

/** Whether the client is gone, at the time of the call. */
export const isGone = (request: FastifyRequest) => (): boolean => request.raw.destroyed;

export function tooMany(reply: FastifyReply): FastifyReply {
  return reply
    .code(503)
    .header("retry-after", "1")
    .send(problem(503, "busy; try again in a moment"));
}
