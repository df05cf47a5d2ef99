/** Messages that the broker may send before it waits for us follow their size: as many as have about these bytes. */
const PREFETCH_BYTES = 24 << 20;
/** The largest messages have 4 MB; and two batches of small ones. */
const PREFETCH_MIN = 6;
const PREFETCH_MAX = 10_000;
/** Messages over which their size is averaged. */
const AVERAGED = 50;
/** By so much the limit falls each time the broker fails over a message. */
const FALL = 8;
/** The broker fails for other reasons, too: only that many failures in a row, with nothing sent, are the message's. */
const FAILURES = 3;

/**
 * How many messages the broker may send before it waits.
 *
 * RabbitMQ cannot deliver a message whose routing key exceeds 255 bytes: it accepts one over MQTT, ends the connection
 * (541) when the message's turn comes, and keeps it at the head of the queue. Each time, the limit falls, so that what
 * stands before it is written and acknowledged. If the broker fails again and again with nothing sent and a limit of one,
 * it is over the message at the head.
 */
export class Prefetch {
  #count = PREFETCH_MIN;
  #max = PREFETCH_MAX;
  /** Average size of the last messages, bytes. */
  #meanBytes: number | null = null;
  #failures = 0;

  get count(): number {
    return this.#count;
  }

  /** The message at the head of the queue can only be removed unread. */
  get isHeadBroken(): boolean {
    return this.#failures >= FAILURES;
  }

  received(bytes: number): void {
    const mean = this.#meanBytes ?? bytes;
    this.#meanBytes = mean + (bytes - mean) / AVERAGED;
    // Each message that arrives is a sign that the broken one is not at the head.
    this.#failures = 0;
  }

  /** True if the count should be told to the broker anew: it is far from what fits. */
  acknowledged(): boolean {
    this.#max = Math.min(PREFETCH_MAX, this.#max + 1);
    const wanted = Math.floor(PREFETCH_BYTES / Math.max(this.#meanBytes ?? 0, 1));
    const next = Math.min(this.#max, Math.max(PREFETCH_MIN, wanted));
    if (next === this.#count || (next < this.#count * 2 && next > this.#count / 2)) return false;
    this.#count = next;
    return true;
  }

  /** The broker has failed once it was asked for messages, with so many messages not acknowledged. */
  failed(open: number): void {
    this.#failures = this.#count === 1 && open === 0 ? this.#failures + 1 : 0;
    this.#max = Math.max(1, Math.floor(this.#count / FALL));
    this.#count = this.#max;
  }

  /** The message at the head has been removed. */
  removed(): void {
    this.#failures = 0;
  }
}
