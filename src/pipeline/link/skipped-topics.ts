import { NOT_RECEIVED, type RefusedPublishes } from "../../core/agent-status.ts";
import type { Subscription } from "../../core/delivery/link.ts";
import type { Clock } from "../../core/ports.ts";
import { HOUR_MS, MINUTE_MS } from "../../core/time-units.ts";
import type { TooLargePacket } from "./inbound-guard.ts";
import { INBOUND_PACKET_BYTES_MAX } from "./link-options.ts";
import { withoutControls } from "./session-texts.ts";

/** Without the subscription for this long after such a message. */
const SKIPPED_MIN_MS = 10 * MINUTE_MS;
/** Where each try ends a session again, twice as long every time, up to this. */
const SKIPPED_MAX_MS = HOUR_MS;

interface Skipped {
  readonly bytes: number;
  readonly forMs: number;
  /** Monotonic ms at which its filters are tried again. */
  readonly untilMs: number;
}
/** A broker may send to other topics every time. */
const TOPICS_MAX = 20;

/** What a session needs for it. */
interface Subscribing {
  subscribe(subscriptions: readonly Subscription[]): Promise<string[]>;
}

/**
 * Topics on which a message came that no session takes. A retained one would end every session, and over MQTT 3.1.1 a broker
 * cannot be told to keep it to itself: the filters that it came by are left out for a while.
 */
export class SkippedTopics {
  readonly #clock: Clock;
  readonly #redact: (text: string) => string;
  /** By topic; those whose time is over, too. */
  readonly #skipped = new Map<string, Skipped>();

  /** @param redact a broker may name secrets in a topic */
  constructor(clock: Clock, redact: (text: string) => string = (text) => text) {
    this.#clock = clock;
    this.#redact = redact;
  }

  note({ topic, bytes }: TooLargePacket): void {
    if (topic === null) return;
    const now = this.#clock.monotonic();
    const before = this.#skipped.get(topic);
    const isAgain = before !== undefined && now < before.untilMs + before.forMs;
    const forMs = isAgain ? Math.min(2 * before.forMs, SKIPPED_MAX_MS) : SKIPPED_MIN_MS;
    for (const known of this.#skipped.keys()) {
      if (this.#skipped.size < TOPICS_MAX) break;
      this.#skipped.delete(known);
    }
    this.#skipped.delete(topic);
    this.#skipped.set(topic, { bytes, forMs, untilMs: now + forMs });
  }

  isSkipped(filter: string): boolean {
    return this.#current().some(([topic]) => isBelow(filter, topic));
  }

  /** Now, and what is left out later in the same session. Resolves with the topics that the broker refused now. */
  subscribe(
    session: Subscribing,
    subscriptions: readonly Subscription[],
    ended: AbortSignal,
  ): Promise<string[]> {
    const later = subscriptions.filter(({ topic }) => this.isSkipped(topic));
    for (const one of later) void this.#again(session, one, ended);
    return session.subscribe(subscriptions.filter((one) => !later.includes(one)));
  }

  /** Null where nothing is left out. */
  state(url: string): RefusedPublishes | null {
    const current = this.#current();
    const [first] = current;
    if (first === undefined) return null;
    const [topic, { bytes, forMs }] = first;
    const shown = (one: string) => withoutControls(this.#redact(one));
    return {
      topics: current.length,
      examples: current.map(([one]) => ({ topic: shown(one), reason: NOT_RECEIVED })),
      text: `${url} has a message of ${bytes} bytes on ${shown(topic)}, more than the limit of ${INBOUND_PACKET_BYTES_MAX}: nothing is received there for ${forMs / MINUTE_MS} minutes; publish smaller ones, and clear what is retained`,
    };
  }

  /** Once its time is over, whatever sessions there were since. */
  async #again(session: Subscribing, one: Subscription, ended: AbortSignal): Promise<void> {
    while (this.isSkipped(one.topic) && !ended.aborted) {
      const below = this.#current().filter(([topic]) => isBelow(one.topic, topic));
      const untilMs = Math.max(...below.map(([, { untilMs: ms }]) => ms));
      await this.#clock.sleep(untilMs - this.#clock.monotonic(), ended);
    }
    if (!ended.aborted) await session.subscribe([one]);
  }

  #current() {
    const now = this.#clock.monotonic();
    return [...this.#skipped].filter(([, { untilMs }]) => now < untilMs);
  }
}

/** Whether a topic filter (MQTT 4.7) takes the topic. */
function isBelow(filter: string, topic: string): boolean {
  const wanted = filter.split("/");
  const levels = topic.split("/");
  const isOpen = wanted.at(-1) === "#";
  if (isOpen) wanted.pop();
  if (isOpen ? levels.length < wanted.length : levels.length !== wanted.length) return false;
  return wanted.every((level, at) => level === "+" || level === levels[at]);
}
