import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { ClientGone } from "./context.ts";
import { RequestSlots } from "./request-turns.ts";

/** A larger body is refused (services section 6). */
const BODY_BYTES_MAX = 1024 * 1024;
/**
 * A query names a few codes and two dates. The token is in the body, so this much is accepted from anybody; more needs
 * one of a few places, because many unknown clients could otherwise fill the memory together.
 */
const SMALL_BYTES_MAX = 64 * 1024;
const LARGE_BODIES_MAX = 4;

/** Why a body was not read; the connection ends with the response. */
export interface BodyRefusal {
  readonly status: 413 | 503;
  readonly description: string;
}

const TOO_LARGE: BodyRefusal = { status: 413, description: "Request body is too large" };
const BUSY: BodyRefusal = {
  status: 503,
  description: "several large requests are being processed; try again in a moment",
};

/** Reads the bodies of queries, which the parser passes on as streams. */
export class QueryBodies {
  readonly #places = new RequestSlots(LARGE_BODIES_MAX);

  /** The text, without a byte order mark. Rejects with ClientGone if the client has disconnected. */
  async read(request: FastifyRequest, reply: FastifyReply): Promise<string | BodyRefusal> {
    const stream = request.body;
    if (!(stream instanceof Readable)) return "";
    if (Number(request.headers["content-length"] ?? 0) > BODY_BYTES_MAX) return TOO_LARGE;
    const chunks: Buffer[] = [];
    let bytes = 0;
    let hasPlace = false;
    try {
      // The socket must stay open for the refusal.
      const body: AsyncIterable<Buffer> = stream.iterator({ destroyOnReturn: false });
      for await (const chunk of body) {
        bytes += chunk.length;
        if (bytes > BODY_BYTES_MAX) return TOO_LARGE;
        if (bytes > SMALL_BYTES_MAX && !hasPlace) {
          const leave = this.#places.take();
          if (leave === null) return BUSY;
          hasPlace = true;
          reply.raw.once("close", leave);
        }
        chunks.push(chunk);
      }
    } catch (cause) {
      throw new ClientGone("the client disconnected while sending its request", { cause });
    }
    return Buffer.concat(chunks)
      .toString("utf8")
      .replace(/^\uFEFF/, "");
  }
}
