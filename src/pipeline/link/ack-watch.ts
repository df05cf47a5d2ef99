/** Checks per acknowledgement timeout. */
const TICKS_PER_TIMEOUT = 4;
/** One message unanswered for this many timeouts while others are answered ends the session too. */
const SINGLE_ACK_TIMEOUTS = 4;

export interface WatchedSession {
  /** Publishes answered so far. */
  readonly acks: number;
  /** Tick in which the oldest unanswered publish was sent; null if there is none. */
  readonly oldestTick: number | null;
}

/** Requests to the broker other than publishes. */
export type AwaitedAck = "SUBSCRIBE" | "PINGREQ";

/**
 * One timer for all messages: a broker that does not answer publishes, SUBSCRIBE or PINGREQ has lost them, or the
 * connection is half open.
 */
export class AckWatch {
  readonly #timeoutMs: number;
  readonly #session: WatchedSession;
  readonly #onSilence: (text: string) => void;
  #timer: NodeJS.Timeout | null = null;
  #tick = 0;
  /** Tick in which each unanswered request was sent. */
  readonly #pending = new Map<AwaitedAck, number>();
  #acksSeen = 0;
  #quietTicks = 0;

  /** `onSilence` gets a description of the response that did not come. */
  constructor(timeoutMs: number, session: WatchedSession, onSilence: (text: string) => void) {
    this.#timeoutMs = timeoutMs;
    this.#session = session;
    this.#onSilence = onSilence;
  }

  /** The send time to store with a message sent now. */
  get tick(): number {
    return this.#tick;
  }

  start(): void {
    this.#timer = setInterval(() => this.#look(), this.#timeoutMs / TICKS_PER_TIMEOUT);
  }
  stop(): void {
    if (this.#timer) clearInterval(this.#timer);
  }

  requested(request: AwaitedAck): void {
    this.#pending.set(request, this.#tick);
  }
  answered(request: AwaitedAck): void {
    this.#pending.delete(request);
  }

  #look(): void {
    this.#tick += 1;
    const { oldestTick, acks } = this.#session;
    this.#quietTicks = oldestTick === null || acks !== this.#acksSeen ? 0 : this.#quietTicks + 1;
    this.#acksSeen = acks;
    const isStuck =
      oldestTick !== null && this.#tick - oldestTick > TICKS_PER_TIMEOUT * SINGLE_ACK_TIMEOUTS;
    const within = `within ${Math.round(this.#timeoutMs / 1000)} s`;
    if (this.#quietTicks > TICKS_PER_TIMEOUT || isStuck) {
      this.#onSilence(`a publish was not acknowledged ${within}`);
    }
    for (const [request, tick] of this.#pending) {
      if (this.#tick - tick > TICKS_PER_TIMEOUT) {
        this.#onSilence(`the broker did not respond to ${request} ${within}`);
      }
    }
  }
}
