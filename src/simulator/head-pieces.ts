import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../core/ports.ts";

const LINE_PAUSE_MS = 15;
const HEAD_END = Buffer.from("\r\n\r\n");

type WrittenPiece = (error?: Error | null) => void;

/**
 * Sends the head of this response in its own pieces, each a TCP segment, with a pause between them. Data after the
 * head waits until it is sent and then follows directly. `bytes` absent = a piece for each line.
 */
export function sendHeadInPieces(
  response: ServerResponse,
  options: { readonly bytes?: number; readonly ms?: number },
  clock: Clock,
  signal: AbortSignal,
): void {
  const { socket } = response;
  if (socket === null) return;
  const write = socket.write.bind(socket) as Socket["write"];
  let before = Promise.resolve();
  let isHead = true;
  let seen = Buffer.alloc(0);
  const put = (bytes: Uint8Array, done: WrittenPiece = () => {}) =>
    socket.destroyed ? done(new Error("the connection is closed")) : void write(bytes, done);
  const inPieces = async (head: Buffer) => {
    for (const piece of piecesOf(head, options.bytes ?? null)) {
      put(piece);
      await clock.sleep(options.ms ?? LINE_PAUSE_MS, signal);
    }
  };
  const restore = () => {
    socket.write = write;
  };
  response.once("close", restore);
  socket.setNoDelay(true);
  socket.write = ((
    chunk: string | Uint8Array,
    encoding?: BufferEncoding | WrittenPiece,
    callback?: WrittenPiece | null,
  ) => {
    // Node passes null if nobody waits for the write.
    const done = typeof encoding === "function" ? encoding : (callback ?? undefined);
    const bytes =
      typeof chunk === "string"
        ? Buffer.from(chunk, typeof encoding === "string" ? encoding : "utf8")
        : Buffer.from(chunk);
    let head: Buffer | null = null;
    let rest = bytes;
    if (isHead) {
      const overlap = seen.length;
      const all = Buffer.concat([seen, bytes]);
      const end = all.indexOf(HEAD_END);
      isHead = end < 0;
      const headBytes = isHead ? bytes.length : end + HEAD_END.length - overlap;
      head = bytes.subarray(0, headBytes);
      rest = bytes.subarray(headBytes);
      seen = all;
    }
    before = before.then(async () => {
      if (head) await inPieces(head);
      put(rest, done);
    });
    return true;
  }) as Socket["write"];
}

function* piecesOf(head: Buffer, size: number | null): Generator<Buffer> {
  let at = 0;
  while (at < head.length) {
    const line = head.indexOf("\n", at);
    const end = size === null ? (line < 0 ? head.length : line + 1) : at + Math.max(1, size);
    yield head.subarray(at, end);
    at = end;
  }
}
