/**
 * Reads back, once per session, which messages the broker retained before that session. Each reader names one topic
 * filter; one SUBSCRIBE covers all of them.
 */

import type { Clock, Logger, MessageLink } from "../../core/ports.ts";
import { HOUR_MS } from "../../core/time-units.ts";

/** A part that acts on what the broker retained. */
export interface RetainedReader {
  /** Our own messages need not come back, where the broker can leave them out (MQTT 5). */
  readonly isOthersOnly?: boolean;
  /** Starts a session. Returns the topic filter to read, or null if this reader needs nothing in this session. */
  begin(): string | null;
  /** A message that the broker had retained, of any reader's filter. */
  received(topic: string, payload: Uint8Array): void;
  /**
   * Called from time to time once the broker has had the time to send everything. `isGranted` is false if it refused
   * the subscription or has not confirmed it.
   */
  look(isGranted: boolean): Promise<void>;
}

export interface RetainedQueryParts {
  readonly link: MessageLink & {
    /** Resolves with the topics that the broker granted; with none if the session ends first. */
    subscribe(
      topics: readonly string[],
      othersOnly?: ReadonlySet<string>,
    ): Promise<readonly string[]>;
  };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly readers: readonly RetainedReader[];
}

/** Brokers send retained messages right after SUBACK; they are awaited for this long. */
const WAIT_MS = 3000;
/** After this many consecutive sessions that ended during the wait, the broker is taken to end them because of it. */
const INTERRUPTIONS_MAX = 2;
/** For this long; a link that flapped, or a broker that was set up anew, gets its queries again. */
const LEARNED_MS = HOUR_MS;

interface Query {
  readonly session: number;
  readonly at: number;
  /** When SUBACK came, monotonic ms; null before. */
  answeredAt: number | null;
  readonly topics: ReadonlyMap<RetainedReader, string>;
  granted: readonly string[];
  isComplete: boolean;
}

export class RetainedQuery {
  readonly #parts: RetainedQueryParts;
  #query: Query | null = null;
  #interruptions = 0;
  /** Until then sessions do without, monotonic ms. */
  #offUntil = Number.NEGATIVE_INFINITY;
  /** When a session began that does without, monotonic ms; null if it has its query or needs none. */
  #withoutAt: number | null = null;

  constructor(parts: RetainedQueryParts) {
    this.#parts = parts;
  }

  /** Before anything retained is published in a session: a message that arrives then was retained before. */
  begin(): void {
    const { clock, link, readers } = this.#parts;
    const now = clock.monotonic();
    this.#query = null;
    this.#withoutAt = now < this.#offUntil ? now : null;
    if (this.#withoutAt !== null) return;
    const topics = new Map<RetainedReader, string>();
    for (const reader of readers) {
      const topic = reader.begin();
      if (topic !== null) topics.set(reader, topic);
    }
    if (topics.size === 0) return;
    const query: Query = {
      session: link.session,
      at: now,
      answeredAt: null,
      topics,
      granted: [],
      isComplete: false,
    };
    this.#query = query;
    const othersOnly = [...topics].filter(([{ isOthersOnly }]) => isOthersOnly === true);
    const names = new Set(othersOnly.map(([, topic]) => topic));
    void link.subscribe([...new Set(topics.values())], names).then((granted) => {
      query.granted = granted;
      query.answeredAt = clock.monotonic();
    });
  }

  /** The session is over. */
  ended(): void {
    const { clock, logger } = this.#parts;
    const now = clock.monotonic();
    const query = this.#query;
    this.#query = null;
    // A broker that ends sessions without a query as soon does not do it because of that.
    if (this.#withoutAt !== null && now - this.#withoutAt < WAIT_MS)
      this.#offUntil = Number.NEGATIVE_INFINITY;
    this.#withoutAt = null;
    if (query === null) return;
    const hasLived =
      query.isComplete || (query.answeredAt !== null && now - query.answeredAt >= WAIT_MS);
    this.#interruptions = hasLived ? 0 : this.#interruptions + 1;
    if (this.#interruptions < INTERRUPTIONS_MAX) return;
    this.#interruptions = 0;
    this.#offUntil = now + LEARNED_MS;
    logger.warn(
      { topics: [...query.topics.values()] },
      `${INTERRUPTIONS_MAX} sessions ended while retained messages were read back: not reading them for an hour`,
    );
  }

  /** `isRetained`: the broker had it when we subscribed; our own messages arrive without that flag. */
  received(topic: string, payload: Uint8Array, isRetained: boolean): void {
    if (!isRetained) return;
    for (const reader of this.#query?.topics.keys() ?? []) reader.received(topic, payload);
  }

  /** Called from time to time while a session is open. */
  async look(): Promise<void> {
    const { clock, link } = this.#parts;
    const query = this.#query;
    if (query === null || query.session !== link.session) return;
    if (!query.isComplete) {
      if (clock.monotonic() - query.at < WAIT_MS) return;
      query.isComplete = true;
    }
    for (const [reader, topic] of query.topics) await reader.look(query.granted.includes(topic));
  }
}
