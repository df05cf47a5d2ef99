import type { FastifyReply, FastifyRequest } from "fastify";
import { breathe } from "./breath.ts";
import { problem } from "./problem.ts";

/** Different answers that wait to be made. */
const WAITING_MAX = 64;

interface Waiting {
  readonly answer: Promise<Buffer | null>;
  readonly askers: (() => boolean)[];
}

/**
 * Makes the large answers of a site one after another, other work between them. Who asks for the same before its making has begun
 * shares it: ten that ask at once cost two, and none of them is shown a state from before the question.
 */
export class SharedAnswers {
  readonly #waiting = new Map<string, Waiting>();
  #last: Promise<unknown> = Promise.resolve();

  /**
   * The answer `key` stands for. Null where too many wait, or nobody waits for this one any more when its turn comes. Rejects as
   * `make` does.
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

/** Whether who asked is gone, at the time it is called. */
export const isGone = (request: FastifyRequest) => (): boolean => request.raw.destroyed;

export function tooMany(reply: FastifyReply): FastifyReply {
  return reply
    .code(503)
    .header("retry-after", "1")
    .send(problem(503, "busy; ask again in a moment"));
}
