import type { RefusedPublishes } from "../../core/agent-status.ts";
import { reasonName } from "../../core/delivery/reason-names.ts";
import type { Message } from "../../core/message.ts";
import type { Clock } from "../../core/ports.ts";
import { HOUR_MS } from "../../core/time-units.ts";

/** Topics remembered; of more, the oldest are forgotten. */
const TOPICS_MAX = 1000;
const EXAMPLES_MAX = 5;
/** A topic that nothing was published to since is no longer told. */
const TOLD_MS = HOUR_MS;
/** A topic whose refusal ended a session is not tried again for this long, twice as long each time. */
const HOLD_MIN_MS = 60_000;
const HOLD_MAX_MS = HOUR_MS;

export const NOT_AUTHORIZED = 0x87;
const TOPIC_INVALID = 0x90;
export const PACKET_TOO_LARGE = 0x95;
const OVER_QUOTA = 0x97;
export const QOS_NOT_SUPPORTED = 0x9b;
const MESSAGE_RATE_TOO_HIGH = 0x96;

/** With these a broker ends a session that has sent too much. */
export const isAboutRate = (code: number | null): boolean =>
  code === MESSAGE_RATE_TOO_HIGH || code === OVER_QUOTA;

/** Busy, shutting down, idle, taken over, too many in flight, administrative, use another server, moved, connection rate, connect time. */
const ABOUT_THE_SESSION = new Set([
  0x89, 0x8b, 0x8d, 0x8e, 0x93, 0x98, 0x9a, 0x9c, 0x9d, 0x9f, 0xa0,
]);

/** Whether a broker that ends a session with this code, or with none, may mean the message that it got last. */
export const mayMeanMessage = (code: number | null): boolean =>
  code === null || !(isAboutRate(code) || ABOUT_THE_SESSION.has(code));

interface RefusedTopic {
  readonly code: number;
  readonly at: number;
  /** Not tried before this, monotonic ms; 0 if its refusal does not end sessions. */
  readonly heldUntil: number;
  readonly holdMs: number;
  /** Topics that clients name for responses are not told: this client need not be able to write there. */
  readonly isOurs: boolean;
}

/**
 * Topics that the broker refuses although the session lives. Some brokers (mosquitto with max_queued_messages 0) close
 * the connection after each refused publish: such a topic is held back, or it would end every session.
 */
export class RefusedTopics {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #clientId: string;
  readonly #topics = new Map<string, RefusedTopic>();
  /** Topics whose newest message is a response to a client that named the topic. */
  readonly #requested = new Set<string>();

  constructor(clock: Pick<Clock, "monotonic">, clientId: string) {
    this.#clock = clock;
    this.#clientId = clientId;
  }

  get isEmpty(): boolean {
    return this.#topics.size === 0;
  }

  /** Called before each message is sent. */
  sending({ topic, fallbackTopic }: Pick<Message, "topic" | "fallbackTopic">): void {
    if (fallbackTopic === undefined) {
      if (this.#requested.size > 0) this.#requested.delete(topic);
      return;
    }
    this.#requested.add(topic);
    const [oldest] = this.#requested;
    if (this.#requested.size > TOPICS_MAX && oldest !== undefined) this.#requested.delete(oldest);
  }

  refused(topic: string, code: number): void {
    const { heldUntil = 0, holdMs = 0 } = this.#topics.get(topic) ?? {};
    const isOurs = this.#isOurs(topic);
    if (isOurs || holdMs > 0)
      this.#set(topic, { code, at: this.#clock.monotonic(), heldUntil, holdMs, isOurs });
  }

  /** If it was held back, the broker's rules have changed: the others held back are each tried once, unless that is done elsewhere. */
  accepted(topic: string, areOthersTried = true): void {
    const before = this.#topics.get(topic);
    if (before === undefined) return;
    this.#topics.delete(topic);
    if (before.holdMs === 0 || !areOthersTried) return;
    for (const [other, entry] of this.#topics) this.#topics.set(other, { ...entry, heldUntil: 0 });
  }

  /** The refusal of this topic ended a session. */
  endedSession(topic: string, code: number): void {
    const at = this.#clock.monotonic();
    const before = this.#topics.get(topic)?.holdMs ?? 0;
    const holdMs = Math.min(HOLD_MAX_MS, Math.max(HOLD_MIN_MS, 2 * before));
    this.#set(topic, { code, at, heldUntil: at + holdMs, holdMs, isOurs: this.#isOurs(topic) });
  }

  /** The code a message to this topic is refused with instead of being sent; null if it may be sent. */
  heldCode(topic: string): number | null {
    const entry = this.#topics.get(topic);
    if (entry === undefined || entry.heldUntil <= this.#clock.monotonic()) return null;
    return entry.code;
  }

  /** For display; null if nothing is refused. `broker` is the address in use. */
  state(broker: string): RefusedPublishes | null {
    const since = this.#clock.monotonic() - TOLD_MS;
    const told = [...this.#topics].filter(
      // What is too large is not tried again in its session: it stays refused, however long that lasts.
      ([, { at, heldUntil, code, isOurs }]) =>
        isOurs && (code === PACKET_TOO_LARGE || Math.max(at, heldUntil) >= since),
    );
    const [first] = told;
    if (first === undefined) return null;
    const examples = told
      .slice(0, EXAMPLES_MAX)
      .map(([topic, { code }]) => ({ topic, reason: reasonName(code) }));
    const count = told.length === 1 ? "the topic" : `${told.length} topics, for instance`;
    return {
      topics: told.length,
      examples,
      text: `${broker} refuses ${count} ${first[0]} (${reasonName(first[1].code)}): ${refusalRemedy(first[1].code, this.#clientId)}`,
    };
  }

  /** A topic of ours stays one, whoever names it for responses. */
  #isOurs(topic: string): boolean {
    return !this.#requested.has(topic) || this.#topics.get(topic)?.isOurs === true;
  }

  #set(topic: string, entry: RefusedTopic): void {
    this.#topics.delete(topic);
    this.#topics.set(topic, entry);
    const [oldest] = this.#topics.keys();
    if (this.#topics.size > TOPICS_MAX && oldest !== undefined) this.#topics.delete(oldest);
  }
}

/** What to change where a publish is refused. */
export function refusalRemedy(code: number, clientId: string): string {
  switch (code) {
    case NOT_AUTHORIZED:
      return `let the client id "${clientId}", or its user, write there in the broker's access list`;
    case TOPIC_INVALID:
      return "the broker does not accept such topics: check MQTT_TOPIC_PREFIX and the broker's rules for topics";
    case PACKET_TOO_LARGE:
      return "raise the broker's limit for the size of a packet";
    case OVER_QUOTA:
      return "raise the broker's quota for this client";
    case QOS_NOT_SUPPORTED:
      return "the broker takes QoS 0 only, which confirms nothing: use one that takes QoS 1";
    default:
      return `see the broker's log for the reason; where it gives none, a right of the client id "${clientId}", or of its user, to write there is usually missing`;
  }
}
