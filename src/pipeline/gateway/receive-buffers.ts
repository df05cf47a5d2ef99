import type { OnReadOpts, Socket } from "node:net";

const BUFFER_BYTES = 65_536;
/** A reader that lags lets this many fill up; further data is left to the garbage collector, as without them. */
const BUFFERS_MAX = 8;
/**
 * The socket is paused from this much on that the parser has not taken, bytes. The parser takes everything that waits as
 * one piece: a copy if it is in several buffers.
 */
const WAITING_BYTES_MAX = BUFFER_BYTES;

/**
 * The memory that one connection receives into, used again and again. A day is read again at every poll and dropped
 * almost completely: a new buffer for each 64 KB of it made the collector mark the heap once a round, a third of the
 * round's CPU.
 *
 * A buffer is free again once the parser has taken everything received (nothing waits in the stream), no reader holds a
 * piece of its bytes, and the response head is complete: until then the parser keeps views of the header lines it has
 * seen, in any buffer.
 */
export class ReceiveBuffers {
  readonly onread: OnReadOpts = {
    buffer: () => this.#free.pop() ?? Buffer.allocUnsafeSlow(BUFFER_BYTES),
    callback: (bytes, buffer) => this.#received(bytes, buffer),
  };
  /** The connection's socket; bytes arrive once it exists. */
  socket: Socket | null = null;
  readonly #free: Uint8Array[] = [];
  /** Passed to the stream and perhaps still needed. */
  #filled: Uint8Array[] = [];
  #isHeadComplete = false;
  /** Pieces that readers hold, by the memory that contains them. */
  readonly #held = new Map<ArrayBufferLike, number>();

  /** A request is sent: the next bytes are the head of its response. */
  expectHead(): void {
    this.#isHeadComplete = false;
  }

  /** The head was read, and its headers are copied into strings. */
  headRead(): void {
    this.#isHeadComplete = true;
  }

  /** This piece of a response must stay unchanged until released. */
  hold({ buffer }: Uint8Array): void {
    if (!this.#filled.some((filled) => filled.buffer === buffer)) return;
    this.#held.set(buffer, (this.#held.get(buffer) ?? 0) + 1);
  }

  release({ buffer }: Uint8Array): void {
    const count = this.#held.get(buffer);
    if (count === undefined) return;
    if (count > 1) this.#held.set(buffer, count - 1);
    else this.#held.delete(buffer);
    this.#reclaim();
  }

  #received(bytes: number, buffer: Uint8Array): boolean {
    const { socket } = this;
    if (socket === null) return true;
    this.#reclaim();
    if (this.#filled.length < BUFFERS_MAX) this.#filled.push(buffer);
    socket.push(buffer.subarray(0, bytes));
    return socket.readableLength < WAITING_BYTES_MAX;
  }

  #reclaim(): void {
    if (!this.#isHeadComplete || this.socket === null || this.socket.readableLength > 0) return;
    const kept: Uint8Array[] = [];
    for (const filled of this.#filled) {
      (this.#held.has(filled.buffer) ? kept : this.#free).push(filled);
    }
    this.#filled = kept;
  }
}
