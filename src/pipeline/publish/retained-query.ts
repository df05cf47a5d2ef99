/**
 * Reads back, once per session, which messages the broker retained before that session. Each reader names one topic
 * filter; one SUBSCRIBE covers all of them.
 */

import type { Clock, MessageLink } from "../../core/ports.ts";

/** A part that acts on what the broker retained. */
export interface RetainedReader {
  /** Starts a session. Returns the topic filter to read, or null if this reader needs nothing in this session. */
  begin(): string | null;
  /** A message that the broker had retained, of any reader's filter. */
  received(topic: string): void;
  /**
   * Called from time to time once the broker has had the time to send everything. `isGranted` is false if it refused
   * the subscription or has not confirmed it.
   */
  look(isGranted: boolean): Promise<void>;
}

export interface RetainedQueryParts {
  readonly link: MessageLink & {
    /** Resolves with the topics that the broker granted; with none if the session ends first. */
    subscribe(topics: readonly string[]): Promise<readonly string[]>;
  };
  readonly clock: Clock;
  readonly readers: readonly RetainedReader[];
}

/** Brokers send retained messages right after SUBACK; they are awaited for this long. */
const WAIT_MS = 3000;
/** After this many consecutive sessions that ended during the wait, the broker is taken to end them because of it. */
const INTERRUPTIONS_MAX = 2;

interface Query {
  readonly session: number;
  readonly at: number;
  readonly topics: ReadonlyMap<RetainedReader, string>;
  granted: readonly string[];
  isComplete: boolean;
}

export class RetainedQuery {
  readonly #parts: RetainedQueryParts;
  #query: Query | null = null;
  #interruptions = 0;

  constructor(parts: RetainedQueryParts) {
    this.#parts = parts;
  }

  /** Before anything retained is published in a session: a message that arrives then was retained before. */
  begin(): void {
    const { clock, link, readers } = this.#parts;
    if (this.#query?.isComplete === false) this.#interruptions += 1;
    this.#query = null;
    if (this.#interruptions >= INTERRUPTIONS_MAX) return;
    const topics = new Map<RetainedReader, string>();
    for (const reader of readers) {
      const topic = reader.begin();
      if (topic !== null) topics.set(reader, topic);
    }
    if (topics.size === 0) return;
    const query: Query = {
      session: link.session,
      at: clock.monotonic(),
      topics,
      granted: [],
      isComplete: false,
    };
    this.#query = query;
    void link.subscribe([...new Set(topics.values())]).then((granted) => {
      query.granted = granted;
    });
  }

  /** `isRetained`: the broker had it when we subscribed; our own messages arrive without that flag. */
  received(topic: string, isRetained: boolean): void {
    if (isRetained) for (const reader of this.#query?.topics.keys() ?? []) reader.received(topic);
  }

  /** Called from time to time while a session is open. */
  async look(): Promise<void> {
    const { clock, link } = this.#parts;
    const query = this.#query;
    if (query === null || query.session !== link.session) return;
    if (!query.isComplete) {
      if (clock.monotonic() - query.at < WAIT_MS) return;
      query.isComplete = true;
      this.#interruptions = 0;
    }
    for (const [reader, topic] of query.topics) await reader.look(query.granted.includes(topic));
  }
}
