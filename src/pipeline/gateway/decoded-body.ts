import { pipeline, Readable, type Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { CallFailure } from "../../core/failure.ts";
import { messageOf } from "../../core/thrown.ts";
import type { ExchangeHead } from "./exchange.ts";
import { headerText } from "./response-headers.ts";

/** Larger pieces than zlib's default cost half the CPU time. */
const INFLATE_PIECE_BYTES = 262_144;

/** The body with its content encoding removed; we request none, but some servers compress anyway. */
export function decodedBody(head: ExchangeHead, bytesMax: number): AsyncIterable<Uint8Array> {
  const encoding = headerText(head.headers, "content-encoding")?.trim().toLowerCase() ?? "";
  if (encoding === "" || encoding === "identity") return head.body;
  const decoder = decoderOf(encoding);
  return decoder ? inflate(head, decoder, bytesMax) : refuse(head, encoding);
}

function decoderOf(encoding: string): Transform | null {
  const options = { chunkSize: INFLATE_PIECE_BYTES };
  if (encoding === "gzip" || encoding === "x-gzip") return createGunzip(options);
  if (encoding === "deflate") return createInflate(options);
  return encoding === "br" ? createBrotliDecompress(options) : null;
}

async function* inflate(
  head: ExchangeHead,
  decoder: Transform,
  bytesMax: number,
): AsyncGenerator<Uint8Array> {
  // The pipeline passes errors of either side to the loop below, and closes both when the reader leaves.
  const source = Readable.from(copies(head.body), { objectMode: false });
  pipeline(source, decoder, () => {});
  let bytes = 0;
  try {
    for await (const piece of decoder as AsyncIterable<Uint8Array>) {
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
    await head.body.return();
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
