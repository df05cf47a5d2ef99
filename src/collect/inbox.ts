import type { PendingDelivery, Source } from "./delivery.ts";

/** A source is paused above this much, so that memory stays flat while PostgreSQL is unavailable. */
const HELD_BYTES_MAX = 32 << 20;
/** A short wait collects a trickle into larger transactions: one fsync for everything that arrived meanwhile. */
const LINGER_MS = 20;

/** Of the entry itself, its closure and its place in lists, bytes. */
const ENTRY_BYTES = 1024;

/** What a message holds in memory. */
function heldBytes({ payload, topic }: PendingDelivery): number {
  return payload.length + 2 * topic.length + ENTRY_BYTES;
}

/**
 * Between sources and writer: messages that arrived and are not acknowledged yet, limited by everything that they hold.
 */
export class Inbox {
  #waiting: PendingDelivery[] = [];
  readonly #sources = new Set<Source>();
  #bytes = 0;
  #isPaused = false;
  #wake: (() => void) | null = null;

  /** Messages that wait to be written. */
  get length(): number {
    return this.#waiting.length;
  }

  add(source: Source): void {
    this.#sources.add(source);
    if (this.#isPaused) source.pause();
  }

  remove(source: Source): void {
    this.#sources.delete(source);
  }

  push(delivery: PendingDelivery): void {
    this.#waiting.push(delivery);
    this.#bytes += heldBytes(delivery);
    if (this.#bytes > HELD_BYTES_MAX && !this.#isPaused) {
      this.#isPaused = true;
      for (const source of this.#sources) source.pause();
    }
    this.#wake?.();
  }

  /**
   * Waiting messages, at most `max`, as soon as there are any; empty once aborted. Call `release` when they are
   * processed.
   */
  async take(max: number, bytesMax: number, signal: AbortSignal): Promise<PendingDelivery[]> {
    if (this.#waiting.length === 0) await this.#arrival(signal);
    if (this.#waiting.length < max && !signal.aborted) await pause(LINGER_MS, signal);
    let bytes = 0;
    let count = 0;
    for (const delivery of this.#waiting) {
      if (count === max || (count > 0 && bytes + delivery.payload.length > bytesMax)) break;
      bytes += delivery.payload.length;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  /** The batch is acknowledged, or its connection is gone: its memory is free. */
  release(batch: readonly PendingDelivery[]): void {
    for (const delivery of batch) this.#bytes -= heldBytes(delivery);
    if (this.#isPaused && this.#bytes < HELD_BYTES_MAX / 2) {
      this.#isPaused = false;
      for (const source of this.#sources) source.resume();
    }
  }

  /** What this connection delivered and nobody has taken yet comes again over another. */
  drop(session: object): void {
    const dropped = this.#waiting.filter((delivery) => delivery.session === session);
    if (dropped.length === 0) return;
    this.#waiting = this.#waiting.filter((delivery) => delivery.session !== session);
    this.release(dropped);
  }

  #arrival(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#wake = null;
        signal.removeEventListener("abort", done);
        resolve();
      };
      if (signal.aborted) return resolve();
      this.#wake = done;
      signal.addEventListener("abort", done, { once: true });
    });
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
  });
}
