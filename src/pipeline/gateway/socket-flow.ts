import type { Socket } from "node:net";

/**
 * Pauses what undici reads from its socket, while its parser stays ready. Paused by undici's own means, the parser of
 * every version for Node 20 throws where nobody can catch it when the peer closes or resets the connection: that ends
 * the process (nodejs/undici#5360).
 */
export class SocketFlow {
  readonly #socket: Socket | null;
  #isPaused = false;

  /** Null: nothing is connected yet. */
  constructor(socket: Socket | null) {
    this.#socket = socket;
    if (socket === null) return;
    const read = socket.read.bind(socket);
    // undici reads all there is, without a size. Node itself calls read(0), which must go on: it detects the end.
    socket.read = (size?: number) => (this.#isPaused && size === undefined ? null : read(size));
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    // What arrived meanwhile was announced already.
    this.#socket?.emit("readable");
  }

  /** The response is complete, which undici notices while it reads: it continues by itself. */
  end(): void {
    this.#isPaused = false;
  }
}
