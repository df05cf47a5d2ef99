import { Socket } from "node:net";
import type { Writable } from "node:stream";

/** Above this size copying costs more than it saves: such a burst is waveforms, whose pieces are few and long. */
const JOINED_BYTES_MAX = 262_144;

interface Piece {
  readonly chunk: string | Uint8Array;
  readonly encoding: BufferEncoding;
}

/**
 * mqtt.js writes each packet as five small pieces, and Node hands all pieces of a turn to the kernel one by one (writev).
 * Joined into one piece first, a message costs a fifth less CPU. Order and acknowledgement of writes stay as they are.
 */
export function joinWrites(stream: Writable): void {
  const separately = stream._writev?.bind(stream);
  if (!(stream instanceof Socket) || separately === undefined) return;
  // Used again for each burst: the next one comes when the one before is with the kernel.
  let room = Buffer.alloc(0);
  stream._writev = (chunks, done) => {
    const pieces: readonly Piece[] = chunks;
    let size = 0;
    for (const piece of pieces) size += sizeOf(piece);
    if (size > JOINED_BYTES_MAX) return separately(chunks, done);
    if (size > room.length) room = Buffer.allocUnsafeSlow(Math.max(size, 2 * room.length, 4096));
    const joined = room.subarray(0, size);
    let at = 0;
    for (const { chunk, encoding } of pieces) {
      if (typeof chunk === "string") at += joined.write(chunk, at, encoding);
      else {
        joined.set(chunk, at);
        at += chunk.length;
      }
    }
    stream._write(joined, "buffer" as BufferEncoding, done);
  };
}

function sizeOf({ chunk, encoding }: Piece): number {
  return typeof chunk === "string" ? Buffer.byteLength(chunk, encoding) : chunk.length;
}
