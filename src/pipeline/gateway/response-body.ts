/** Above this many bytes waiting for the reader, the socket is paused. */
const WAITING_BYTES_MAX = 131_072;

export interface BodyFlow {
  pause(): void;
  resume(): void;
  /** The reader wants no more. */
  stop(): void;
  /** The bytes of this piece are needed until it is released. */
  hold(piece: Uint8Array): void;
  release(piece: Uint8Array): void;
}

/**
 * The body of a response on its way from the socket to one reader, with back-pressure. A piece is valid until the next
 * one is requested: its memory is then reused.
 */
export class ResponseBody implements AsyncIterableIterator<Uint8Array> {
  readonly #flow: BodyFlow;
  readonly #pieces: Uint8Array[] = [];
  /** The piece the reader is processing. */
  #lent: Uint8Array | null = null;
  #waitingBytes = 0;
  #isPaused = false;
  #isEnded = false;
  #failure: Error | null = null;
  #wake: (() => void) | null = null;

  constructor(flow: BodyFlow) {
    this.#flow = flow;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  push(piece: Uint8Array): void {
    if (this.#isEnded) return;
    this.#flow.hold(piece);
    this.#pieces.push(piece);
    this.#waitingBytes += piece.length;
    if (this.#waitingBytes > WAITING_BYTES_MAX && !this.#isPaused) {
      this.#isPaused = true;
      this.#flow.pause();
    }
    this.#notify();
  }

  /** No more bytes come; after a failure the reader gets it after the bytes that did arrive. */
  finish(failure: Error | null): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#failure = failure;
    this.#notify();
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#takeBack();
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece) {
        this.#lent = piece;
        this.#waitingBytes -= piece.length;
        if (this.#isPaused && this.#waitingBytes <= WAITING_BYTES_MAX / 2) {
          this.#isPaused = false;
          this.#flow.resume();
        }
        return { done: false, value: piece };
      }
      if (this.#failure) throw this.#failure;
      if (this.#isEnded) return { done: true, value: undefined };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#takeBack();
    for (const piece of this.#pieces.splice(0)) this.#flow.release(piece);
    this.#waitingBytes = 0;
    if (!this.#isEnded) {
      this.#isEnded = true;
      this.#flow.stop();
    }
    this.#notify();
    return Promise.resolve({ done: true, value: undefined });
  }

  #takeBack(): void {
    if (this.#lent !== null) this.#flow.release(this.#lent);
    this.#lent = null;
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }
}
