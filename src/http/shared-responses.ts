import type { FastifyReply, FastifyRequest } from "fastify";
import { breathe } from "./breath.ts";
import { problem } from "./problem.ts";

/** Different responses that wait to be computed. */
const WAITING_MAX = 64;

interface Waiting {
  readonly answer: Promise<Buffer | null>;
  readonly askers: (() => boolean)[];
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
  ask(
    key: string,
    isGone: () => boolean,
    make: () => Promise<string> | string,
  ): Promise<Buffer | null> {
    const known = this.#waiting.get(key);
    if (known !== undefined) {
      known.askers.push(isGone);
      return known.answer;
    }
    if (this.#waiting.size >= WAITING_MAX) return Promise.resolve(null);
    const askers = [isGone];
    const answer = this.#last.then(breathe).then(async () => {
      this.#waiting.delete(key);
      return askers.every((isAway) => isAway()) ? null : Buffer.from(await make());
    });
    this.#waiting.set(key, { answer, askers });
    this.#last = answer.catch(() => {});
    return answer;
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
