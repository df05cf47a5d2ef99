/**
 * What is not a reading (states, statistics, descriptions, alarms that stand) gives way to the newest readings: after a
 * connect they go first, and later none waits for more than one batch. A batch is made from the state at its turn, or
 * sent in the same call as it was made, so that nothing older follows something newer on the wire.
 */
import type { Message, PublishOutcome } from "../../core/message.ts";
import type { Clock, MessageLink } from "../../core/ports.ts";

export interface TurnsParts {
  readonly link: Pick<MessageLink, "publish" | "session">;
  readonly clock: Clock;
  readonly readings: {
    /** Live readings of this session are known, or may be there, that have not been sent. */
    readonly hasLive: boolean;
    /** Resolves once there are none, or when aborted. */
    liveSent(signal: AbortSignal): Promise<void>;
  };
}

/** Messages in flight at once: they share the window with readings. */
export const BATCH = 20;
/** Longest wait for the newest readings: those of 2,000 sensors at the pace of a platform. */
const FIRST_WAIT_MS = 30_000;
/** Later in a session: a platform whose pace is used up by live readings still learns the states. */
const WAIT_MS = 1000;

export class Turns {
  readonly #parts: TurnsParts;
  readonly #ended = new AbortController();
  #session = -1;

  constructor(parts: TurnsParts) {
    this.#parts = parts;
  }

  /** Nothing waits any more. */
  end(): void {
    this.#ended.abort();
  }

  /** Resolves when the next batch may be sent. */
  async next(): Promise<void> {
    const { link, clock, readings } = this.#parts;
    const isFirst = link.session !== this.#session;
    if (readings.hasLive && !this.#ended.signal.aborted) {
      const waiting = new AbortController();
      const either = AbortSignal.any([waiting.signal, this.#ended.signal]);
      await Promise.race([
        readings.liveSent(either),
        clock.sleep(isFirst ? FIRST_WAIT_MS : WAIT_MS, either),
      ]);
      waiting.abort();
    }
    this.#session = link.session;
  }

  /** Outcomes in the order of the messages; what the session does not live to see is lost. */
  async publish(messages: readonly Message[]): Promise<PublishOutcome[]> {
    const { link } = this.#parts;
    const { session } = link;
    const outcomes: PublishOutcome[] = [];
    for (let at = 0; at < messages.length; at += BATCH) {
      await this.next();
      const batch = messages.slice(at, at + BATCH);
      const isOver = link.session !== session || this.#ended.signal.aborted;
      const sent = batch.map((message) => (isOver ? LOST : link.publish(message)));
      outcomes.push(...(await Promise.all(sent)));
    }
    return outcomes;
  }
}

const LOST: Promise<PublishOutcome> = Promise.resolve({ result: "lost" });
