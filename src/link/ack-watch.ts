/** The watch looks this often per acknowledgement limit. */
const TICKS_PER_TIMEOUT = 4;
/** One message unanswered for so many limits while others are answered ends the session too. */
const SINGLE_ACK_TIMEOUTS = 4;

export interface WatchedSession {
  /** Publishes answered so far. */
  readonly acks: number;
  /** Tick in which the oldest publish was sent that has no answer yet; null where there is none. */
  readonly oldestTick: number | null;
}

/** What is asked of the broker once in a while, beside publishes. */
export type Request = "SUBSCRIBE" | "PINGREQ";

/**
 * One timer for all messages: a broker that leaves publishes, SUBSCRIBE or PINGREQ unanswered has lost them, or the link is
 * half open.
 */
export class AckWatch {
  readonly #timeoutMs: number;
  readonly #session: WatchedSession;
  readonly #onSilence: (text: string) => void;
  #timer: NodeJS.Timeout | null = null;
  #tick = 0;
  /** Tick in which each unanswered request was sent. */
  readonly #asked = new Map<Request, number>();
  #acksSeen = 0;
  #quietTicks = 0;

  /** `onSilence` is told in words what was waited for in vain. */
  constructor(timeoutMs: number, session: WatchedSession, onSilence: (text: string) => void) {
    this.#timeoutMs = timeoutMs;
    this.#session = session;
    this.#onSilence = onSilence;
  }

  /** What a message sent now remembers as its time. */
  get tick(): number {
    return this.#tick;
  }

  start(): void {
    this.#timer = setInterval(() => this.#look(), this.#timeoutMs / TICKS_PER_TIMEOUT);
  }
  stop(): void {
    if (this.#timer) clearInterval(this.#timer);
  }

  asking(request: Request): void {
    this.#asked.set(request, this.#tick);
  }
  answered(request: Request): void {
    this.#asked.delete(request);
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
    for (const [request, tick] of this.#asked) {
      if (this.#tick - tick > TICKS_PER_TIMEOUT) {
        this.#onSilence(`the broker did not answer ${request} ${within}`);
      }
    }
  }
}
