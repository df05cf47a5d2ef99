import type { Socket } from "node:net";

const STATUS_LINES = ["HTTP/1.1 100", "HTTP/1.0 100"];
const STATUS_LINE_BYTES = 12;
const HEAD_END = "\r\n\r\n";
/** Of an interim head; more is left to the parser, which refuses it. */
const HEAD_BYTES_MAX = 16_384;

/**
 * Takes `100 Continue` out of what a connection receives: servers may send it unasked (RFC 9110 section 15.2), and the
 * HTTP client ends the connection then. Only the first bytes of a response are looked at.
 */
export class InterimHeads {
  readonly #push: Socket["push"];
  /** Bytes of a possible interim head; null once the response itself has begun. */
  #start: Buffer | null = null;

  constructor(socket: Socket) {
    this.#push = socket.push.bind(socket);
    socket.push = (chunk) => this.#received(chunk);
  }

  /** A request is sent: the next bytes are the head of its response. */
  expectHead(): void {
    this.#start = Buffer.alloc(0);
  }

  #received(chunk: Uint8Array | null): boolean {
    const start = this.#start;
    if (start === null) return this.#push(chunk);
    if (chunk === null) {
      this.#start = null;
      if (start.length > 0) this.#push(start);
      return this.#push(null);
    }
    // Most responses begin with their own head: passed on as it is, without a copy.
    if (start.length === 0 && !mayBeInterim(chunk)) {
      this.#start = null;
      return this.#push(chunk);
    }
    const bytes = withoutInterim(Buffer.concat([start, chunk]));
    const isUndecided = mayBeInterim(bytes) && bytes.length < HEAD_BYTES_MAX;
    this.#start = isUndecided ? bytes : null;
    return isUndecided || this.#push(bytes);
  }
}

/** Whether it is the beginning of an interim head, or too short to say. */
function mayBeInterim(bytes: Uint8Array): boolean {
  const line = Buffer.from(bytes.subarray(0, STATUS_LINE_BYTES)).toString("latin1");
  return STATUS_LINES.some((one) => one.startsWith(line));
}

function withoutInterim(received: Buffer): Buffer {
  let bytes = received;
  while (bytes.length >= STATUS_LINE_BYTES && mayBeInterim(bytes)) {
    const end = bytes.subarray(0, HEAD_BYTES_MAX).indexOf(HEAD_END);
    if (end < 0) break;
    bytes = bytes.subarray(end + HEAD_END.length);
  }
  return bytes;
}
