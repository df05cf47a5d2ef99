import { pipeline, Readable, type Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";
import { CallFailure } from "../../core/failure.ts";
import { messageOf } from "../../core/thrown.ts";
import { headerText } from "../../lib/response-headers.ts";
import type { ExchangeHead } from "./exchange.ts";

/** Larger pieces than zlib's default cost half the CPU time. */
const OPTIONS = { chunkSize: 262_144 };

/** The body with its content encoding removed; we request none, but some servers compress anyway. */
export function decodedBody(head: ExchangeHead, bytesMax: number): AsyncIterable<Uint8Array> {
  const encoding = headerText(head.headers, "content-encoding")?.trim().toLowerCase() ?? "";
  if (encoding === "" || encoding === "identity") return head.body;
  if (encoding === "deflate") return inflateEither(head, bytesMax);
  const decoder = decoderOf(encoding);
  return decoder ? inflate(head.body, decoder, bytesMax) : refuse(head, encoding);
}

function decoderOf(encoding: string): Transform | null {
  if (encoding === "gzip" || encoding === "x-gzip") return createGunzip(OPTIONS);
  return encoding === "br" ? createBrotliDecompress(OPTIONS) : null;
}

/** `deflate` should have the head of zlib (RFC 9110, 8.4.1.2); several servers leave it out. */
async function* inflateEither(head: ExchangeHead, bytesMax: number): AsyncGenerator<Uint8Array> {
  let start = Buffer.alloc(0);
  try {
    while (start.length < ZLIB_HEAD_BYTES) {
      const { value, done } = await head.body.next();
      if (done === true) break;
      start = Buffer.concat([start, value]);
    }
    const decoder = hasZlibHead(start) ? createInflate(OPTIONS) : createInflateRaw(OPTIONS);
    yield* inflate(withStart(start, head.body), decoder, bytesMax);
  } finally {
    await head.body.return();
  }
}

const ZLIB_HEAD_BYTES = 2;

/** Method 8, and a check that makes the two bytes a multiple of 31 (RFC 1950, 2.2). */
function hasZlibHead(start: Buffer): boolean {
  const [method = 0, flags = 0] = start;
  return (method & 0x0f) === 8 && (method * 256 + flags) % 31 === 0;
}

async function* withStart(
  start: Uint8Array,
  rest: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, void> {
  yield start;
  yield* rest;
}

async function* inflate(
  body: AsyncIterable<Uint8Array> & { return(): Promise<unknown> },
  decoder: Transform,
  bytesMax: number,
): AsyncGenerator<Uint8Array> {
  // The pipeline passes errors of either side to the loop below, and closes both when the reader leaves.
  const source = Readable.from(copies(body), { objectMode: false });
  pipeline(source, decoder, () => {});
  let bytes = 0;
  try {
    const pieces: AsyncIterable<Uint8Array> = decoder;
    for await (const piece of pieces) {
      bytes += piece.length;
      // A small body can expand to any size.
      if (bytes > bytesMax) {
        throw new CallFailure({
          message: `the response exceeds ${bytesMax} bytes`,
          failureClass: "too_large",
        });
      }
      yield piece;
    }
  } catch (error) {
    if (error instanceof CallFailure) throw error;
    const message = `the compressed response is damaged: ${messageOf(error)}`;
    throw new CallFailure({
      message,
      failureClass: "truncated",
      code: "bad_encoding",
      cause: error,
    });
  } finally {
    source.destroy();
    await body.return();
  }
}

/** The decoder requests the next piece before it is done with one. */
async function* copies(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of body) yield Buffer.from(piece);
}

async function* refuse(head: ExchangeHead, encoding: string): AsyncGenerator<Uint8Array> {
  await head.body.return();
  yield* [];
  throw new CallFailure({
    message: `the response has an unknown content encoding: ${encoding.slice(0, 40)}`,
    failureClass: "not_json",
    code: "bad_encoding",
  });
}
